"""The threads that a maintenance task is shown, as GitHub had them when the run began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.contracts.comments import Comment


@dataclass(frozen=True, slots=True)
class ThreadState:
    """Where a thread stands. Times are RFC 3339 in UTC.

    `quiet_since` is when something last happened on it that was not this bot's; `told_at` when the task last commented
    on it, empty where it never did; `answered` whether something has happened since then.
    """

    number: int
    is_pull_request: bool
    state: Literal["open", "closed"]
    locked: bool
    labels: tuple[str, ...]
    quiet_since: str
    told_at: str = ""

    @property
    def answered(self) -> bool:
        return bool(self.told_at) and self.quiet_since > self.told_at


@dataclass(frozen=True, slots=True)
class TriageThread:
    """One thread with as much of its text as there is room for: `comments` are the newest ones."""

    state: ThreadState
    title: str
    body: str
    author: str
    created_at: str
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True)
class Triage:
    """`at` is when this was read. `left_out` says in words what is missing and why."""

    at: str
    threads: tuple[TriageThread, ...]
    left_out: tuple[str, ...] = ()
