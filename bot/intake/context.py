"""The thread as the model may see it: what stood there at the trigger, cleaned, the oldest left out first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from bot.contracts.comments import Comment
from bot.contracts.request import Thread
from bot.contracts.threads import OWN_MARKER, CommentData
from bot.contracts.wording import count_of
from bot.intake.event import CommentEvent
from bot.intake.hygiene import clean

# In characters; about a quarter as many tokens.
COMMENTS_BUDGET = 40_000
MAX_COMMENT = 10_000
MAX_BODY = 30_000


@dataclass(slots=True)
class _Counts:
    after: int = 0
    edited: int = 0
    own: int = 0
    old: int = 0
    shortened: int = 0
    hidden_comments: int = 0
    hidden_characters: int = 0


def build_thread(event: CommentEvent, comments: Iterable[CommentData]) -> Thread:
    """The issue with its comments, oldest first, without the one that gave the command.

    Title and body are the payload's. Comments written or edited after the trigger are left out, and so are
    the bot's own; then the oldest ones, until the rest is within `COMMENTS_BUDGET`.
    """
    counts = _Counts()
    kept: deque[CommentData] = deque()
    size = 0
    for comment in comments:
        if not _stood_at_trigger(comment, event, counts):
            continue
        kept.append(comment)
        size += _size(comment)
        while size > COMMENTS_BUDGET:
            size -= _size(kept.popleft())
            counts.old += 1
    title = " ".join(_prepared(event.title, MAX_COMMENT, counts).split())
    body = _prepared(event.body, MAX_BODY, counts)
    shown = tuple(_as_context(comment, counts) for comment in kept)
    return Thread(
        number=event.number,
        title=title,
        body=body,
        author=event.opened_by,
        url=event.url,
        comments=shown,
        left_out=_in_words(counts),
    )


def is_own(body: str) -> bool:
    """Whether a comment carries the bot's mark. A mark in a quote, which has `>` before it, is not one."""
    return any(line.startswith(OWN_MARKER) for line in body.splitlines())


def _stood_at_trigger(comment: CommentData, event: CommentEvent, counts: _Counts) -> bool:
    """Times are to the second: within the trigger's own second ids tell the order, and an edit is dropped."""
    if comment.id == event.comment_id:
        return False
    if (comment.created_at, comment.id) > (event.commented_at, event.comment_id):
        counts.after += 1
        return False
    if comment.updated_at != comment.created_at and comment.updated_at >= event.commented_at:
        if is_own(comment.body):
            counts.own += 1
        else:
            counts.edited += 1
        return False
    if is_own(comment.body):
        counts.own += 1
        return False
    return True


def _size(comment: CommentData) -> int:
    return min(len(comment.body), MAX_COMMENT)


def _as_context(comment: CommentData, counts: _Counts) -> Comment:
    return Comment(
        comment.id,
        comment.author,
        _prepared(comment.body, MAX_COMMENT, counts),
        comment.created_at,
        comment.updated_at,
    )


def _prepared(text: str, limit: int, counts: _Counts) -> str:
    cleaned = clean(text)
    counts.hidden_comments += cleaned.comments
    counts.hidden_characters += cleaned.characters
    if len(cleaned.text) <= limit:
        return cleaned.text
    counts.shortened += 1
    head, tail = limit * 3 // 5, limit * 2 // 5
    missing = len(cleaned.text) - head - tail
    return f"{cleaned.text[:head]}\n[{missing} characters left out]\n{cleaned.text[-tail:]}"


def _in_words(counts: _Counts) -> tuple[str, ...]:
    said = (
        (counts.after, "written after the command", "comment"),
        (counts.edited, "edited after the command", "comment"),
        (counts.own, "of this bot's own", "comment"),
        (counts.old, f"older than the newest {COMMENTS_BUDGET} characters of the thread", "comment"),
        (counts.shortened, "shortened in the middle for length", "text"),
        (counts.hidden_comments, "taken out", "HTML comment"),
        (counts.hidden_characters, "taken out", "invisible character"),
    )
    return tuple(f"{count_of(number, noun)} {why}" for number, why, noun in said if number)
