"""Decide which tasks run now, from their files, the clock and their pull requests; list them as a matrix and on the
dashboard.

Reasons are checked in this order: not due, an open pull request with commits of people, back-off after a closed pull
request, caps. Each further closed pull request in a row doubles the wait.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.maintenance.task import FOLDER, Task, cron, last_due, next_due
from bot.policy.values import MaintenancePolicy


@dataclass(frozen=True, slots=True)
class OpenPull:
    """A task's open pull request. `touched`: somebody other than the bot has committed to it."""

    number: int
    url: str
    touched: bool


@dataclass(frozen=True, slots=True)
class EndedPull:
    """A task's pull request that was merged or closed."""

    number: int
    at: datetime
    merged: bool


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


LONGEST_BACK_OFF_DAYS = 180


@dataclass(frozen=True, slots=True)
class Decision:
    """`why` is one sentence, also for a task that runs. `pull` is the number of the open pull request to refresh, or 0.
    `due` is when the schedule last started the task, `None` for a manual start."""

    task: Task
    run: bool
    why: str
    pull: int = 0
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """`runs_a_day`: how many tasks the schedule may start in the repository per UTC day."""

    maintenance: MaintenancePolicy
    runs_a_day: int
    started_today: int = 0


def decide_all(
    tasks: Iterable[Task],
    state: RepositoryState,
    caps: Caps,
    *,
    repository: str,
    since: Callable[[str], datetime],
    now: datetime,
) -> list[Decision]:
    """Return one decision per task, sorted by name. `since` returns the time of the last plan for a task: the task is
    due if its schedule fell after that. Times are in UTC.

    The cap on pull requests counts open ones and those that this plan may open. Tasks due earliest go first.
    """
    by_due: list[Decision] = []
    for task in tasks:
        due = last_due(task.schedule, f"{repository}/{task.name}", now) if task.schedule else None
        by_due.append(
            _decide(task, state.of(task.name), caps.maintenance, due=due, since=since(task.name), now=now)
        )
    pulls_left = max(0, caps.maintenance.open_pulls - state.open_pulls)
    runs_left = max(0, caps.runs_a_day - caps.started_today)
    decisions: list[Decision] = []
    for decision in sorted(by_due, key=lambda decision: (decision.due or now, decision.task.name)):
        if decision.run and not runs_left:
            decision = _postponed(decision, f"Today's {caps.runs_a_day} runs by the schedule are used up.")
        elif decision.run and _opens_pull(decision) and not pulls_left:
            limit = caps.maintenance.open_pulls
            decision = _postponed(
                decision, f"There are or will be {limit} open pull requests of tasks, the most allowed."
            )
        elif decision.run:
            runs_left -= 1
            pulls_left -= 1 if _opens_pull(decision) else 0
        decisions.append(decision)
    return sorted(decisions, key=lambda decision: decision.task.name)


def _opens_pull(decision: Decision) -> bool:
    return decision.task.opens_pulls and not decision.pull


def _postponed(decision: Decision, why: str) -> Decision:
    return replace(decision, run=False, why=why)


def decide_manual(tasks: Mapping[str, Task], names: Iterable[str], state: RepositoryState) -> list[Decision]:
    """Decide tasks that a person started by name. Schedule, back-off and caps do not apply; an open pull request with
    commits of people still holds a task back."""
    return [_decide_manual_start(tasks[name], state.of(name)) for name in names]


def _decide(
    task: Task,
    state: TaskState,
    caps: MaintenancePolicy,
    *,
    due: datetime | None,
    since: datetime,
    now: datetime,
) -> Decision:
    if due is None:
        return Decision(task, False, "It has no schedule: somebody starts it by hand.")
    if due <= since:
        return Decision(
            task, False, f"It was last due at {due:%Y-%m-%d %H:%M} UTC, and that has been seen to.", due=due
        )
    if decision := _blocked_by_people(task, state):
        return replace(decision, due=due)
    if rejected := state.rejected:
        wait = min(caps.back_off_days * 2 ** (len(rejected) - 1), LONGEST_BACK_OFF_DAYS)
        until = rejected[0].at + timedelta(days=wait)
        if now < until:
            closed = ", ".join(f"#{pull.number}" for pull in rejected[:3])
            why = f"People closed {closed}: it waits until {until:%Y-%m-%d}."
            return Decision(task, False, why, due=due)
    return replace(_run_now(task, state, f"It was due at {due:%Y-%m-%d %H:%M} UTC."), due=due)


def _decide_manual_start(task: Task, state: TaskState) -> Decision:
    return _blocked_by_people(task, state) or _run_now(task, state, "Somebody started it by hand.")


def _blocked_by_people(task: Task, state: TaskState) -> Decision | None:
    touched = next((pull for pull in state.open if pull.touched), None)
    if touched is None:
        return None
    return Decision(
        task, False, f"People have committed to #{touched.number}: it is theirs until it is closed."
    )


def _run_now(task: Task, state: TaskState, why: str) -> Decision:
    return Decision(task, True, why, state.open[0].number if state.open else 0)


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


DASHBOARD_TITLE = "Maintenance by Slash Agent"

_INTRODUCTION = f"""\
The tasks of this repository are the files in [`{FOLDER}`](../tree/HEAD/{FOLDER}); this page is kept up to date by
the maintenance workflow. To start one by hand, run that workflow and name the task.
"""


def render_dashboard(
    decisions: Iterable[Decision], state: RepositoryState, *, repository: str, now: datetime
) -> str:
    """Return the body of the dashboard issue, as Markdown. `now` is in UTC. The text changes only when a state changes,
    so that subscribers get no empty notifications."""
    rows = [
        f"| {_link(task)} | {_schedule(task, repository, now)} | {_state(decision, state.of(task.name))} |"
        for decision in decisions
        for task in [decision.task]
    ]
    table = ["| Task | Schedule (UTC) | State |", "| --- | --- | --- |", *rows]
    return "\n".join([_INTRODUCTION, *table]) + "\n"


def _link(task: Task) -> str:
    return f"[{task.name}](../blob/HEAD/{FOLDER}/{task.name}.md)"


def _schedule(task: Task, repository: str, now: datetime) -> str:
    if not task.schedule:
        return "by hand"
    key = f"{repository}/{task.name}"
    following = next_due(task.schedule, key, now)
    return f"`{cron(task.schedule, key)}`, next {following:%Y-%m-%d %H:%M}"


def _state(decision: Decision, state: TaskState) -> str:
    parts = [
        f"#{pull.number} is open{' and in the hands of people' if pull.touched else ''}"
        for pull in state.open
    ]
    newest = max(state.ended, key=lambda pull: pull.at, default=None)
    if newest is not None:
        word = "merged" if newest.merged else "closed"
        parts.append(f"#{newest.number} was {word} on {newest.at:%Y-%m-%d}")
    if not decision.run and state.rejected and not state.open:
        parts.append(decision.why.rstrip("."))
    return "; ".join(parts) or "nothing open"
