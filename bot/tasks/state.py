"""What GitHub shows of a task: its pull requests, found by mark and author, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class OpenPull:
    """A task's open pull request. `touched` is true once anybody but the bot has committed to it."""

    number: int
    url: str
    touched: bool


@dataclass(frozen=True, slots=True)
class EndedPull:
    """One that was merged, or closed without."""

    number: int
    at: datetime
    merged: bool


@dataclass(frozen=True, slots=True)
class TaskState:
    open: tuple[OpenPull, ...] = ()
    ended: tuple[EndedPull, ...] = ()

    @property
    def rejected(self) -> tuple[EndedPull, ...]:
        """Those closed without merging since the last merged one, newest first."""
        newest_first = sorted(self.ended, key=lambda pull: pull.at, reverse=True)
        merged = next((n for n, pull in enumerate(newest_first) if pull.merged), len(newest_first))
        return tuple(newest_first[:merged])


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Tasks by name; one without an entry has never had a pull request."""

    tasks: Mapping[str, TaskState] = field(default_factory=dict)

    def of(self, task: str) -> TaskState:
        return self.tasks.get(task, TaskState())

    @property
    def open_pulls(self) -> int:
        return sum(len(state.open) for state in self.tasks.values())


def gather(opened: Iterable[tuple[str, OpenPull]], ended: Iterable[tuple[str, EndedPull]]) -> RepositoryState:
    """Pull requests by their task's name, as they come."""
    tasks: dict[str, tuple[list[OpenPull], list[EndedPull]]] = {}
    for name, one in opened:
        tasks.setdefault(name, ([], []))[0].append(one)
    for name, gone in ended:
        tasks.setdefault(name, ([], []))[1].append(gone)
    return RepositoryState({name: TaskState(tuple(a), tuple(b)) for name, (a, b) in tasks.items()})
