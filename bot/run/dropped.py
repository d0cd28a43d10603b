"""Commands that GitHub's queue dropped, found by the run that took their place. Pure.

Jobs of one thread wait in one concurrency group, and a server that does not know `queue: max` keeps one waiting job
in a group: a newer command's job drops the one that waited. Nothing tells the thread, so the next run that starts in it
does: it has read the thread anyway, and a command older than its own, newer than the last that a run began to work on,
and without a word of ours was dropped. There always is such a run, since its job is what dropped them. Whoever gave the
command is told, once, and only somebody who may give it: strangers cannot make us talk.

No run is started for them: that would take a token that may start runs in the job that runs the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.contracts.pulls import ReviewThread
from bot.contracts.threads import CommentData
from bot.github.values import Account
from bot.intake.command import Command, parse_command
from bot.publish.thread.markers import ANSWER, ENDED, PROGRESS, REFUSED, asking_comment, is_ours, read_mark

DROPPED = "dropped"
TOLD = "told"
"""The field of our mark that names the commands we spoke of, by their keys."""

_KINDS = (PROGRESS, ENDED, ANSWER, REFUSED)
_MOST_TOLD = 20
_MOST_CLOSED = 5
_SEPARATOR = "."


@dataclass(frozen=True, slots=True)
class Said:
    """A comment in the conversation or, with `on_lines`, on lines of the diff; there nobody says who by id."""

    comment: CommentData
    on_lines: bool = False

    @property
    def key(self) -> str:
        return f"{'r' if self.on_lines else ''}{self.comment.id}"

    @property
    def anchor(self) -> str:
        return f"{'discussion_r' if self.on_lines else 'issuecomment-'}{self.comment.id}"


@dataclass(frozen=True, slots=True)
class Asking:
    """The comment that a run is for: its request's key and when it was written."""

    key: str
    at: str

    def is_before(self, one: Said) -> bool:
        """Comments of one kind are told apart by their ids, which grow; two of different kinds by their times."""
        number, on_lines = asking_comment(self.key)
        return number < one.comment.id if on_lines is one.on_lines else self.at <= one.comment.created_at

    def is_after(self, one: Said) -> bool:
        return one.key != self.key and not self.is_before(one)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A command that nobody worked on."""

    said: Said
    command: Command


def said_in(comments: Iterable[CommentData], threads: Iterable[ReviewThread] = ()) -> list[Said]:
    """What stands in a conversation and on the lines of a diff, oldest first."""
    found = [Said(comment) for comment in comments]
    for thread in threads:
        for one in thread.comments:
            kind = "Bot" if one.author.endswith("[bot]") else ""
            told = CommentData(one.id, one.author, 0, kind, one.body, one.created_at, one.updated_at)
            found.append(Said(told, on_lines=True))
    return sorted(found, key=lambda one: (one.comment.created_at, one.on_lines, one.comment.id))


def has_other_commands(said: Iterable[Said], asking: Asking) -> bool:
    """Whether it is worth looking at all: a person's command stands before the one that asks."""
    return any(True for _ in _commands(said, asking))


def dropped(said: Iterable[Said], asking: Asking, me: Account | None) -> tuple[Dropped, ...]:
    """The commands before the one that asks that no run took up, oldest first, the newest twenty at most."""
    said = list(said)
    spoken_of: set[str] = set()
    begun: list[Asking] = []
    written = {one.key: one.comment.created_at for one in said}
    for one in said:
        for kind in _KINDS:
            fields = _fields(one, kind, me)
            key = fields.get("request", "")
            spoken_of.add(key)
            # A comment that was written while its run waited does not say that it ever began.
            if kind == PROGRESS and asking_comment(key)[0] and "queued" not in fields:
                at = written.get(key, one.comment.created_at)
                begun += [Asking(key, at)] if asking.is_after(_command(key, at)) else []
        spoken_of.update(_fields(one, DROPPED, me).get(TOLD, "").split(_SEPARATOR))
    # Where no run began before, there was nothing that a command could have waited for.
    waited = [one for one in _commands(said, asking) if begun and all(at.is_before(one.said) for at in begun)]
    return tuple(one for one in waited if one.said.key not in spoken_of)[-_MOST_TOLD:]


def told(found: Iterable[Dropped]) -> str:
    """The value of `TOLD` for these."""
    return _SEPARATOR.join(one.said.key for one in found)


def left_open(said: Iterable[Said], asking: Asking, me: Account | None) -> list[tuple[Said, dict[str, str]]]:
    """Our progress comments for older commands that still say somebody works on them, with their marks' fields.
    Nobody can any more: while this run holds the thread, no other of its group runs."""
    found = []
    for one in said:
        fields = _fields(one, PROGRESS, me)
        key = fields.get("request", "")
        open_ = fields.get("state") == "on" and fields.get("run", "").isdecimal()
        if open_ and asking_comment(key)[0] and asking.is_after(_command(key, one.comment.created_at)):
            found.append((one, fields))
    return found[-_MOST_CLOSED:]


def words(found: Iterable[Dropped], thread_url: str) -> str:
    """What the thread is told; empty where nobody is to be told anything."""
    rows = [
        f"- [`/agent {one.command.verb}`]({thread_url}#{one.said.anchor}) of {one.said.comment.author}"
        for one in found
    ]
    if not rows:
        return ""
    head = (
        "**Not carried out.** While a run is active, GitHub queues one command for each thread, and a newer "
        "command replaces the queued one. Write it again if you still need it:"
    )
    return "\n".join([head, "", *rows])


def _command(key: str, at: str) -> Said:
    """The comment with this key, of which no more is known than when it was there."""
    number, on_lines = asking_comment(key)
    return Said(CommentData(number, "", 0, "", "", at, at), on_lines)


def _commands(said: Iterable[Said], asking: Asking) -> Iterator[Dropped]:
    for one in said:
        if one.comment.author_kind == "Bot" or not asking.is_after(one):
            continue
        command = parse_command(one.comment.body)
        if command is not None and not command.problem:
            yield Dropped(one, command)


def _fields(one: Said, kind: str, me: Account | None) -> dict[str, str]:
    """What our mark of this kind says; nothing in anybody else's comment."""
    comment = one.comment
    author = Account(comment.author, comment.author_id, comment.author_kind)
    if one.on_lines and me is not None and me.login == comment.author:
        author = me
    return dict(read_mark(comment.body, kind) or {}) if is_ours(author, me, kind) else {}
