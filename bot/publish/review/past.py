"""What our earlier reviews of a pull request said, so that none of it is said twice, and where the last one ended.

Their marks say it, and count only where we wrote them. A thread that people resolved is one of ours like any other:
what was said in it is not said again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.findings.fingerprints import Said
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import Account, ReviewCommentData, ReviewData
from bot.publish.check_run import is_by_us
from bot.publish.text.markdown import unescaped
from bot.publish.thread.comments import written_at
from bot.publish.thread.markers import ENDED, PROGRESS, is_ours, mark, read_mark
from bot.publish.thread.place import Place

CHECK = "Slash Agent review"
REVIEW = "review"
FINDING = "finding"
# In the mark of a comment that says a review found nothing: the head that was looked at.
REVIEWED = "reviewed"

_CUT_SHORT = "partial"
_MOST_TRACES = 10
_HEADLINE = re.compile(r"\*\*(\w+): (.*)\*\*")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FINGERPRINT = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class Posted:
    """A review of ours: the request it was made for, the head it looked at, how many findings it has."""

    request: str
    head_sha: str
    findings: int
    url: str


@dataclass(frozen=True, slots=True)
class OnLines:
    """A finding of ours that stands on lines: the id of its comment, its severity in lower case, its title."""

    id: int
    severity: str
    title: str


@dataclass(frozen=True, slots=True)
class Past:
    """`said` are the findings of all our reviews, `on_lines` those of them that have a thread of their own."""

    said: tuple[Said, ...]
    reviews: tuple[Posted, ...]
    on_lines: tuple[OnLines, ...] = ()

    def made_for(self, request: str, head_sha: str) -> Posted | None:
        return next((one for one in self.reviews if (one.request, one.head_sha) == (request, head_sha)), None)


def review_mark(
    request: str, head_sha: str, findings: int, in_body: Iterable[str], *, finished: bool = True
) -> str:
    """`in_body` are the fingerprints of what stands on no lines, and so has no mark of its own. After a review that was
    not `finished` the next one looks at everything again."""
    state = "over" if finished else _CUT_SHORT
    return mark(
        REVIEW, request=request, head=head_sha, findings=findings, state=state, body=".".join(in_body)
    )


def read_past(host: Host, repository: str, number: int) -> Past:
    me = host.me()
    reviews = tuple(_our_reviews(host.reviews(repository, number), me))
    said = [Said(fingerprint) for fields, _ in reviews for fingerprint in _listed(fields)]
    on_lines = []
    for finding, at in _findings(host.review_comments(repository, number), me):
        said.append(finding)
        on_lines.append(at)
    return Past(tuple(said), tuple(_posted(fields, one) for fields, one in reviews), tuple(on_lines))


def still_open(host: Host, repository: str, number: int, past: Past) -> tuple[OnLines, ...]:
    """The findings of earlier reviews whose threads nobody resolved; all of them if GitHub does not say."""
    try:
        threads = host.review_threads(repository, number)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        return past.on_lines
    resolved = {thread.id for thread in threads if thread.resolved}
    return tuple(one for one in past.on_lines if one.id not in resolved)


def last_reviewed(host: Host, repository: str, number: int) -> str:
    """The head that our last review of the pull request looked at, empty where there was none.

    A review that found nothing is no review on GitHub: our comment on how that run ended says which head it saw, or,
    where nobody asked and so nothing was said, a check run on that head. Only the newest commits are asked for one.
    """
    me = host.me()
    reviews = _our_reviews(host.reviews(repository, number), me)
    heads = [
        (one.submitted_at, fields.get("head", ""))
        for fields, one in reviews
        if fields.get("state") != _CUT_SHORT
    ]
    for comment in written_at(host, Place(repository, number, "")):
        for kind in (PROGRESS, ENDED):
            fields = read_mark(comment.body, kind)
            if fields and REVIEWED in fields and is_ours(comment.author, me, kind):
                heads.append((comment.updated_at, fields[REVIEWED]))
    # Of the same second the one read last is the newer: reviews come before comments, each oldest first.
    ordered = sorted((one for one in heads if _SHA.fullmatch(one[1])), key=lambda one: one[0])
    return _nearest_trace(host, repository, number, ordered[-1][1] if ordered else "")


def trace_of(number: int, head_sha: str) -> str:
    """The `external_id` of the check run of ours that says that this head was looked at. A job of Actions, which has
    whatever name its workflow gives it, cannot have it."""
    return f"slash-agent-reviewed:{number}:{head_sha}"


def has_trace(host: Host, repository: str, number: int, head_sha: str) -> bool:
    """Whether a review with nothing to say left its trace on the commit. Raises `GitHubError`."""
    runs = host.check_runs(repository, head_sha, CHECK)
    return any(one.external_id == trace_of(number, head_sha) and is_by_us(one, host.me()) for one in runs)


def _nearest_trace(host: Host, repository: str, number: int, known: str) -> str:
    """The newest commit with a trace; `known` where that comes first, or where traces cannot be read."""
    try:
        newest = [commit.sha for commit in reversed(host.pull_commits(repository, number))][:_MOST_TRACES]
        for sha in newest:
            if sha == known or has_trace(host, repository, number, sha):
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


def _posted(fields: Mapping[str, str], review: ReviewData) -> Posted:
    number = fields.get("findings", "")
    findings = int(number) if number.isdecimal() and len(number) < 6 else 0
    return Posted(fields.get("request", ""), fields.get("head", ""), findings, review.url)


def _findings(comments: Iterable[ReviewCommentData], me: Account | None) -> Iterator[tuple[Said, OnLines]]:
    for comment in comments:
        fields = read_mark(comment.body, FINDING)
        if fields is not None and is_ours(comment.author, me, FINDING):
            headline = _HEADLINE.match(comment.body)
            severity, title = headline.groups() if headline else ("", "")
            said = Said(fields.get("id", ""), fields.get("place", ""), title, comment.line)
            yield said, OnLines(comment.id, severity.lower(), unescaped(title))


def _listed(fields: Mapping[str, str]) -> list[str]:
    return [one for one in fields.get("body", "").split(".") if _FINGERPRINT.fullmatch(one)]
