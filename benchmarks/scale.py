"""What maintenance of many repositories costs: a day of schedules, API calls, runners and minutes, simulated.

    python -m benchmarks.scale

The schedules are the program's own (`bot.maintenance.task` and `turns`): each repository has the shipped tasks,
whose words are scattered by name. What a look costs is held to by a test; what one run costs in time and money is an
assumption, given below; GitHub's limits are its documented ones. Nothing is random, so the tables in docs/scale.md can
be compared with what this prints.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.maintenance.due_tasks import MOST_JOBS, SHORT_LIST
from bot.maintenance.schedule import cron

TASKS = {
    "dead-links": "weekly",
    "documentation-drift": "weekly",
    "changelog": "weekly",
    "flaky-tests": "monthly",
    "stale-triage": "daily",
    "update-dependencies": "",
}

LOOK_CALLS = 12
"""API calls of one look at one repository: itself, policy, folder, the six shipped tasks, pull requests, who we are."""
LIST_CALLS = 3
"""Of a plan, however long its list: the last scheduled run, its jobs, the day's bundles."""
TOKEN_CALLS = 2
"""Of an app, for each repository and job: its installation and a token."""
RUN_CALLS = 12
"""Of a whole run with its pull request: the most that one may make."""
RUN_WRITES = 4

RUN_MINUTES = 8
RUN_USD = 0.4
AROUND_MINUTES = 1
"""Of a job that plans, publishes or keeps the dashboard: GitHub counts whole minutes of each job."""
MINUTE_USD = 0.008
"""Of a runner with two cores, in a private repository, beyond what the plan includes."""

TOKEN_CALLS_AN_HOUR = 1_000
WRITES_AN_HOUR = 500
"""GitHub's limits: Actions' own token by repository, content that one account may make."""
AT_ONCE = 4
"""`max-parallel` of the shipped workflow: jobs of one matrix at once."""

DAY = datetime(2026, 11, 23, tzinfo=UTC)


def app_calls_an_hour(repositories: int) -> int:
    """What GitHub grants an App's installation: more for each repository over twenty, up to an end."""
    return min(12_500, 5_000 + 50 * max(0, repositories - 20))


@dataclass(frozen=True)
class Day:
    """One day of `repositories`. Calls and writes are those of the busiest hour; `waited` is the longest that a run
    waited for a runner, in minutes, and `busiest` the most runners in use at once, each repository for itself.

    `entries` is the fullest matrix of a central plan, before it is cut to what one holds, and `lanes` how long its
    last entry waits for its turn there, in hours. Minutes are those of all jobs in a day.
    """

    repositories: int
    runs: int
    own_calls: int
    central_calls: int
    central_writes: int
    entries: int
    lanes: float
    busiest: int
    waited: float
    own_minutes: int
    central_minutes: int

    @property
    def usd(self) -> float:
        return self.runs * RUN_USD


def simulate(repositories: int, runners: int) -> Day:
    """The Monday of DAY, with a look each hour. `runners` is how many jobs run at once."""
    due = sorted(_due(repositories))
    by_repository_hour = Counter((start.hour, repository) for start, repository in due)
    hours_with_runs = len(by_repository_hour)
    looks = _looks(repositories)
    entries = _entries(repositories, due)
    busiest, waited = _queue([start for start, _ in due], runners)
    fullest = max(entries.values(), default=0)
    # The dashboard's job looks a second time where something was due.
    central = max(
        LIST_CALLS * 2
        + looks[hour] * 2 * (LOOK_CALLS + TOKEN_CALLS)
        + min(MOST_JOBS, entries[hour]) * (RUN_CALLS + 2 * TOKEN_CALLS)
        for hour in range(24)
    )
    own = LIST_CALLS * 2 + LOOK_CALLS * 2 + RUN_CALLS * max(by_repository_hour.values(), default=0)
    run_minutes = len(due) * (RUN_MINUTES + AROUND_MINUTES)
    looking = sum(-(-count * 2 // 60) for count in looks.values())
    return Day(
        repositories=repositories,
        runs=len(due),
        own_calls=own,
        central_calls=central,
        central_writes=min(MOST_JOBS, fullest) * RUN_WRITES,
        entries=fullest,
        lanes=-(-min(MOST_JOBS, fullest) // AT_ONCE) * RUN_MINUTES / 60,
        busiest=busiest,
        waited=waited,
        own_minutes=run_minutes + (24 * repositories + hours_with_runs) * AROUND_MINUTES,
        central_minutes=run_minutes + 2 * max(24, looking) * AROUND_MINUTES,
    )


def _looks(repositories: int) -> Counter[int]:
    """Repositories that a central plan looks at, by the hour: all of a short list, of a long one those in turn."""
    if repositories <= SHORT_LIST:
        return Counter(dict.fromkeys(range(24), repositories))
    return Counter(_turn(number) for number in range(repositories))


def _entries(repositories: int, due: Sequence[tuple[datetime, int]]) -> Counter[int]:
    """Tasks that a central plan starts, by the hour: of a long list at the repository's turn, not at their own time."""
    if repositories <= SHORT_LIST:
        return Counter(start.hour for start, _ in due)
    return Counter(_turn(number) for _, number in due)


def _turn(number: int) -> int:
    return int(cron("daily", f"owner/repository-{number}").split()[1])


def _due(repositories: int) -> Iterator[tuple[datetime, int]]:
    """When tasks are due on DAY. Read from the cron line by hand: a hundred thousand cron parsers would be slow."""
    for number in range(repositories):
        for task, word in TASKS.items():
            if not word:
                continue
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

CALLS = (
    "repositories", "runs a day", "calls, each for itself", "calls, centrally", "writes, centrally",
    "fullest matrix, centrally", "its last entry waits",
)  # fmt: skip
COSTS = (
    "repositories", "runners, most at once", "longest wait", "minutes a day, each for itself", "centrally",
    "USD a day, each for itself", "centrally", "model, USD a day",
)  # fmt: skip


def tables(sizes: Sequence[tuple[int, int]] = SIZES) -> str:
    """Markdown, as docs/scale.md has it."""
    days = [(simulate(repositories, runners), runners) for repositories, runners in sizes]
    calls = [
        f"| {day.repositories:,} | {day.runs:,} | {day.own_calls} of {TOKEN_CALLS_AN_HOUR:,} "
        f"| {day.central_calls:,} of {app_calls_an_hour(day.repositories):,} "
        f"| {day.central_writes:,} of {WRITES_AN_HOUR} | {day.entries:,} of {MOST_JOBS} | {day.lanes:.1f} h |"
        for day, _ in days
    ]
    costs = [
        f"| {day.repositories:,} | {day.busiest} of {runners} | {day.waited:.0f} min "
        f"| {day.own_minutes:,} | {day.central_minutes:,} "
        f"| {day.own_minutes * MINUTE_USD:,.0f} | {day.central_minutes * MINUTE_USD:,.0f} | {day.usd:,.0f} |"
        for day, runners in days
    ]
    return "\n".join([*_head(CALLS), *calls, "", *_head(COSTS), *costs])


def _head(columns: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"| {' | '.join(['---:'] * len(columns))} |"]


if __name__ == "__main__":
    print(tables())
