"""The dashboard of maintenance: one issue with a row for each task, whose checkbox starts it. The results of runs that
leave no pull request are kept in its text, in our mark.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from bot.github.client import GitHub
from bot.github.values import IssueData
from bot.maintenance.due_tasks import NO_PULLS, Decision, RepositoryState, TaskState
from bot.maintenance.schedule import schedule_words
from bot.maintenance.task import FOLDER, Task
from bot.policy.triggers import MaintenancePolicy
from bot.publish.macros import macros_of
from bot.publish.thread.history import opened_by_us
from bot.publish.thread.markers import mark, marked, read_mark
from bot.session.event.event_context import TEMPLATES

TITLE = "Maintenance by Slash Agent"

_TICKED = re.compile(r"^- \[[xX]\] \[`([a-z0-9-]{1,50})`\]", re.MULTILINE)
_KIND = "dashboard"
_LABEL = "maintenance"


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
    broken: Mapping[str, str]
    policy: MaintenancePolicy = MaintenancePolicy()


def ticked_tasks(body: str) -> tuple[str, ...]:
    """Return the tasks whose checkbox is set in the dashboard. Who may write in the repository may edit an issue."""
    return tuple(dict.fromkeys(_TICKED.findall(body)))


def render_dashboard(plan: RepositoryPlan, results: Mapping[str, LastResult], home: str) -> str:
    """Return the body of the dashboard issue, as Markdown. `home` is the address of the repository with the runs. It
    changes only with a fact."""
    rows = []
    for decision in plan.decisions:
        name = decision.task.name
        state = plan.state.get(name, NO_PULLS)
        rows.append((name, _next(plan, decision.task, state), state, results.get(name)))
    return str(macros_of("dashboard", TEMPLATES).dashboard(FOLDER, plan.broken, rows, home))


def _next(plan: RepositoryPlan, task: Task, state: TaskState) -> str:
    """Return what is next, without a time that passes: the schedule, or what the task waits for."""
    when = schedule_words(task.schedule, f"{plan.repository}/{task.name}")
    if state.touched:
        return f"waits until #{state.touched.number} is closed"
    if not task.schedule:
        return when
    if back_off := state.back_off(plan.policy.back_off_days):
        return f"{when}, but not before {back_off[0]:%Y-%m-%d}, since people closed {back_off[1]}"
    return when


Results = Mapping[tuple[str, str], LastResult]
"""The results of this workflow run, by repository and task."""


def put_dashboard(repository_plan: RepositoryPlan, host: GitHub, results: Results, home: str) -> str:
    """Update the repository's dashboard and return what was done, after the repository's name. `home` is the address of
    the repository with the workflow's runs. Without tasks and without a dashboard nothing is written, nor if the policy
    or whoever closed the issue wants none."""
    repository = repository_plan.repository
    if not repository_plan.policy.dashboard:
        return f"{repository}: the policy wants no dashboard"
    existing = find_dashboard(host)
    if existing is not None and existing.state != "open":
        return f"{repository}: dashboard #{existing.number} is closed: reopen it to have it again"
    fields = (existing and read_mark(existing.body, _KIND)) or {}
    matches = filter(None, map(_ENTRY.fullmatch, fields.get("last", "").split(".")))
    known = {
        one[1]: LastResult(one[2], one[3], int(one[4]) / 10_000, int(one[5]), int(one[6]), int(one[7] or 0))
        for one in matches
    }
    known |= {task: result for (name, task), result in results.items() if name.lower() == repository.lower()}
    names = {decision.task.name for decision in repository_plan.decisions}
    known = {task: known[task] for task in sorted(known.keys() & names)}
    text = render_dashboard(repository_plan, known, home)
    entries = (
        "/".join(map(str, (task, *one._replace(cost=round(one.cost * 10_000)))))
        for task, one in known.items()
    )
    body = marked(text, mark(_KIND, last=".".join(entries)))
    if existing is None:
        if not repository_plan.decisions and not repository_plan.broken:
            return f"{repository}: no tasks, no dashboard"
        issue = host.create_issue(title=TITLE, body=body, labels=[_LABEL])
        return f"{repository}: dashboard #{issue.number} opened"
    if existing.body.replace("\r\n", "\n").strip() == body.strip():
        return f"{repository}: dashboard #{existing.number} is up to date"
    host.edit_issue(existing.number, body=body)
    return f"{repository}: dashboard #{existing.number} brought up to date"


_ENTRY = re.compile(
    r"([a-z0-9-]+)/([a-z_]+)/([0-9-]{10})/([0-9]{1,9})/([0-9]{1,20})/([0-9]{1,9})(?:/([0-9]{1,9}))?"
)
"""One of the results in the mark of a dashboard; the cost is in hundredths of a cent."""


def find_dashboard(host: GitHub) -> IssueData | None:
    """Return the newest one, which people may have closed."""
    for issue in host.issues(state="all", labels=[_LABEL]):
        if opened_by_us(issue, host.me) and read_mark(issue.body, _KIND) is not None:
            return issue
    return None
