"""Read the findings of our earlier reviews of a pull request, and the head that the last one reviewed.

Both come from marks, which count only in comments by us. A finding in a resolved thread is not posted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.contracts.threads import Account
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import ReviewCommentData, ReviewData
from bot.publish.check_run import is_by_us
from bot.publish.markdown import unescaped
from bot.publish.thread.comments import comments_at
from bot.publish.thread.markers import ENDED, PROGRESS, ThreadRef, is_ours, mark, read_mark
from bot.review.fingerprints import KnownFinding

CHECK = "Slash Agent review"
REVIEW = "review"
FINDING = "finding"
# In the mark of a comment on a review without findings: the reviewed head.
REVIEWED = "reviewed"

_CUT_SHORT = "partial"
_MOST_TRACES = 10
_HEADLINE = re.compile(r"\*\*(\w+): (.*)\*\*")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FINGERPRINT = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class PostedReview:
    """One of our reviews: the key of its request, the reviewed head, and the number of findings."""

    request: str
    head_sha: str
    findings: int
    url: str


@dataclass(frozen=True, slots=True)
class PostedFinding:
    """One of our findings on lines: the id of its comment, its severity in lower case, its title."""

    id: int
    severity: str
    title: str


@dataclass(frozen=True, slots=True)
class ReviewHistory:
    """`findings` are the findings of all our reviews, `on_lines` those of them that have a thread of their own."""

    findings: tuple[KnownFinding, ...]
    reviews: tuple[PostedReview, ...]
    on_lines: tuple[PostedFinding, ...] = ()

    def made_for(self, request: str, head_sha: str) -> PostedReview | None:
        return next((one for one in self.reviews if (one.request, one.head_sha) == (request, head_sha)), None)


def review_mark(
    request: str, head_sha: str, findings: int, in_body: Iterable[str], *, finished: bool = True
) -> str:
    """Return the mark of a review. `in_body` are the fingerprints of findings without lines, which have no mark of
    their own. After an unfinished review the next one starts from the beginning."""
    state = "over" if finished else _CUT_SHORT
    return mark(
        REVIEW, request=request, head=head_sha, findings=findings, state=state, body=".".join(in_body)
    )


def read_history(github: GitHub, repository: str, number: int) -> ReviewHistory:
    me = github.me()
    reviews = tuple(_our_reviews(github.reviews(repository, number), me))
    findings = [KnownFinding(fingerprint) for fields, _ in reviews for fingerprint in _listed(fields)]
    on_lines = []
    for finding, at in _findings(github.review_comments(repository, number), me):
        findings.append(finding)
        on_lines.append(at)
    return ReviewHistory(
        tuple(findings), tuple(_posted_review(fields, one) for fields, one in reviews), tuple(on_lines)
    )


def open_findings(
    github: GitHub, repository: str, number: int, past: ReviewHistory
) -> tuple[PostedFinding, ...]:
    """Return the findings of earlier reviews in unresolved threads; all of them if that is unknown."""
    try:
        threads = github.review_threads(repository, number)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        return past.on_lines
    resolved = {thread.id for thread in threads if thread.resolved}
    return tuple(one for one in past.on_lines if one.id not in resolved)


def last_reviewed(github: GitHub, repository: str, number: int) -> str:
    """Return the head of our last review of the pull request, empty if there was none.

    A review without findings is no review on GitHub: its head is in our comment on the end of that run or, if there was
    no request and so no comment, in a check run on that head. Only the newest commits are searched for one.
    """
    me = github.me()
    reviews = _our_reviews(github.reviews(repository, number), me)
    heads = [
        (one.submitted_at, fields.get("head", ""))
        for fields, one in reviews
        if fields.get("state") != _CUT_SHORT
    ]
    for comment in comments_at(github, ThreadRef(repository, number, "")):
        for kind in (PROGRESS, ENDED):
            fields = read_mark(comment.body, kind)
            if fields and REVIEWED in fields and is_ours(comment.author, me, kind):
                heads.append((comment.updated_at, fields[REVIEWED]))
    # Within a second the last one is the newest: reviews come before comments, each oldest first.
    ordered = sorted((one for one in heads if _SHA.fullmatch(one[1])), key=lambda one: one[0])
    return _nearest_trace(github, repository, number, ordered[-1][1] if ordered else "")


def empty_review_key(number: int, head_sha: str) -> str:
    """Return the `external_id` of our check run that marks this head as reviewed. A job of Actions, whose name a
    workflow chooses, cannot have it."""
    return f"slash-agent-reviewed:{number}:{head_sha}"


def has_empty_review(github: GitHub, repository: str, number: int, head_sha: str) -> bool:
    """Whether the commit has the check run of a review without findings. Raises `GitHubError`."""
    runs = github.check_runs(repository, head_sha, CHECK)
    return any(
        one.external_id == empty_review_key(number, head_sha) and is_by_us(one, github.me()) for one in runs
    )


def _nearest_trace(github: GitHub, repository: str, number: int, known: str) -> str:
    """Return the newest commit with such a check run, or `known` if that is newer or check runs cannot be read."""
    try:
        newest = [commit.sha for commit in reversed(github.pull_commits(repository, number))][:_MOST_TRACES]
        for sha in newest:
            if sha == known or has_empty_review(github, repository, number, sha):
                return sha
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
    return known


def _our_reviews(
    reviews: Iterable[ReviewData], me: Account | None
) -> Iterator[tuple[Mapping[str, str], ReviewData]]:
    for review in reviews:
        fields = read_mark(review.body, REVIEW)
        if fields is not None and is_ours(review.author, me, REVIEW):
            yield fields, review


def _posted_review(fields: Mapping[str, str], review: ReviewData) -> PostedReview:
    number = fields.get("findings", "")
    findings = int(number) if number.isdecimal() and len(number) < 6 else 0
    return PostedReview(fields.get("request", ""), fields.get("head", ""), findings, review.url)


def _findings(
    comments: Iterable[ReviewCommentData], me: Account | None
) -> Iterator[tuple[KnownFinding, PostedFinding]]:
    for comment in comments:
        fields = read_mark(comment.body, FINDING)
        if fields is not None and is_ours(comment.author, me, FINDING):
            headline = _HEADLINE.match(comment.body)
            severity, title = headline.groups() if headline else ("", "")
            finding = KnownFinding(fields.get("id", ""), fields.get("place", ""), title, comment.line)
            yield finding, PostedFinding(comment.id, severity.lower(), unescaped(title))


def _listed(fields: Mapping[str, str]) -> list[str]:
    return [one for one in fields.get("body", "").split(".") if _FINGERPRINT.fullmatch(one)]
