"""A maintenance task as a value: what its file says, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bot.contracts.request import Verb
from bot.contracts.writes import WriteCaps
from bot.policy.schema import Budget, CheckSpec

FOLDER = ".github/agent"


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """The threads that a task is shown. `labels`: those that have all of them; `without`: none of these.

    `idle_days` is for how long nothing may have happened on one but by this bot; 0 asks for nothing. Those that
    carry a label which the task may set are shown whatever has happened on them since.
    """

    state: Literal["open", "closed"] = "open"
    kind: Literal["issues", "pulls", "all"] = "issues"
    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    idle_days: int = 0
    limit: int = 30


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """What a task may write on the threads that it is shown. `labels` are those that it may set and take off.

    It closes only what it commented on `close_after_days` ago or longer and nothing has happened on since.
    """

    caps: WriteCaps = field(default_factory=WriteCaps)
    labels: tuple[str, ...] = ()
    close_after_days: int = 14


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is the file's, without `.md`. `schedule` is one that `bot.tasks.schedule` knows, empty for a task
    that is only started by hand. `paths` are the only ones that its pull request may change, empty for all;
    `checks` are run beside the policy's, and `bring` are folders beside the policy's. `verbs` are what may be
    done with it; the schedule does the first. With `writes` it changes no file: it looks at `threads` and writes
    there.
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
        """Whether what comes of it is a pull request."""
        return self.writes is None
