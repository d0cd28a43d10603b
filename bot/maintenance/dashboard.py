"""Render the dashboard issue, which lists the state of each task. The text changes only when a state changes, so that
subscribers get no empty notifications."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.maintenance.due_tasks import Decision, RepositoryState, TaskState
from bot.maintenance.schedule import cron, next_due
from bot.maintenance.task import FOLDER, Task

TITLE = "Maintenance by Slash Agent"

_INTRODUCTION = f"""\
The tasks of this repository are the files in [`{FOLDER}`](../tree/HEAD/{FOLDER}); this page is kept up to date by
the maintenance workflow. To start one by hand, run that workflow and name the task.
"""


def render(decisions: Iterable[Decision], state: RepositoryState, *, repository: str, now: datetime) -> str:
    """Return the issue body as Markdown. `now` is in UTC."""
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
