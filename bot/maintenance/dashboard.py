"""Render the dashboard: one issue with a row for each task, whose checkbox starts it. The results of runs that leave no
pull request are kept in its text, in our mark. Pure: the text changes only with a fact.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from bot.contracts.formatting import count_of, money
from bot.maintenance.due_tasks import NO_PULLS, Decision, RepositoryState, TaskState
from bot.maintenance.task import FOLDER, schedule_words
from bot.policy.values import MaintenancePolicy

TITLE = "Maintenance by Slash Agent"

_INTRODUCTION = f"""\
The tasks of this repository are the files in [`{FOLDER}`](../tree/HEAD/{FOLDER}). Tick a task to start it with the \
next look of the maintenance workflow, within the hour. Close this issue to have no dashboard; reopen it to have it \
again.
"""
_TICKED = re.compile(r"^- \[[xX]\] \[`([a-z0-9-]{1,50})`\]", re.MULTILINE)
_WORDS = {
    "changed": "changed files",
    "no_change": "nothing to do",
    "answered": "done",
    "partial": "not finished",
    "failed": "**failed**",
    "refused": "**refused**",
    "needs_input": "a question is open",
}
FAILED = frozenset({"failed", "refused", "partial"})


class LastResult(NamedTuple):
    """The last run of a task: `status` of its outcome, the day (`2026-11-22`), the cost in USD, the number of the
    Actions run (0 if unknown), how many files and writes on threads were held back, and how many writes were made."""

    status: str
    day: str
    cost: float = 0.0
    run: int = 0
    held: int = 0
    made: int = 0


class RepositoryPlan(NamedTuple):
    """State of one repository and the decisions on its tasks. `minutes` limits a job. `broken` are the task files that
    cannot be read: by path the first problem, as `path:line:column: message`."""

    repository: str
    decisions: tuple[Decision, ...]
    state: RepositoryState
    minutes: int
    broken: Mapping[str, str] = MappingProxyType({})
    policy: MaintenancePolicy = MaintenancePolicy()


def ticked_tasks(body: str) -> tuple[str, ...]:
    """Return the tasks whose checkbox is set in the dashboard. Who may write in the repository may edit an issue."""
    return tuple(dict.fromkeys(_TICKED.findall(body)))


def render_dashboard(plan: RepositoryPlan, results: Mapping[str, LastResult], home: str = "..") -> str:
    """Return the body of the dashboard issue, as Markdown. `home` is the address of the repository with the runs."""
    wrong = [
        f"- [`{path}`](../blob/HEAD/{quote(path)}), line {problem.removeprefix(f'{path}:')}"
        for path, problem in plan.broken.items()
    ]
    rows: list[str] = []
    for decision in plan.decisions:
        task = decision.task
        link = f"[`{task.name}`](../blob/HEAD/{FOLDER}/{task.name}.md)"
        state = plan.state.get(task.name, NO_PULLS)
        rows.append(f"- [ ] {link}: {_next(decision, state, plan.policy, plan.repository)}")
        rows += _facts(state, results.get(task.name), home)
    parts = [_INTRODUCTION.strip()]
    if wrong:
        parts += ["## Task files that cannot be read", "\n".join(wrong)]
    parts += ["## Tasks", "\n".join(rows) or "There is no task."]
    return "\n\n".join(parts) + "\n"


def _facts(state: TaskState, result: LastResult | None, home: str) -> list[str]:
    lines = []
    if result is not None:
        run = f" in [this run]({home}/actions/runs/{result.run})" if result.run else ""
        held = f", {count_of(result.made, 'write')} made" if result.made else ""
        held += f", **{result.held} held back**" if result.held else ""
        word = _WORDS.get(result.status, result.status)
        lines.append(f"  - last: {word}{run} on {result.day}, {money(result.cost)}{held}")
    if state.open:
        pulls = ", ".join(
            f"#{one.number}{' (people have committed to it)' if one.touched else ''}" for one in state.open
        )
        lines.append(f"  - open: {pulls}")
    for at, newest in state.ended[:1]:
        lines.append(f"  - {'merged' if newest.merged else 'closed'}: #{newest.number} on {at:%Y-%m-%d}")
    return lines


def _next(decision: Decision, state: TaskState, policy: MaintenancePolicy, repository: str) -> str:
    """Return what is next, without a time that passes: the schedule, or what the task waits for."""
    task = decision.task
    when = schedule_words(task.schedule, f"{repository}/{task.name}")
    if touched := next((pull for pull in state.open if pull.touched), None):
        return f"waits until #{touched.number} is closed"
    if not task.schedule:
        return when
    if policy.back_off_days and (back_off := state.back_off(policy.back_off_days)):
        return f"{when}, but not before {back_off[0]:%Y-%m-%d}, since people closed {back_off[1]}"
    return when
