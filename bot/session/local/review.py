"""`slash-agent review`: review what HEAD of a local checkout changes. Changes nothing in the checkout."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bot.checkout.branches import count_uncommitted
from bot.checkout.errors import CheckoutError, MissingRevisionError
from bot.checkout.git import Git, GitError
from bot.checkout.local import LocalCommit, git_beside, git_dir_of, repository_root, resolve
from bot.checkout.objects import diff_between
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Outcome, exit_code
from bot.contracts.progress import View
from bot.contracts.request import SKILL
from bot.contracts.review import Review
from bot.providers.connect import default_model
from bot.review.diff import Diff, parse_diff
from bot.review.diff_text import pieces_of
from bot.review.fingerprints import NO_MEMORY
from bot.run.run import run
from bot.session.context.preflight import check_folder, check_machine
from bot.session.context.review_scope import PullTarget, ReviewRange
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
    only what is new since that commit is reviewed. `target` is the pull request that the review is for."""

    repo: Path
    instruction: str = ""
    base: str = ""
    since: str = ""
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    out: Path | None = None
    skill: str = ""
    target: PullTarget | None = None


class NothingToReviewError(UsageError):
    """There is no change to look at: no error. `review` is the empty review."""

    exit_code = ExitCode.DONE

    def __init__(self, message: str, review: Review) -> None:
        super().__init__(message)
        self.review = review


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """`review` is `None` if the run failed; `unseen` counts files that differ from HEAD. `notes` are on
    posting it."""

    outcome: Outcome
    review: Review | None
    exit_code: ExitCode
    bundle: Path
    unseen: int
    notes: tuple[str, ...] = ()


def review(options: ReviewOptions, environment: Mapping[str, str], view: View) -> ReviewResult:
    """Run the review and report to `view`. Raises `NothingToReviewError`, and `AgentError` for an error before the
    first request."""
    repo, target = repository_root(options.repo.resolve()), options.target
    check_machine()
    check_folder(options.out)
    memory = target.memory if target else NO_MEMORY
    since = options.since
    if not since and memory.head_sha:
        with suppress(CheckoutError):  # the commit of the last review need not be here
            since = resolve(repo, memory.head_sha).sha
    base, review_range = find_range(repo, options.base, since)
    if not pieces_of(review_range.diff, review_range.since, memory.left):
        raise _nothing_to_review(base, review_range)
    model = options.model or default_model(environment)
    instruction = options.instruction.strip() or f"Review what HEAD changes since it left {base}."
    named = {SKILL: options.skill} if options.skill else {}
    folder, request = new_folder(environment), local_request("review", instruction, repo, named)
    if target is not None:
        request = replace(
            request,
            repository=target.repository,
            base_ref=target.pull.base_ref,
            clone_url=target.clone_url,
            pull=target.pull,
        )
    spec = replace(
        local_spec(request, repo, folder, model, environment, view, review_range.head_sha),
        sandbox=options.sandbox,
        budget_usd=options.budget_usd,
        range=review_range,
        out=options.out,
        memory=memory,
    )
    result = run(spec)
    folder.finish()
    outcome = result.outcome
    code = exit_code(outcome.stop_reason, outcome.status)
    return ReviewResult(outcome, result.review, code, result.bundle, count_uncommitted(repo))


def _nothing_to_review(base: str, review_range: ReviewRange) -> NothingToReviewError:
    since = review_range.since_sha[:12]
    message = (
        f"Nothing of the diff is new since {since}, so there is nothing to review."
        if since
        else f"HEAD changes nothing since it left {base}, so there is nothing to review."
    )
    return NothingToReviewError(message, Review(review_range.base_sha, review_range.head_sha, message))


def find_range(repo: Path, base: str = "", since: str = "") -> tuple[str, ReviewRange]:
    """Return the name of the base and what HEAD changes since the merge base. Raises `CheckoutError`, `UsageError`."""
    head = resolve(repo, "HEAD")
    name, tip = _base(repo, base, head)
    fork = _merge_base(repo, tip, head, name)
    review_range = ReviewRange(fork, head.sha, _diff(fork, head))
    if not since:
        return name, review_range
    seen = resolve(repo, since)
    return name, replace(review_range, since_sha=seen.sha, since=_diff(seen.sha, head))


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
        return Git(git_dir).run("merge-base", base.sha, head.sha).decode().strip()
    except GitError as error:
        raise MissingRevisionError(f"HEAD and {name} have no commit in common: {error.detail}") from error


def _diff(base_sha: str, head: LocalCommit) -> Diff:
    with tempfile.TemporaryDirectory(prefix="slash-agent-review-") as scratch:
        return parse_diff(diff_between(git_beside(head, Path(scratch) / "git"), base_sha, head.sha))
