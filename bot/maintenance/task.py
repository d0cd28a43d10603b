"""A maintenance task as a value, and its schedule: five cron fields in UTC, or one of four words.

GitHub drops scheduled runs at the full hour, so a word such as `daily` maps to a fixed time of day that is derived from
repository and task. cronsim is imported when a time is computed: every run imports this module.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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


WORDS = ("hourly", "daily", "weekly", "monthly")


def schedule_error(schedule: str) -> str:
    """Return why `schedule` is invalid, or an empty string."""
    if schedule in WORDS:
        return ""
    if len(schedule.split()) != 5:
        return f"expected five cron fields, or one of {', '.join(WORDS)}"
    from cronsim import CronSim, CronSimError

    try:
        CronSim(schedule, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return f"not a cron expression: {error}"
    return ""


def cron(schedule: str, key: str) -> str:
    """Return `schedule` as five cron fields. `key` (repository and task) determines the time of a word."""
    if schedule not in WORDS:
        return schedule
    spread = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    minute, hour = spread % 60, spread // 60 % 24
    day, weekday = spread // 1440 % 28 + 1, spread // 1440 % 7
    return {
        "hourly": f"{minute} * * * *",
        "daily": f"{minute} {hour} * * *",
        "weekly": f"{minute} {hour} * * {weekday}",
        "monthly": f"{minute} {hour} {day} * *",
    }[schedule]


def last_due(schedule: str, key: str, now: datetime) -> datetime:
    """Return the last due time that is not after `now` (UTC)."""
    from cronsim import CronSim

    return next(CronSim(cron(schedule, key), now + timedelta(seconds=1), reverse=True))


def next_due(schedule: str, key: str, now: datetime) -> datetime:
    """Return the first due time after `now` (UTC)."""
    from cronsim import CronSim

    return next(CronSim(cron(schedule, key), now))
