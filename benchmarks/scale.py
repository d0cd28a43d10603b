"""What maintenance of many repositories costs: a day of schedules, API calls and runners, simulated.

    python -m benchmarks.scale

The schedules are the program's own (`bot.tasks.schedule`): each repository has the shipped tasks, whose words are
scattered by name. What one plan and one run cost are measured figures, given below; GitHub's limits are its
documented ones. Nothing is random, so the table in docs/scale.md can be compared with what this prints.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.tasks.schedule import cron

TASKS = {
    "dead-links": "weekly",
    "documentation-drift": "weekly",
    "changelog": "weekly",
    "flaky-tests": "monthly",
}

PLAN_CALLS = 9
"""API calls of one plan of one repository: policy, folder, four tasks, open and closed pull requests, last run."""
RUN_CALLS = 12
"""API calls of a whole run with its pull request: the most that one may make."""
RUN_WRITES = 4
RUN_MINUTES = 8
RUN_USD = 0.4

TOKEN_CALLS_AN_HOUR = 1_000
APP_CALLS_AN_HOUR = 12_500
WRITES_AN_HOUR = 500
"""GitHub's limits: Actions' own token by repository, an App by installation, content that one account may make."""

DAY = datetime(2026, 11, 23, tzinfo=UTC)


@dataclass(frozen=True)
class Day:
    """One day of `repositories`. Calls and writes are those of the busiest hour; `waited` is the longest that a run
    waited for a runner, in minutes, and `busiest` the most runners in use at once."""

    repositories: int
    runs: int
    own_calls: int
    central_calls: int
    central_writes: int
    busiest: int
    waited: float
    usd: float


def simulate(repositories: int, runners: int) -> Day:
    """The Monday of DAY. `runners` is how many jobs run at once; a task's job takes one for RUN_MINUTES."""
    starts = sorted(_due(repositories))
    by_hour = Counter(start.hour for start, _ in starts)
    by_repository_hour = Counter((start.hour, repository) for start, repository in starts)
    plans_an_hour = -(-repositories // 24)
    busiest_hour = max(by_hour.values(), default=0)
    busiest, waited = _queue([start for start, _ in starts], runners)
    return Day(
        repositories=repositories,
        runs=len(starts),
        own_calls=PLAN_CALLS + RUN_CALLS * max(by_repository_hour.values(), default=0),
        central_calls=plans_an_hour * PLAN_CALLS + busiest_hour * RUN_CALLS,
        central_writes=busiest_hour * RUN_WRITES,
        busiest=busiest,
        waited=waited,
        usd=len(starts) * RUN_USD,
    )


def _due(repositories: int) -> Iterator[tuple[datetime, int]]:
    """When tasks are due on DAY. Read from the cron line by hand: a hundred thousand cron parsers would be slow."""
    for number in range(repositories):
        for task, word in TASKS.items():
            minute, hour, day, _, weekday = cron(word, f"owner/repository-{number}/{task}").split()
            on_this_day = day in ("*", str(DAY.day)) and weekday in ("*", str(DAY.isoweekday() % 7))
            if on_this_day:
                yield DAY + timedelta(hours=int(hour), minutes=int(minute)), number


def _queue(starts: Sequence[datetime], runners: int) -> tuple[int, float]:
    """First come, first served: the most runners in use, and the longest wait in minutes."""
    ends: list[datetime] = []
    busiest, waited = 0, timedelta()
    for start in starts:
        while ends and ends[0] <= start:
            heapq.heappop(ends)
        begin = start if len(ends) < runners else heapq.heappop(ends)
        waited = max(waited, begin - start)
        heapq.heappush(ends, begin + timedelta(minutes=RUN_MINUTES))
        busiest = max(busiest, len(ends))
    return busiest, waited.total_seconds() / 60


SIZES = ((10, 20), (1_000, 60), (100_000, 500))
"""Repositories, and the jobs at once of the plan that somebody with so many has."""


COLUMNS = (
    "repositories", "runs a day", "calls in the busiest hour, each for itself", "centrally", "writes, centrally",
    "runners, most at once", "longest wait", "model, USD a day",
)  # fmt: skip


def table() -> str:
    """Markdown, as docs/scale.md has it."""
    rows = [
        f"| {' | '.join(COLUMNS)} |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for repositories, runners in SIZES:
        day = simulate(repositories, runners)
        rows.append(
            f"| {repositories:,} | {day.runs:,} | {day.own_calls} of {TOKEN_CALLS_AN_HOUR:,} "
            f"| {day.central_calls:,} of {APP_CALLS_AN_HOUR:,} | {day.central_writes:,} of {WRITES_AN_HOUR} "
            f"| {day.busiest} of {runners} | {day.waited:.0f} min | {day.usd:,.0f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
