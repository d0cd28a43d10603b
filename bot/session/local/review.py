"""`slash-agent review`: review what HEAD of a local checkout changes. Changes nothing in the checkout."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.checkout import layout
from bot.checkout.branches import count_uncommitted
from bot.checkout.errors import CheckoutError, MissingRevisionError
from bot.checkout.git import Git, GitError
from bot.checkout.local import LocalCommit, alternate_objects, git_dir_of, repository_root, resolve
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Outcome, exit_code
from bot.contracts.progress import View
from bot.contracts.review import Review
from bot.providers.connect import default_model
from bot.review.diff import Diff
from bot.review.diff_text import changed_since
from bot.review.read_diff import read_diff
from bot.run.run import run
from bot.session.context.preflight import check_folder, check_machine
from bot.session.context.review_scope import ReviewRange, local_range
from bot.session.local.local_run import local_request, local_spec
from bot.session.run_folder import new_folder
from bot.workspace.sandbox.backends import Setting

# Where a branch that is under review was left, in the order of likelihood: the remote's own word comes first.
_BASES = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of the command line. `base` is a branch or commit, empty for the remote's default branch. With `since`,
    only what is new since that commit is reviewed."""

    repo: Path
    instruction: str = ""
    base: str = ""
    since: str = ""
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """`review` is `None` if the run failed; `unseen` counts files that differ from HEAD."""

    outcome: Outcome
    review: Review | None
    exit_code: ExitCode
    bundle: Path
    unseen: int


def review(options: ReviewOptions, environment: Mapping[str, str], view: View) -> ReviewResult:
    """Run the review and report to `view`. Raises `AgentError` for an error before the first request."""
    repo = repository_root(options.repo.resolve())
    check_machine()
    check_folder(options.out)
    base, review_range = find_range(repo, options.base, options.since)
    model = options.model or default_model(environment)
    instruction = options.instruction.strip() or f"Review what HEAD changes since it left {base}."
    folder = new_folder(environment)
    request = local_request("review", instruction, repo)
    spec = replace(
        local_spec(request, repo, folder, model, environment, view, review_range.head_sha),
        sandbox=options.sandbox,
        budget_usd=options.budget_usd,
        range=review_range,
        out=options.out,
        program="slash-agent review",
    )
    result = run(spec)
    folder.finish()
    outcome = result.outcome
    code = exit_code(outcome.stop_reason, outcome.status)
    return ReviewResult(outcome, result.review, code, result.bundle, count_uncommitted(repo))


def find_range(repo: Path, base: str = "", since: str = "") -> tuple[str, ReviewRange]:
    """Return the name of the base and what HEAD changes since the merge base. Raises `CheckoutError`, `UsageError`."""
    head = resolve(repo, "HEAD")
    name, tip = _base(repo, base, head)
    fork = _merge_base(repo, tip, head, name)
    review_range = local_range(fork, head.sha, name, _diff(fork, head))
    if not since:
        return name, review_range
    seen = resolve(repo, since)
    new_diff = changed_since(review_range.diff, _diff(seen.sha, head))
    if not new_diff.files:
        raise UsageError(f"Nothing of the diff is new since {since}: there is nothing to review.")
    return name, replace(review_range, diff=new_diff, since_sha=seen.sha)


def _base(repo: Path, base: str, head: LocalCommit) -> tuple[str, LocalCommit]:
    if base:
        return base, resolve(repo, base)
    for name in _BASES:
        try:
            commit = resolve(repo, name)
        except CheckoutError:
            continue
        if commit.branch != head.branch or not commit.branch:
            return name.split("/", 2)[2].removesuffix("/HEAD"), commit
    raise UsageError("Say what HEAD is to be compared with: --base BRANCH.")


def _merge_base(repo: Path, base: LocalCommit, head: LocalCommit, name: str) -> str:
    git_dir = git_dir_of(repo)
    try:
        return Git(git_dir).run("merge-base", base.sha, head.sha, work_tree=git_dir.parent).decode().strip()
    except GitError as error:
        raise MissingRevisionError(f"HEAD and {name} have no commit in common: {error.detail}") from error


def _diff(base_sha: str, head: LocalCommit) -> Diff:
    with tempfile.TemporaryDirectory(prefix="slash-agent-review-") as scratch:
        git_dir = Path(scratch) / "git"
        layout.make_git_dir(git_dir, bare=True, object_format=layout.object_format_of(head.sha))
        (git_dir / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{alternate_objects(head)}\n"))
        return read_diff(Git(git_dir), base_sha, head.sha)
