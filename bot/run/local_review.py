"""`slash-agent review`: what HEAD of a local checkout changes, reviewed. Nothing of the checkout is touched."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.checkout import layout
from bot.checkout.clone import Source
from bot.checkout.compare import diff_between
from bot.checkout.errors import CheckoutError, MissingRevisionError
from bot.checkout.git import Git, GitError
from bot.checkout.local import LocalCommit, borrowing, git_dir_of, resolve, top_of
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.progress import Noted, View
from bot.contracts.request import Actor, Request, Tier, Verb
from bot.contracts.review import Review
from bot.findings.focus import changed_since
from bot.findings.parse import parse_diff
from bot.providers.connect import default_model
from bot.run.cut_off import cut_off
from bot.run.folder import new_folder
from bot.run.job import Job, run_job
from bot.run.models import connect_model
from bot.run.preflight import check_folder, check_machine, policy_note
from bot.run.reviewing import Range, local_range
from bot.run.signals import cancelled_by_signals
from bot.sandbox.choose import Setting

# Where a branch that is under review was left, in the order of likelihood: the remote's own word comes first.
_BASES = ("refs/remotes/origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True, slots=True)
class LocalReview:
    """What the command line asked for. `base` is a branch or commit, empty for the remote's default branch; of the
    diff only what is new since `since` is looked at, where that is given."""

    repo: Path
    instruction: str = ""
    base: str = ""
    since: str = ""
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class LocallyReviewed:
    """What came of it. `review` is `None` where the run failed; `unseen` counts files that HEAD does not have so."""

    outcome: Outcome
    review: Review | None
    exit_code: ExitCode
    bundle: Path
    unseen: int


def review(asked: LocalReview, environment: Mapping[str, str], view: View) -> LocallyReviewed:
    """Do the review while `view` looks on. Raises an `AgentError` for what goes wrong before the first request."""
    repo = top_of(asked.repo.resolve())
    check_machine()
    check_folder(asked.out)
    base, found = find_range(repo, asked.base, asked.since)
    model = asked.model or default_model(environment)
    wish = asked.instruction.strip() or f"Review what HEAD changes since it left {base}."
    folder = new_folder(environment)
    note = policy_note(repo)
    if note:
        view.tell(Noted(note))
    job = Job(
        request=Request(Verb.REVIEW, wish, Actor("you", 0, Tier.LOCAL), "", "", str(repo)),
        source=Source(str(repo), found.head_sha),
        folder=folder,
        connect=lambda: connect_model(model, environment),
        connect_named=lambda name: connect_model(name, environment),
        environment=environment,
        sandbox=asked.sandbox,
        origin=repo,
        budget_usd=asked.budget_usd,
        range=found,
        notes=(note,) if note else (),
        say=lambda text: view.tell(Noted(text)),
        view=view,
    )
    stop = CancelToken()
    with cancelled_by_signals(stop, view.interrupted, cut_off(folder, asked.out, view, "slash-agent review")):
        ended = run_job(job, stop)
        from bot.checkout.branches import uncommitted
        from bot.run.conclude import exit_code
        from bot.run.show import keep

        bundle = keep(asked.out, folder, ended)
    folder.finish()
    code = exit_code(ended.outcome.stop_reason, ended.outcome.status)
    return LocallyReviewed(ended.outcome, ended.review, code, bundle, uncommitted(repo))


def find_range(repo: Path, base: str = "", since: str = "") -> tuple[str, Range]:
    """What HEAD changes since it left `base`, with the name of that. Raises a `CheckoutError` or `UsageError`."""
    head = resolve(repo, "HEAD")
    name, tip = _base(repo, base, head)
    fork = _merge_base(repo, tip, head, name)
    found = local_range(fork, head.sha, name, _diff(fork, head))
    if not since:
        return name, found
    seen = resolve(repo, since)
    new = changed_since(found.diff, parse_diff(_diff(seen.sha, head)))
    if not new.files:
        raise UsageError(f"Nothing of the diff is new since {since}: there is nothing to review.")
    return name, replace(found, diff=new, since_sha=seen.sha)


def _base(repo: Path, base: str, head: LocalCommit) -> tuple[str, LocalCommit]:
    if base:
        return base, resolve(repo, base)
    for name in _BASES:
        try:
            commit = resolve(repo, name)
        except CheckoutError:
            continue
        if commit.branch != head.branch or not commit.branch:
            return name.removeprefix("refs/remotes/").removesuffix("/HEAD"), commit
    raise UsageError("Say what HEAD is to be compared with: --base BRANCH.")


def _merge_base(repo: Path, base: LocalCommit, head: LocalCommit, name: str) -> str:
    git_dir = git_dir_of(repo)
    try:
        return Git(git_dir).run("merge-base", base.sha, head.sha, work_tree=git_dir.parent).decode().strip()
    except GitError as error:
        raise MissingRevisionError(f"HEAD and {name} have no commit in common: {error.detail}") from error


def _diff(base_sha: str, head: LocalCommit) -> bytes:
    with tempfile.TemporaryDirectory(prefix="slash-agent-review-") as scratch:
        git_dir = Path(scratch) / "git"
        layout.make_git_dir(git_dir, bare=True, object_format=layout.object_format_of(head.sha))
        return diff_between(Git(git_dir), base_sha, head.sha, borrowing(head))
