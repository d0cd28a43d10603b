"""The conversation as the model may see it: what stood there at the trigger, cleaned, the oldest left out first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from bot.contracts.comments import Comment
from bot.contracts.request import Thread, Trigger
from bot.contracts.threads import CommentData
from bot.intake.asked import is_own
from bot.intake.event import ISSUE_COMMENT, Subject
from bot.intake.prepared import Prepared, said
from bot.intake.snapshot import When, when

# In characters; about a quarter as many tokens.
COMMENTS_BUDGET = 40_000
MAX_COMMENT = 10_000
MAX_BODY = 30_000
MAX_TITLE = 1_000


@dataclass(slots=True)
class _Counts:
    stood: int = 0
    after: int = 0
    edited: int = 0
    own: int = 0


def build_thread(subject: Subject, trigger: Trigger, newest_first: Iterable[CommentData]) -> Thread:
    """The issue or pull request with its comments, oldest first, without the one that gave the command.

    Title and body are the payload's. Comments written or edited after the trigger are left out, and so are
    the bot's own; the rest is taken from its newest end until `COMMENTS_BUDGET` is spent, and not read further.
    """
    counts, prepared = _Counts(), Prepared()
    kept: deque[CommentData] = deque()
    size, whole = 0, True
    for comment in newest_first:
        if not _is_context(comment, trigger, counts):
            continue
        size += _size(comment)
        if size > COMMENTS_BUDGET:
            whole = False
            break
        kept.appendleft(comment)
    older = () if whole else (_older(subject.comments, counts),)
    bare = bare_thread(subject, prepared)
    shown = tuple(_as_context(comment, prepared) for comment in kept)
    left_out = (*_in_words(counts), *older, *prepared.words())
    return Thread(
        bare.number, bare.title, bare.body, bare.author, bare.url, shown, bare.is_pull_request, left_out
    )


def _older(of: int, counts: _Counts) -> str:
    """`of` is how many comments the payload says that there were; 0 where it does not say."""
    why = f"older than the newest {COMMENTS_BUDGET} characters of the thread"
    # The one at which reading ended is not shown either.
    number = of - counts.stood + 1
    return said((number, "comment", why))[0] if of and number > 0 else f"all comments {why}"


def bare_thread(subject: Subject, prepared: Prepared | None = None) -> Thread:
    """The thread without its comments, for a request that no model will see."""
    prepared = prepared or Prepared()
    return Thread(
        number=subject.number,
        title=prepared.line(subject.title, MAX_TITLE, "the title"),
        body=prepared.text(
            subject.body,
            MAX_BODY,
            "the description",
            by_bot=subject.author is not None and subject.author.kind == "Bot",
        ),
        author=subject.author.login if subject.author else "ghost",
        url=subject.url,
        is_pull_request=subject.is_pull_request,
    )


def _is_context(comment: CommentData, trigger: Trigger, counts: _Counts) -> bool:
    """Whether a comment is part of the context; what is not is counted."""
    stood = when(trigger, ISSUE_COMMENT, comment.id, comment.created_at, comment.updated_at)
    counts.stood += stood is not When.AFTER
    if stood is When.AFTER:
        counts.after += 1
    elif stood is When.EDITED and not is_own(comment.body):
        counts.edited += 1
    elif stood is not When.ASKED and is_own(comment.body):
        counts.own += 1
    else:
        return stood is When.BEFORE
    return False


def _size(comment: CommentData) -> int:
    return min(len(comment.body), MAX_COMMENT)


def _as_context(comment: CommentData, prepared: Prepared) -> Comment:
    body = prepared.text(comment.body, MAX_COMMENT, f"a comment by {comment.author}")
    return Comment(comment.id, comment.author, body, comment.created_at, comment.updated_at)


def _in_words(counts: _Counts) -> tuple[str, ...]:
    return said(
        (counts.after, "comment", "written after the command"),
        (counts.edited, "comment", "edited after the command"),
        (counts.own, "comment", "of this bot's own"),
    )
