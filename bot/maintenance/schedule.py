"""The schedule of a task: five cron fields in UTC, or one of four words.

GitHub drops scheduled runs at the full hour, so a word such as `daily` maps to a fixed time of day that is derived from
repository and task.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from bot.policy.field_types import problem

WORDS = ("hourly", "daily", "weekly", "monthly")
_DAYS = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")


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
    return next(CronSim(cron(schedule, key), now + timedelta(seconds=1), reverse=True))


def schedule_words(schedule: str, key: str) -> str:
    """Return in words when a task with this schedule runs, in UTC."""
    if not schedule:
        return "by hand"
    fields = cron(schedule, key)
    minute, hour, day, _, weekday = fields.split()
    if schedule == "hourly":
        return f"hourly at minute {minute}"
    at = f"at {hour:>02}:{minute:>02} UTC"
    return {
        "daily": f"daily {at}",
        "weekly": f"{_DAYS[int(weekday)] if weekday.isdecimal() else ''} {at}",
        "monthly": f"on day {day} of each month {at}",
    }.get(schedule, f"`{fields}` (UTC)")


def checked_schedule(schedule: str) -> str:
    """Return `schedule` with single spaces. Raises a `problem` if it is invalid."""
    fields = schedule.split()
    schedule = " ".join(fields)
    if schedule in WORDS:
        return schedule
    if len(fields) != 5:
        raise problem(f"expected five cron fields, or one of {', '.join(WORDS)}")
    try:
        CronSim(schedule, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise problem(f"not a cron expression: {error}") from error
    return schedule
