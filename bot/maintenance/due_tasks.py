"""Decide which tasks run now, from their files, the clock and their pull requests; list them as a matrix.

Reasons are checked in this order: not due, an open pull request with commits of people, back-off after a closed pull
request, caps. Each further closed pull request in a row doubles the wait.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import Any, NamedTuple

from bot.contracts.request import Tier
from bot.maintenance.schedule import last_due
from bot.maintenance.task import Task
from bot.policy.settings import Policy

LONGEST_BACK_OFF_DAYS = 180


class OpenPull(NamedTuple):
    """An open pull request of a task. `touched`: somebody other than the bot has committed to it."""

    number: int
    head_sha: str = ""
    touched: bool = False


class EndedPull(NamedTuple):
    """A pull request of a task that was merged, or closed by people."""

    at: datetime
    number: int
    merged: bool = False


class TaskState(NamedTuple):
    """The pull requests of a task, those that ended newest first."""

    open: Sequence[OpenPull] = ()
    ended: Sequence[EndedPull] = ()

    @property
    def touched(self) -> OpenPull | None:
        """One that people have committed to."""
        return next((pull for pull in self.open if pull.touched), None)

    def back_off(self, days: int) -> tuple[datetime, str] | None:
        """Return until when the task waits after closed pull requests and which these are; `None` without any."""
        rejected = list(takewhile(lambda one: not one.merged, self.ended))  # since the last merged one
        if not rejected:
            return None
        wait = min(days * 2 ** (len(rejected) - 1), LONGEST_BACK_OFF_DAYS)
        return rejected[0].at + timedelta(days=wait), ", ".join(f"#{pull.number}" for pull in rejected[:3])


RepositoryState = Mapping[str, TaskState]
"""Task states by name. A task without an entry has never had a pull request."""

NO_PULLS = TaskState()


class Decision(NamedTuple):
    """`why` is one sentence, also for a task that runs. `pull` is the number of the open pull request to refresh, or 0.
    `due` is when the schedule last started the task, `None` for a manual start."""

    task: Task
    run: bool
    why: str
    pull: int = 0
    due: datetime | None = None


class Start(StrEnum):
    """What starts a task, as a sentence: its own schedule, that of a workflow that names it, its checkbox on the
    dashboard, or somebody by hand. A checkbox overrules a back-off, and no cap: it may stay set if the dashboard cannot
    be edited."""

    SCHEDULE = "It was due at {:%Y-%m-%d %H:%M} UTC."
    WORKFLOW = "The schedule of a workflow started it."
    TICK = "Somebody ticked it on the dashboard."
    HAND = "Somebody started it by hand."


class RemainingCaps:
    """What the caps of `policy` leave: `runs` by the schedule in the repository this UTC day, and how many `pulls`
    of tasks may be opened. Each decision takes its part."""

    def __init__(self, policy: Policy, state: RepositoryState, started_today: int = 0) -> None:
        self.state = state
        self.policy, self.runs_a_day = policy.maintenance, policy.tiers[Tier.SCHEDULE].runs_a_day
        self.runs = self.runs_a_day - started_today
        self.pulls = self.policy.open_pulls - sum(len(one.open) for one in state.values())

    def decide(self, task: Task, start: Start, now: datetime, due: datetime | None = None) -> Decision:
        """Decide whether a task runs now: the one decision of the plan, of a workflow that names a task, and of a start
        by hand. `due` is when it was last due, if that was after the last look."""
        state = self.state.get(task.name, NO_PULLS)
        if waits := self._blocked(task, state, start, now):
            return Decision(task, False, waits, due=due)
        self.runs -= 1
        self.pulls -= task.opens_pulls and not state.open
        return Decision(task, True, start.format(due), state.open[0].number if state.open else 0, due)

    def _blocked(self, task: Task, state: TaskState, start: Start, now: datetime) -> str:
        """Return why a task that was started has to wait; empty if it runs."""
        if state.touched:
            return f"People have committed to #{state.touched.number}: it is theirs until it is closed."
        if start is Start.HAND:
            return ""
        back_off = None if start is Start.TICK else state.back_off(self.policy.back_off_days)
        if back_off and now < back_off[0]:
            return f"People closed {back_off[1]}: it waits until {back_off[0]:%Y-%m-%d}."
        if self.runs <= 0:
            return f"The daily limit of {self.runs_a_day} scheduled runs is used up."
        if task.opens_pulls and not state.open and self.pulls <= 0:
            return f"There are or will be {self.policy.open_pulls} open pull requests of tasks, the most allowed."
        return ""


def decide_all(
    tasks: Iterable[Task],
    room: RemainingCaps,
    *,
    repository: str,
    since: Callable[[str], datetime],
    now: datetime,
    started: Mapping[str, Start],
) -> list[Decision]:
    """Return one decision per task, sorted by name. `since` returns the time of the last plan for a task: the task is
    due if its schedule fell after that. Those that people `started` run whatever their schedule. Times are
    in UTC.

    The cap on pull requests counts open ones and those that this plan may open. Tasks due earliest go first.
    """

    def last_due_of(task: Task) -> datetime | None:
        return last_due(task.schedule, f"{repository}/{task.name}", now) if task.schedule else None

    decisions: list[Decision] = []
    for task in sorted(tasks, key=lambda task: (last_due_of(task) or now, task.name)):
        due, seen = last_due_of(task), since(task.name)
        if start := started.get(task.name):
            decision = room.decide(task, start, now)
        elif due is None:
            decision = Decision(task, False, "It has no schedule: somebody starts it by hand.")
        elif due <= seen:
            why = f"It was due at {due:%Y-%m-%d %H:%M} UTC, before the last look at {seen:%Y-%m-%d %H:%M}."
            decision = Decision(task, False, why, due=due)
        else:
            decision = room.decide(task, Start.SCHEDULE, now, due)
        decisions.append(decision)
    return sorted(decisions, key=lambda decision: decision.task.name)


SHORT_LIST = 100
"""A list of up to this many repositories is planned as a whole each time; a longer one, each repository once a day at
a time of its own. Planning costs some ten API calls per repository."""

_DAY = timedelta(days=1)


class DueWindow(NamedTuple):
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


def matrix(entries: Iterable[tuple[str, int, Decision]]) -> dict[str, Any]:
    """Return the plan for Actions: the jobs of the matrix, earliest due first, their number, and that of those left for
    the next plan. `entries` are (repository, default limit in minutes, decision)."""
    due = [entry for entry in entries if entry[2].run]
    due.sort(key=lambda entry: entry[2].due or _NO_DUE_DATE)
    jobs = []
    for repository, minutes, decision in due[:MOST_JOBS]:
        name, own = decision.task.name, decision.task.limits.minutes
        limit = min(minutes, max(1, int(own or minutes)))
        jobs.append(
            {
                "repository": repository,
                "task": name,
                # An artifact's name too. An owner's name has no dot and a task's none, so no two jobs have the same.
                "name": f"{repository.replace('/', '.')}.{name}",
                "minutes": min(MOST_JOB_MINUTES, limit + JOB_OVERHEAD_MINUTES),
            }
        )
    # Actions rejects an empty matrix, so the workflow checks `count` first.
    return {"count": len(jobs), "left": len(due) - len(jobs), "matrix": {"include": jobs}}
