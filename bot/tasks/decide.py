"""Whether a task runs now: pure, from its file, the clock and what GitHub shows of it.

The order is that of what people would want to hear: not due, in the hands of people, closed by people, over the
cap. A closed pull request is a "no" that is remembered: each further one in a row doubles the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.policy.schema import MaintenancePolicy
from bot.tasks.schedule import last_due
from bot.tasks.state import RepositoryState, TaskState
from bot.tasks.task import Task

LONGEST_BACK_OFF_DAYS = 180


@dataclass(frozen=True, slots=True)
class Decision:
    """`why` is one sentence, also for a task that runs. `pull` is the open pull request it refreshes, or 0; `due` is
    when its schedule had it last, `None` for one that somebody starts by hand."""

    task: Task
    run: bool
    why: str
    pull: int = 0
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """`runs_a_day` is how often the schedule may start something in the repository in a day of UTC, and `begun` how
    often it did today."""

    maintenance: MaintenancePolicy
    runs_a_day: int
    begun: int = 0


def decide_all(
    tasks: Iterable[Task],
    state: RepositoryState,
    caps: Caps,
    *,
    repository: str,
    since: Callable[[str], datetime],
    now: datetime,
) -> list[Decision]:
    """One decision a task, by name. `since` gives the last look at a task: it is due if it was due after that. Times
    in UTC.

    The cap on pull requests counts what is open and what this plan may open. Those that wait the longest go first.
    """
    by_due: list[Decision] = []
    for task in tasks:
        due = last_due(task.schedule, f"{repository}/{task.name}", now) if task.schedule else None
        by_due.append(_decide(task, state.of(task.name), caps.maintenance, due, since(task.name), now))
    room = max(0, caps.maintenance.open_pulls - state.open_pulls)
    runs = max(0, caps.runs_a_day - caps.begun)
    decided: list[Decision] = []
    for one in sorted(by_due, key=lambda one: (one.due or now, one.task.name)):
        if one.run and not runs:
            one = _waiting(one, f"Today's {caps.runs_a_day} runs by the schedule are used up.")
        elif one.run and _opens_one(one) and not room:
            most = caps.maintenance.open_pulls
            one = _waiting(one, f"There are or will be {most} open pull requests of tasks, the most allowed.")
        elif one.run:
            runs -= 1
            room -= 1 if _opens_one(one) else 0
        decided.append(one)
    return sorted(decided, key=lambda one: one.task.name)


def _opens_one(one: Decision) -> bool:
    """Whether a further pull request may come of it."""
    return one.task.opens_pulls and not one.pull


def _waiting(one: Decision, why: str) -> Decision:
    return replace(one, run=False, why=why)


def chosen(tasks: Mapping[str, Task], names: Iterable[str], state: RepositoryState) -> list[Decision]:
    """For tasks that a person started by name: schedule, back-off and cap are theirs to overrule, and commits of
    people on an open pull request are not."""
    return [_by_hand(tasks[name], state.of(name)) for name in names]


def _decide(
    task: Task,
    state: TaskState,
    caps: MaintenancePolicy,
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
    if in_hands := _in_hands(task, state):
        return replace(in_hands, due=due)
    if rejected := state.rejected:
        wait = min(caps.back_off_days * 2 ** (len(rejected) - 1), LONGEST_BACK_OFF_DAYS)
        until = rejected[0].at + timedelta(days=wait)
        if now < until:
            closed = ", ".join(f"#{pull.number}" for pull in rejected[:3])
            why = f"People closed {closed}: it waits until {until:%Y-%m-%d}."
            return Decision(task, False, why, due=due)
    return replace(_go(task, state, f"It was due at {due:%Y-%m-%d %H:%M} UTC."), due=due)


def _by_hand(task: Task, state: TaskState) -> Decision:
    return _in_hands(task, state) or _go(task, state, "Somebody started it by hand.")


def _in_hands(task: Task, state: TaskState) -> Decision | None:
    touched = next((pull for pull in state.open if pull.touched), None)
    if touched is None:
        return None
    return Decision(
        task, False, f"People have committed to #{touched.number}: it is theirs until it is closed."
    )


def _go(task: Task, state: TaskState, why: str) -> Decision:
    return Decision(task, True, why, state.open[0].number if state.open else 0)
