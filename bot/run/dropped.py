"""Commands that GitHub's queue dropped, found by the run that took their place. Pure.

Jobs of one thread wait in one concurrency group, and GitHub keeps one waiting job in a group: a newer command's job
drops the one that waited. Nothing tells the thread, so the next run that starts in it does: it has read the thread
anyway, and a command older than its own, newer than the last that a run began to work on, and without a word of ours
was dropped. Whoever gave it is told, once, and only somebody who may give it: strangers cannot make us talk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bot.contracts.threads import CommentData
from bot.github.values import Account
from bot.intake.command import Command, parse_command
from bot.publish.markers import ANSWER, ENDED, PROGRESS, REFUSED, is_ours, read_mark

DROPPED = "dropped"
_KINDS = (PROGRESS, ENDED, ANSWER, REFUSED)
_MOST = 3


@dataclass(frozen=True, slots=True)
class Dropped:
    """A command that nobody worked on."""

    comment: CommentData
    command: Command


def has_other_commands(comments: Iterable[CommentData], asking: int) -> bool:
    """Whether it is worth looking at all: a person's command stands before the comment `asking`."""
    return any(True for _ in _commands(comments, asking))


def dropped(comments: Iterable[CommentData], asking: int, me: Account | None) -> tuple[Dropped, ...]:
    """The commands before the comment `asking` that no run took up, oldest first, the newest three at most.

    `comments` are those of the conversation, in any order. Ids grow with time.
    """
    comments = list(comments)
    spoken_of: set[int] = set()
    begun = 0
    for comment in comments:
        for kind in _KINDS:
            key = _key(comment, kind, me)
            spoken_of.add(key)
            if kind == PROGRESS and begun < key < asking:
                begun = key
    # Where no run began before, there was nothing that a command could have waited for.
    waiting = [one for one in _commands(comments, asking) if begun and one.comment.id > begun]
    return tuple(one for one in waiting if one.comment.id not in spoken_of)[-_MOST:]


def left_open(
    comments: Iterable[CommentData], asking: int, me: Account | None
) -> list[tuple[CommentData, dict[str, str]]]:
    """Our progress comments for older commands that still say somebody works on them, with their marks' fields.
    Nobody can any more: while this run holds the thread, no other of its group runs."""
    found = []
    for comment in comments:
        fields = read_mark(comment.body, PROGRESS) or {}
        open_ = fields.get("state") == "on" and fields.get("run", "").isdecimal()
        if open_ and 0 < _key(comment, PROGRESS, me) < asking:
            found.append((comment, dict(fields)))
    return found[-_MOST:]


def words(found: Iterable[Dropped], thread_url: str, may: Callable[[Dropped], bool]) -> str:
    """What the thread is told; empty where nobody is to be told anything."""
    rows = [
        f"- [`/agent {one.command.verb}`]({thread_url}#issuecomment-{one.comment.id}) of {one.comment.author}"
        for one in found
        if may(one)
    ]
    if not rows:
        return ""
    head = (
        "**Not carried out**, since GitHub lets one command of a thread wait while another is worked on, and drops it "
        "when a newer one comes. Write it again if it is still wanted:"
    )
    return "\n".join([head, "", *rows])


def _commands(comments: Iterable[CommentData], asking: int) -> Iterator[Dropped]:
    for comment in sorted(comments, key=lambda one: one.id):
        if comment.id >= asking or comment.author_kind == "Bot":
            continue
        command = parse_command(comment.body)
        if command is not None and not command.problem:
            yield Dropped(comment, command)


def _key(comment: CommentData, kind: str, me: Account | None) -> int:
    """The command that a comment of ours speaks of; 0 for anybody else's and for another kind."""
    key = (read_mark(comment.body, kind) or {}).get("request", "")
    ours = is_ours(Account(comment.author, comment.author_id, comment.author_kind), me)
    return int(key) if ours and key.isdecimal() and len(key) < 20 else 0
