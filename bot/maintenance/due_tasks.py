"""Decide which tasks run now, from their files, the clock and their pull requests; list them as a matrix.

Reasons are checked in this order: not due, an open pull request with commits of people, back-off after a closed pull
request, caps. Each further closed pull request in a row doubles the wait.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from bot.maintenance.task import Task, last_due
from bot.policy.values import MaintenancePolicy

LONGEST_BACK_OFF_DAYS = 180


@dataclass(frozen=True, slots=True)
class OpenPull:
    """A task's open pull request. `touched`: somebody other than the bot has committed to it."""

    number: int
    url: str
    touched: bool
    head_sha: str = ""


@dataclass(frozen=True, slots=True)
class EndedPull:
    """A task's pull request that was merged, or closed by people."""

    number: int
    at: datetime
    merged: bool
    url: str = ""


@dataclass(frozen=True, slots=True)
class TaskState:
    open: tuple[OpenPull, ...] = ()
    ended: tuple[EndedPull, ...] = ()

    @property
    def rejected(self) -> tuple[EndedPull, ...]:
        """Pull requests closed without merging since the last merged one, newest first."""
        newest_first = sorted(self.ended, key=lambda pull: pull.at, reverse=True)
        merged = next((n for n, pull in enumerate(newest_first) if pull.merged), len(newest_first))
        return tuple(newest_first[:merged])

    def waits_until(self, back_off_days: int, now: datetime) -> datetime | None:
        """Return when the back-off after the closed pull requests ends, `None` if it has ended."""
        if not self.rejected:
            return None
        wait = min(back_off_days * 2 ** (len(self.rejected) - 1), LONGEST_BACK_OFF_DAYS)
        until = self.rejected[0].at + timedelta(days=wait)
        return until if now < until else None


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Task states by name. A task without an entry has never had a pull request."""

    tasks: Mapping[str, TaskState] = field(default_factory=dict)

    def of(self, task: str) -> TaskState:
        return self.tasks.get(task, TaskState())

    @property
    def open_pulls(self) -> int:
        return sum(len(state.open) for state in self.tasks.values())


def group_by_task(
    opened: Iterable[tuple[str, OpenPull]], ended: Iterable[tuple[str, EndedPull]]
) -> RepositoryState:
    """Group (task name, pull request) pairs by task, in their order."""
    tasks: dict[str, tuple[list[OpenPull], list[EndedPull]]] = {}
    for name, pull in opened:
        tasks.setdefault(name, ([], []))[0].append(pull)
    for name, ended_pull in ended:
        tasks.setdefault(name, ([], []))[1].append(ended_pull)
    return RepositoryState({name: TaskState(tuple(a), tuple(b)) for name, (a, b) in tasks.items()})


@dataclass(frozen=True, slots=True)
class Decision:
    """`why` is one sentence, also for a task that runs. `pull` is the number of the open pull request to refresh, or 0.
    `due` is when the schedule last started the task, `None` for a manual start."""

    task: Task
    run: bool
    why: str
    pull: int = 0
    due: datetime | None = None


class Start(StrEnum):
    """What starts a task: its own schedule, the schedule of a workflow that names it, its checkbox on the dashboard, or
    somebody by hand. A checkbox overrules a back-off, and no cap: it may stay set if the dashboard cannot be edited."""

    SCHEDULE = "schedule"
    WORKFLOW = "workflow"
    TICK = "tick"
    HAND = "hand"


@dataclass(frozen=True, slots=True)
class Caps:
    """`runs_a_day`: how many tasks the schedule may start in the repository per UTC day."""

    maintenance: MaintenancePolicy
    runs_a_day: int
    started_today: int = 0


@dataclass(frozen=True, slots=True)
class Room:
    """What the caps leave: runs by the schedule today, and pull requests of tasks that may be opened."""

    runs: int
    pulls: int

    def after(self, decision: Decision) -> Room:
        if not decision.run:
            return self
        return Room(self.runs - 1, self.pulls - _opens_pull(decision.task, decision.pull))


def room_of(caps: Caps, state: RepositoryState) -> Room:
    runs = max(0, caps.runs_a_day - caps.started_today)
    return Room(runs, max(0, caps.maintenance.open_pulls - state.open_pulls))


def decide(
    task: Task,
    state: TaskState,
    start: Start,
    caps: Caps,
    room: Room,
    *,
    now: datetime,
    due: datetime | None = None,
) -> Decision:
    """Decide whether a task runs now: the one decision of the plan, of a workflow that names a task, and of a start by
    hand. `due` is when its schedule last fell, if it was after the last look."""
    why = {
        Start.SCHEDULE: f"It was due at {due:%Y-%m-%d %H:%M} UTC." if due else "",
        Start.WORKFLOW: "The schedule of a workflow started it.",
        Start.TICK: "Somebody ticked it on the dashboard.",
        Start.HAND: "Somebody started it by hand.",
    }[start]
    pull = state.open[0].number if state.open else 0
    waits = _blocked(task, state, caps, room, start, now=now)
    return Decision(task, not waits, waits or why, 0 if waits else pull, due)


def _blocked(task: Task, state: TaskState, caps: Caps, room: Room, start: Start, *, now: datetime) -> str:
    """Return why a task that was started has to wait; empty if it runs."""
    if touched := next((pull for pull in state.open if pull.touched), None):
        return f"People have committed to #{touched.number}: it is theirs until it is closed."
    if start is Start.HAND:
        return ""
    if start is not Start.TICK and (until := state.waits_until(caps.maintenance.back_off_days, now)):
        closed = ", ".join(f"#{pull.number}" for pull in state.rejected[:3])
        return f"People closed {closed}: it waits until {until:%Y-%m-%d}."
    if not room.runs:
        return f"Today's {caps.runs_a_day} runs by the schedule are used up."
    if _opens_pull(task, state.open[0].number if state.open else 0) and not room.pulls:
        limit = caps.maintenance.open_pulls
        return f"There are or will be {limit} open pull requests of tasks, the most allowed."
    return ""


def _opens_pull(task: Task, pull: int) -> bool:
    return task.opens_pulls and not pull


def decide_all(
    tasks: Iterable[Task],
    state: RepositoryState,
    caps: Caps,
    *,
    repository: str,
    since: Callable[[str], datetime],
    now: datetime,
    started: Mapping[str, Start] | None = None,
) -> list[Decision]:
    """Return one decision per task, sorted by name. `since` returns the time of the last plan for a task: the task is
    due if its schedule fell after that. Those that people `started` run whatever their schedule. Times are
    in UTC.

    The cap on pull requests counts open ones and those that this plan may open. Tasks due earliest go first.
    """

    def fell(task: Task) -> datetime | None:
        return last_due(task.schedule, f"{repository}/{task.name}", now) if task.schedule else None

    room = room_of(caps, state)
    decisions: list[Decision] = []
    for task in sorted(tasks, key=lambda task: (fell(task) or now, task.name)):
        due, seen = fell(task), since(task.name)
        if start := (started or {}).get(task.name):
            decision = decide(task, state.of(task.name), start, caps, room, now=now)
        elif due is None:
            decision = Decision(task, False, "It has no schedule: somebody starts it by hand.")
        elif due <= seen:
            why = f"It was due at {due:%Y-%m-%d %H:%M} UTC, before the last look at {seen:%Y-%m-%d %H:%M}."
            decision = Decision(task, False, why, due=due)
        else:
            decision = decide(task, state.of(task.name), Start.SCHEDULE, caps, room, now=now, due=due)
        room = room.after(decision)
        decisions.append(decision)
    return sorted(decisions, key=lambda decision: decision.task.name)


SHORT_LIST = 100
"""A list of up to this many repositories is planned as a whole each time; a longer one, each repository once a day at
a time of its own. Planning costs some ten API calls per repository."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DueWindow:
    """A repository to plan: its tasks that fell due after `since` and not after `until`."""

    repository: str
    since: datetime
    until: datetime


def due_windows(repositories: Sequence[str], since: datetime, now: datetime) -> list[DueWindow]:
    """Return the repositories to plan now. `since` is the time of the last plan; a late plan skips no repository."""
    if len(repositories) <= SHORT_LIST:
        return [DueWindow(repository, since, now) for repository in repositories]
    windows = []
    for repository in repositories:
        due = last_due("daily", repository, now)
        if due > since:
            days = -(-(due - since) // _DAY)
            windows.append(DueWindow(repository, due - days * _DAY, due))
    return windows


MOST_JOBS = 256
"""GitHub's limit on the jobs of one matrix."""

JOB_OVERHEAD_MINUTES = 30
"""Minutes of a job beside the agent's: installation, preparation, checks."""

MOST_JOB_MINUTES = 360
"""GitHub's time limit for jobs on its own runners."""

_NO_DUE_DATE = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MatrixJob:
    """`name` is unique in the matrix and valid as an artifact name. `minutes` is the job's time limit."""

    repository: str
    task: str
    name: str
    minutes: int


def matrix(entries: Iterable[tuple[str, int, Decision]]) -> tuple[list[MatrixJob], int]:
    """Return the jobs, earliest due first, and the number of those left for the next plan. `entries` are (repository,
    default limit in minutes, decision)."""
    due = [entry for entry in entries if entry[2].run]
    due.sort(key=lambda entry: entry[2].due or _NO_DUE_DATE)
    return [_job(*entry) for entry in due[:MOST_JOBS]], max(0, len(due) - MOST_JOBS)


def _job(repository: str, minutes: int, decision: Decision) -> MatrixJob:
    limit = min(minutes, max(1, int(decision.task.limits.minutes or minutes)))
    # An owner's name has no dot and a task's none, so no two entries have the same.
    name = f"{repository.replace('/', '.')}.{decision.task.name}"
    return MatrixJob(
        repository, decision.task.name, name, min(MOST_JOB_MINUTES, limit + JOB_OVERHEAD_MINUTES)
    )


def matrix_json(jobs: Iterable[MatrixJob], left: int = 0) -> str:
    """Return one line of JSON. Actions rejects an empty matrix, so the workflow checks `count` first."""
    include = [asdict(job) for job in jobs]
    planned = {"count": len(include), "left": left, "matrix": {"include": include}}
    return json.dumps(planned, separators=(",", ":"))
