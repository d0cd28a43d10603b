"""Read what our earlier reviews of a pull request found and left, what became of it, and which head was the last.

All comes from marks, which count only in texts by us.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from github.CheckRun import CheckRun
from github.PullRequestReview import PullRequestReview

from bot.contracts.request import Tier
from bot.events.admission import tier_of
from bot.github.accounts import account
from bot.github.checks import ACTIONS, app_of
from bot.github.client import GitHub
from bot.github.errors import HIDDEN, GitHubError
from bot.github.reviews import ReviewCommentData
from bot.github.transport import stamp
from bot.github.values import Account
from bot.publish.markdown import unescaped
from bot.publish.thread.comments import own_comments
from bot.publish.thread.markers import MarkFields, mark, marked, number_in, own_fields
from bot.review.diff_text import key_of, readable_path
from bot.review.known_findings import DECLINES, KnownFinding, ReviewMemory, State

CHECK = "Slash Agent review"
REVIEW = "review"
FINDING = "finding"
# In the mark of a comment on a review without findings: the reviewed head.
REVIEWED = "reviewed"
MOST_LEFT = 4_000

_CUT_SHORT = "partial"
_MOST_TRACES = 10
_HEADLINE = re.compile(r"\*\*(\w+): (.*?)\*\*(?: |$)", re.MULTILINE)
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_IN_BODY = re.compile(r"([0-9a-f]{8,64})-([0-9a-f]{6})")
_KEY = re.compile("[0-9a-f]{6}")


class PostedReview(NamedTuple):
    """One of our reviews, with the fields of its mark."""

    data: PullRequestReview
    fields: MarkFields

    @property
    def findings(self) -> int:
        return number_in(self.fields.get("findings", ""))

    @property
    def blocks(self) -> bool:
        """Whether its request for changes stands."""
        return self.data.state == "CHANGES_REQUESTED"


class ReviewHistory(NamedTuple):
    """`findings` are those of all our reviews, `reviews` are oldest first."""

    findings: tuple[KnownFinding, ...]
    reviews: tuple[PostedReview, ...]

    def made_for(self, request: str, head_sha: str) -> PostedReview | None:
        """Return the review for a request at a head."""
        wanted = {"request": request, "head": head_sha}
        return next((one for one in self.reviews if wanted.items() <= one.fields.items()), None)


def review_mark(
    request: str,
    head_sha: str,
    findings: int,
    in_body: Iterable[str],
    unseen: Iterable[str],
    *,
    finished: bool,
) -> str:
    """Return the mark of a review. `in_body` has an entry of `body_entry` for each finding without lines, which has no
    mark of its own; `unseen` are the pieces that were not looked at. After an unfinished review, and if there are more
    pieces than a mark holds, the next one begins where this one did."""
    keys = [key_of(name) for name in unseen]
    ended = finished and len(keys) <= MOST_LEFT
    return mark(
        REVIEW,
        request=request,
        head=head_sha,
        findings=findings,
        state="over" if ended else _CUT_SHORT,
        body=".".join(in_body),
        left="".join(keys) if ended else "",
    )


def body_entry(fingerprint: str, path: str) -> str:
    return f"{fingerprint}-{key_of(readable_path(path))}"


def without_entries(review: PostedReview, ended: Iterable[str], note: str) -> str:
    """Return the body of a review in which the findings with these fingerprints are over, with a note on that."""
    over, entries = set(ended), review.fields.get("body", "").split(".")
    remaining = [one for one in entries if one.partition("-")[0] not in over]
    text = review.data.body.rstrip().rpartition("\n")[0].rstrip()
    return marked(f"{text}\n\n{note}", mark(REVIEW, **{**review.fields, "body": ".".join(remaining)}))


def read_history(github: GitHub, number: int) -> ReviewHistory:
    """Read our reviews and what became of their findings. Without reviews of ours nothing else is requested."""
    me = github.me
    reviews = tuple(
        PostedReview(one, fields)
        for one in github.reviews(number)
        if (fields := own_fields(one.body or "", account(one.user), REVIEW, me)) is not None
    )
    if not reviews:
        return ReviewHistory((), ())
    comments = list(github.review_comments(number))
    resolved = frozenset[int]()
    try:
        open_ones = github.unresolved_threads(number)
        resolved = frozenset(one.id for one in comments if not one.in_reply_to and one.id not in open_ones)
    except GitHubError as error:
        # 400: GraphQL's refusals, and an older GitHub Enterprise that does not know a field.
        if error.status not in (400, 403, 404):
            raise

    @cache
    def maintains(login: str, account_id: int) -> bool:
        known = github.permission(login)
        return known.user_id == account_id and tier_of(known) is Tier.MAINTAINER

    def with_state(finding: KnownFinding) -> KnownFinding:
        if finding.comment in resolved:
            return finding._replace(state=State.RESOLVED)
        answers = (one for one in comments if one.in_reply_to == finding.comment and one.author.id)
        is_declined = any(
            DECLINES.search(one.body) and maintains(one.author.login, one.author.id) for one in answers
        )
        return finding._replace(state=State.DECLINED) if is_declined else finding

    on_lines = [with_state(one) for one in _on_lines(comments, me)]
    in_body = (finding for review in reviews for finding in _in_body(review))
    return ReviewHistory((*on_lines, *in_body), reviews)


def read_memory(github: GitHub, number: int) -> ReviewMemory:
    """Return what the next review has to know.

    A review without findings is no review on GitHub: its head is in our comment on the end of that run or, if there was
    no request and so no comment, in a check run on that head. Only the newest commits are searched for one.
    """
    history = read_history(github, number)
    # Within a second the last one is the newest: reviews come before comments, each oldest first.
    ends: list[tuple[str, str, frozenset[str]]] = []
    for one in history.reviews:
        if one.fields.get("state") != _CUT_SHORT:
            left = frozenset(_KEY.findall(one.fields.get("left", "")))
            ends.append((stamp(one.data.submitted_at), one.fields.get("head", ""), left))
    for own in own_comments(github, github.comments(number)):
        if own.ours and REVIEWED in own.fields:
            ends.append((own.data.updated_at, own.fields[REVIEWED], frozenset()))
    ordered = sorted((one for one in ends if _SHA.fullmatch(one[1])), key=lambda one: one[0])
    _, head, left = ordered[-1] if ordered else ("", "", frozenset[str]())
    if trace := _nearest_trace(github, number, head, is_enough=not left):
        head, left = trace, frozenset()
    return ReviewMemory(head, left, history.findings)


def _empty_review_key(number: int, head_sha: str) -> str:
    """Return the `external_id` of our check run on a reviewed head, which no job of Actions can have."""
    return f"slash-agent-reviewed:{number}:{head_sha}"


def has_empty_review(github: GitHub, number: int, head_sha: str) -> bool:
    """Whether the commit has the check run of a review without findings. Raises `GitHubError`."""
    key = _empty_review_key(number, head_sha)
    runs = github.check_runs(head_sha, CHECK)
    return any(one.external_id == key and is_by_us(one, github.me) for one in runs)


def post_empty_review(github: GitHub, number: int, head_sha: str) -> None:
    """Mark the head as reviewed by a neutral check run, unless it has one. Raises `GitHubError`."""
    if not has_empty_review(github, number, head_sha):
        github.create_check_run(
            name=CHECK,
            head_sha=head_sha,
            title="No new findings",
            summary="The next review looks only at what is new since this commit.",
            external_id=_empty_review_key(number, head_sha),
        )


def is_by_us(run: CheckRun, me: Account | None) -> bool:
    """Whether our app created it; for a person's token, Actions' own. If that is unknown, a second one is made."""
    app = app_of(run)
    if me is None or not app:
        return False
    return app == ACTIONS if me.kind != "Bot" else f"{app}[bot]".casefold() == me.login.casefold()


def _nearest_trace(github: GitHub, number: int, known: str, *, is_enough: bool) -> str:
    """Return the newest commit with such a check run, not older than `known`; empty if none can be read."""
    try:
        newest = [commit.sha for commit in reversed(github.pull_commits(number))][:_MOST_TRACES]
        for sha in newest:
            if not (sha == known and is_enough) and has_empty_review(github, number, sha):
                return sha
            if sha == known:
                return ""
    except GitHubError as error:
        if error.status not in HIDDEN:
            raise
    return ""


def _on_lines(comments: Iterable[ReviewCommentData], me: Account | None) -> Iterator[KnownFinding]:
    for comment in comments:
        fields = own_fields(comment.body, comment.author, FINDING, me)
        if fields is None:
            continue
        headline = _HEADLINE.match(comment.body)
        severity, title = headline.groups() if headline else ("", "")
        yield KnownFinding(
            fields.get("id", ""),
            fields.get("fault", ""),
            severity.lower(),
            unescaped(title),
            comment.path,
            comment.side,
            comment.start_line or comment.line,
            comment.line,
            State.CHANGED if comment.outdated else State.OPEN,
            comment.id,
            comment.review,
        )


def _in_body(review: PostedReview) -> Iterator[KnownFinding]:
    """The findings without lines, whose entries are in the order of their headlines."""
    entries = _IN_BODY.findall(review.fields.get("body", ""))
    headlines = _HEADLINE.findall(review.data.body.partition("**Not on lines of the diff**")[2])
    for number, (fingerprint, path_key) in enumerate(entries):
        severity, title = headlines[number] if number < len(headlines) else ("", "a finding")
        yield KnownFinding(
            fingerprint, "", severity.lower(), unescaped(title), review=review.data.id, path_key=path_key
        )
