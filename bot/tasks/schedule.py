"""When a task is due: five cron fields in UTC, or one of four words whose minute is scattered.

Everybody who writes `0 3 * * *` wakes GitHub at the same minute, and the minute after an hour is where its
schedules are dropped; so `daily` means a time of day that is each repository's own, the same every day.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

WORDS = ("hourly", "daily", "weekly", "monthly")


def flaw(schedule: str) -> str:
    """Why `schedule` is none, in words; empty when it is one."""
    if schedule in WORDS:
        return ""
    if len(schedule.split()) != 5:
        return f"expected five cron fields, or one of {', '.join(WORDS)}"
    try:
        CronSim(schedule, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        return f"not a cron expression: {error}"
    return ""


def cron(schedule: str, key: str) -> str:
    """`schedule` as five cron fields; `key` (repository and task) says where a word's time is scattered to."""
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
    """The newest moment not after `now` at which the task was due. `now` is in UTC."""
    return next(CronSim(cron(schedule, key), now + timedelta(seconds=1), reverse=True))


def next_due(schedule: str, key: str, now: datetime) -> datetime:
    """The first moment after `now` at which the task will be due."""
    return next(CronSim(cron(schedule, key), now))
