"""Our own comments where somebody asked: found again by mark and author, written once.

A request in a pull request's conversation or under an issue is answered there; one on lines of a diff, in the
thread on these lines. That takes a token that may write to pull requests: without one, and where the lines' thread is
gone, the conversation has to do. Progress is always shown in the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import Account
from bot.publish.thread.markers import ENDED, OVER, PROGRESS, is_ours, mark, marked, read_mark
from bot.publish.thread.place import Place


@dataclass(frozen=True, slots=True)
class Written:
    """A comment of the conversation, or of the thread on lines that begins with the comment `lines`."""

    id: int
    author: Account
    body: str
    updated_at: str = ""
    lines: int = 0

    @property
    def anchor(self) -> str:
        """The fragment of its address on the thread's page."""
        return f"{'discussion_r' if self.lines else 'issuecomment-'}{self.id}"


def written_at(host: Host, place: Place) -> Iterator[Written]:
    """What stands where `place` is, the lines' thread before the conversation, each oldest first."""
    if place.lines:
        for remark in host.review_comments(place.repository, place.number, place.since):
            if remark.in_reply_to == place.lines:
                yield Written(remark.id, remark.author, remark.body, remark.updated_at, place.lines)
    for comment in host.comments(place.repository, place.number, place.since):
        author = Account(comment.author, comment.author_id, comment.author_kind)
        yield Written(comment.id, author, comment.body, comment.updated_at)


def find_comment(host: Host, place: Place, kind: str) -> Written | None:
    """Our comment of this kind for this request."""
    return next((one for one in written_at(host, place) if _is_own(host, place, one, kind)), None)


def _is_own(host: Host, place: Place, comment: Written, kind: str) -> bool:
    fields = read_mark(comment.body, kind)
    # A comment that holds a plan is never written over: somebody may be about to approve it.
    if fields is None or fields.get("request") != place.key or "plan" in fields:
        return False
    return is_ours(comment.author, host.me(), kind)


def with_mark(place: Place, kind: str, text: str, fields: Mapping[str, str] | None = None) -> str:
    """`text` with the mark that says what it is: the request, the run, and `fields` besides."""
    named = {"request": place.key, "run": place.run, "of": place.of, **(fields or {})}
    return marked(text, mark(kind, **{name: value for name, value in named.items() if value}))


def put_comment(
    host: Host, place: Place, kind: str, text: str, fields: Mapping[str, str] | None = None
) -> None:
    """Make our comment say `text`: edited where it says otherwise, created where it is not. `fields` go into its
    mark."""
    existing = find_comment(host, place, kind)
    if existing is None:
        _create(host, place, kind, with_mark(place, kind, text, fields))
    else:
        _edit(host, place, existing, kind, text, fields or {})


def put_result(
    host: Host, place: Place, kind: str, text: str, headline: str, fields: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Make `text` the one result of this request: the progress comment becomes it, where there is one. On lines of a
    diff, and without a progress comment, it stands in a comment of `kind`; the progress comment then shrinks to
    `headline` and a link. Done twice it changes nothing.

    Returns soft failures, a sentence each. Raises `GitHubError` where the result could not be written.
    """
    own: dict[str, Written] = {}
    for comment in written_at(host, place):
        for name in (PROGRESS, ENDED, kind):
            if _is_own(host, place, comment, name):
                own.setdefault(name, comment)
    progress, result = own.get(PROGRESS), own.get(kind)
    if result is None and progress is not None and not place.lines:
        try:
            _edit(host, place, progress, PROGRESS, text, {**OVER, **(fields or {})})
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
        else:
            result, progress = progress, None
    elif result is not None:
        _edit(host, place, result, kind, text, fields or {})
    if result is None:
        result = _create(host, place, kind, with_mark(place, kind, text, fields))
    stale = [(PROGRESS, progress), (ENDED, None if kind == ENDED else own.get(ENDED))]
    link = f"**{headline}** [here]({place.url}#{result.anchor})."
    try:
        for name, old in stale:
            if old is not None:
                _edit(host, place, old, name, link, OVER)
    except GitHubError as error:
        return (f"The progress comment could not be finished: {error}",)
    return ()


def edit_comments(
    host: Host, place: Place, texts: Mapping[str, str], fields: Mapping[str, str] | None = None
) -> frozenset[str]:
    """Make our comments say the text of their kind, where they are there; the thread is read once. The mark keeps
    what it says and gets `fields`. Returns the kinds that were there."""
    found = set()
    for comment in list(written_at(host, place)):
        for kind, text in texts.items():
            if _is_own(host, place, comment, kind):
                found.add(kind)
                _edit(host, place, comment, kind, text, fields or {})
    return frozenset(found)


def post(host: Host, place: Place, body: str) -> Written:
    """A new comment at `place`."""
    if place.lines:
        try:
            reply = host.reply_to_review_comment(place.repository, place.number, place.lines, body)
            return Written(reply.id, reply.author, body, lines=place.lines)
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
    made = host.create_comment(place.repository, place.number, body)
    return Written(made.id, Account(made.author, made.author_id, made.author_kind), body)


def rewrite(host: Host, place: Place, comment_id: int, body: str) -> None:
    if place.lines:
        host.edit_review_comment(place.repository, comment_id, body)
    else:
        host.edit_comment(place.repository, place.number, comment_id, body)


def _edit(
    host: Host, place: Place, comment: Written, kind: str, text: str, fields: Mapping[str, str]
) -> None:
    body = with_mark(place, kind, text, {**(read_mark(comment.body, kind) or {}), **fields})
    if comment.body.replace("\r\n", "\n").strip() != body.strip():
        rewrite(host, replace(place, lines=comment.lines), comment.id, body)


def _create(host: Host, place: Place, kind: str, body: str) -> Written:
    try:
        return post(host, place, body)
    except GitHubError as error:
        # The answer was lost, and perhaps only the answer.
        posted = find_comment(host, place, kind) if error.failure.transient else None
        if posted is None:
            raise
        return posted
