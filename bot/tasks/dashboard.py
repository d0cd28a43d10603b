"""The dashboard: one issue that says how each task stands. Its text changes only when something happened, so that
nobody is notified of nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.tasks.decide import Decision
from bot.tasks.schedule import cron, next_due
from bot.tasks.state import RepositoryState, TaskState
from bot.tasks.task import FOLDER, Task

TITLE = "Maintenance by Slash Agent"

_INTRODUCTION = f"""\
The tasks of this repository are the files in [`{FOLDER}`](../tree/HEAD/{FOLDER}); this page is kept up to date by
the maintenance workflow. To start one by hand, run that workflow and name the task.
"""


def render(decided: Iterable[Decision], state: RepositoryState, *, repository: str, now: datetime) -> str:
    """The issue's text, Markdown. `now` is in UTC."""
    rows = [
        f"| {_link(one.task)} | {_schedule(one.task, repository, now)} | {_stands(one, state.of(one.task.name))} |"
        for one in decided
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


def _stands(one: Decision, state: TaskState) -> str:
    said = [
        f"#{pull.number} is open{' and in the hands of people' if pull.touched else ''}"
        for pull in state.open
    ]
    newest = max(state.ended, key=lambda pull: pull.at, default=None)
    if newest is not None:
        word = "merged" if newest.merged else "closed"
        said.append(f"#{newest.number} was {word} on {newest.at:%Y-%m-%d}")
    if not one.run and state.rejected and not state.open:
        said.append(one.why.rstrip("."))
    return "; ".join(said) or "nothing open"
