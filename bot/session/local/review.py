"""What a review of a local checkout is of: what HEAD changes since it left its base."""

import tempfile
from contextlib import suppress
from pathlib import Path

from bot.checkout.git import CheckoutError, Git, GitError, MissingRevisionError
from bot.checkout.local import LocalCommit, git_beside, git_dir_of, resolve
from bot.checkout.objects import diff_between
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.pulls import Review
from bot.review.diff import Diff, parse_diff
from bot.review.diff_text import pieces_of
from bot.review.known_findings import ReviewMemory
from bot.session.context.review_scope import ReviewRange

# Where a branch that is under review was left, in the order of likelihood: the remote's own word comes first.
_BASES = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)


class NothingToReviewError(UsageError):
    """There is no change to look at: no error. `review` is the empty review."""

    exit_code = ExitCode.DONE

    def __init__(self, message: str, review: Review) -> None:
        super().__init__(message)
        self.review = review


def range_to_review(repo: Path, base: str, since: str, memory: ReviewMemory) -> tuple[str, ReviewRange]:
    """Return the name of the base and what HEAD changes since the merge base; of that only what is new since the commit
    `since`, by default that of the last review in `memory`. Raises `NothingToReviewError`, `CheckoutError` and
    `UsageError`."""
    if not since and memory.head_sha:
        with suppress(CheckoutError):  # the commit of the last review need not be here
            since = resolve(repo, memory.head_sha).sha
    head = resolve(repo, "HEAD")
    name, tip = _base(repo, base, head)
    try:
        fork = Git(git_dir_of(repo)).line("merge-base", tip.sha, head.sha)
    except GitError as error:
        raise MissingRevisionError(f"HEAD and {name} have no commit in common: {error.detail}") from error
    review_range = ReviewRange(fork, head.sha, _diff(fork, head))
    message = f"HEAD changes nothing since it left {name}, so there is nothing to review."
    if since:
        seen = resolve(repo, since).sha
        review_range = review_range._replace(since_sha=seen, since=_diff(seen, head))
        message = f"Nothing of the diff is new since {seen[:12]}, so there is nothing to review."
    if not pieces_of(review_range.diff, review_range.since, memory.left):
        raise NothingToReviewError(message, Review(fork, head.sha, message))
    return name, review_range


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


def _diff(base_sha: str, head: LocalCommit) -> Diff:
    with tempfile.TemporaryDirectory(prefix="slash-agent-review-") as scratch:
        return parse_diff(diff_between(git_beside(head, Path(scratch) / "git"), base_sha, head.sha))
