"""A maintenance task as a value, read from its file and validated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bot.contracts.request import Verb
from bot.contracts.writes import WriteCaps
from bot.policy.values import Budget, CheckSpec

FOLDER = ".github/agent"


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """The threads in a task's context. A thread has all of `labels` and none of `without`.

    `idle_days`: days without activity other than the bot's; 0 for no condition. Threads with a label that the task may
    set match regardless of activity.
    """

    state: Literal["open", "closed"] = "open"
    kind: Literal["issues", "pulls", "all"] = "issues"
    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    idle_days: int = 0
    limit: int = 30


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """What a task may write on its threads. `labels` are those that it may add and remove.

    It closes a thread only `close_after_days` after its own comment, without activity since.
    """

    caps: WriteCaps = field(default_factory=WriteCaps)
    labels: tuple[str, ...] = ()
    close_after_days: int = 14


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the file name without `.md`. `schedule` is empty for a task that only people start. `paths` are the
    globs that its pull request may change, empty for all. `checks` and `bring` are added to those of the policy.
    `verbs` are the allowed verbs; the schedule uses the first. A task with `writes` changes no file: it writes on
    `threads`.
    """

    name: str
    instruction: str
    schedule: str = ""
    verbs: tuple[Verb, ...] = (Verb.FIX,)
    checks: tuple[CheckSpec, ...] = ()
    paths: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    limits: Budget = field(default_factory=Budget)
    bring: tuple[str, ...] = ()
    threads: ThreadFilter | None = None
    writes: TaskWrites | None = None

    @property
    def verb(self) -> Verb:
        return self.verbs[0]

    @property
    def opens_pulls(self) -> bool:
        """Whether its result is a pull request."""
        return self.writes is None
