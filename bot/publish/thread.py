"""Our own comments in the thread where somebody asked: found again by mark and author, written once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.contracts.request import Request
from bot.contracts.threads import CommentData
from bot.github.errors import GitHubError
from bot.github.host import CommentHost
from bot.github.values import Account
from bot.publish.markers import is_ours, mark, marked, read_mark


@dataclass(frozen=True, slots=True)
class Place:
    """Where one request stands. `key` tells requests of a thread apart: the id of the comment that asked.

    `since` (RFC 3339) spares reading what was there before the request; empty reads all.
    """

    repository: str
    number: int
    key: str
    since: str = ""


def place_of(request: Request) -> Place | None:
    """`None` where nobody asked in a thread."""
    if request.thread is None or not request.repository:
        return None
    trigger = request.trigger
    key = str(trigger.comment_id) if trigger and trigger.comment_id else "thread"
    return Place(request.repository, request.thread.number, key, trigger.at if trigger else "")


def find_comment(host: CommentHost, place: Place, kind: str) -> CommentData | None:
    """Our comment of this kind for this request."""
    written = host.comments(place.repository, place.number, place.since)
    return next((comment for comment in written if _is_own(host, place, comment, kind)), None)


def _is_own(host: CommentHost, place: Place, comment: CommentData, kind: str) -> bool:
    fields = read_mark(comment.body, kind)
    if fields is None or fields.get("request") != place.key:
        return False
    return is_ours(Account(comment.author, comment.author_id, comment.author_kind), host.me())


def with_mark(place: Place, kind: str, text: str) -> str:
    return marked(text, mark(kind, request=place.key))


def put_comment(host: CommentHost, place: Place, kind: str, text: str) -> None:
    """Make our comment say `text`: edited where it says otherwise, created where it is not."""
    existing = find_comment(host, place, kind)
    if existing is None:
        _create(host, place, kind, with_mark(place, kind, text))
    else:
        _edit(host, place, existing, with_mark(place, kind, text))


def edit_comments(host: CommentHost, place: Place, texts: Mapping[str, str]) -> None:
    """Make our comments say the text of their kind, where they are there; the thread is read once."""
    for comment in list(host.comments(place.repository, place.number, place.since)):
        for kind, text in texts.items():
            if _is_own(host, place, comment, kind):
                _edit(host, place, comment, with_mark(place, kind, text))


def _edit(host: CommentHost, place: Place, comment: CommentData, body: str) -> None:
    if comment.body.replace("\r\n", "\n").strip() != body.strip():
        host.edit_comment(place.repository, place.number, comment.id, body)


def _create(host: CommentHost, place: Place, kind: str, body: str) -> None:
    try:
        host.create_comment(place.repository, place.number, body)
    except GitHubError as error:
        # The answer was lost, and perhaps only the answer.
        if not error.failure.transient or find_comment(host, place, kind) is None:
            raise
