"""`slash-agent maintain`: what is due in which repository, and the dashboard that says how each task stands.

Reads only, but for the dashboard. One repository that cannot be read, or one task's file that is wrong, is said
and does not keep the others from their tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Protocol

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.request import Tier
from bot.contracts.threads import IssueData, RepositoryData
from bot.github.values import Account, CommitData, PullData
from bot.intake.nearest import nearest
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.schema import Policy
from bot.publish.thread.markers import PULL_REQUEST, is_ours, mark, marked, read_mark
from bot.run.last_look import LastLook
from bot.tasks import dashboard, decide
from bot.tasks.decide import Decision
from bot.tasks.file import is_task_file, read_task
from bot.tasks.state import EndedPull, OpenPull, RepositoryState, gather
from bot.tasks.task import FOLDER, Task
from bot.tasks.turns import Turn, turns

Say = Callable[[str], None]

MOST_PULLS = 300
"""Newest pull requests that are looked through for those of tasks: three requests."""

_DASHBOARD = "dashboard"
_LABEL = "maintenance"


class MaintenanceHost(Protocol):
    """What maintenance asks of GitHub. See `bot.github.client.GitHub` for each method."""

    def me(self) -> Account | None: ...
    def repository(self, repository: str) -> RepositoryData: ...
    def file(self, repository: str, path: str, ref: str) -> str | None: ...
    def folder(self, repository: str, path: str, ref: str) -> list[str]: ...
    def pulls(self, repository: str, state: str = "open", base: str = "") -> Iterator[PullData]: ...
    def pull_commits(self, repository: str, number: int) -> list[CommitData]: ...
    def issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = (), creator: str = ""
    ) -> Iterator[IssueData]: ...
    def create_issue(
        self, repository: str, *, title: str, body: str, labels: Sequence[str] = ()
    ) -> IssueData: ...
    def edit_issue(
        self, repository: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> None: ...


HostOf = Callable[[str], MaintenanceHost]
"""The client for a repository. Raises an `AgentError` where there is no token that reaches it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`tasks` by name are started by hand; none named means what the schedule says. Times in UTC."""

    repositories: tuple[str, ...]
    now: datetime
    last: LastLook
    tasks: tuple[str, ...] = ()
    policy_file: str = POLICY_FILE


@dataclass(frozen=True, slots=True)
class Look:
    """One repository as it is now, and what is to be done about its tasks."""

    repository: str
    decided: tuple[Decision, ...]
    state: RepositoryState
    minutes: int


def look_at_all(asked: Asked, host_of: HostOf, warn: Say) -> list[Look]:
    """One look at each repository whose turn it is. What is wrong is said, and keeps no other repository from its
    tasks. Raises the first `AgentError` when no repository could be read."""
    looks: list[Look] = []
    failed: list[AgentError] = []
    for turn in _turns(asked):
        try:
            looks.append(look_at(turn, asked, host_of(turn.repository), warn))
        except AgentError as error:
            failed.append(error)
            warn(f"{turn.repository}: {error}")
    if failed and not looks:
        raise failed[0]
    return looks


def _turns(asked: Asked) -> list[Turn]:
    if asked.tasks:
        return [Turn(repository, asked.last.at, asked.now) for repository in asked.repositories]
    return turns(asked.repositories, asked.last.at, asked.now)


def look_at(turn: Turn, asked: Asked, host: MaintenanceHost, warn: Say) -> Look:
    """Raises an `AgentError` where GitHub or the policy cannot be read, or no task has a name that was asked for."""
    repository = turn.repository
    branch = host.repository(repository).default_branch
    policy = load_policy(host.file(repository, asked.policy_file, branch), asked.policy_file)
    tasks = _tasks(repository, branch, host, warn)
    if asked.tasks:
        _check_names(asked.tasks, tasks)
    state = _state(repository, host, policy) if tasks else RepositoryState()
    if asked.tasks:
        decided = decide.chosen(tasks, asked.tasks, state)
    else:
        runs = policy.tiers[Tier.SCHEDULE].runs_a_day
        caps = decide.Caps(policy.maintenance, runs, asked.last.begun(repository))
        decided = decide.decide_all(
            tasks.values(), state, caps, repository=repository, now=turn.until,
            since=lambda task: asked.last.of(repository, task, turn.since),
        )  # fmt: skip
    return Look(repository, tuple(decided), state, _minutes(policy))


def put_dashboards(looks: Iterable[Look], host_of: HostOf, now: datetime, say: Say, warn: Say) -> None:
    """See `put_dashboard`. Raises the first `AgentError` when no dashboard could be kept."""
    failed: list[AgentError] = []
    kept = False
    for look in looks:
        try:
            say(f"{look.repository}: {put_dashboard(look, host_of(look.repository), now)}")
            kept = True
        except AgentError as error:
            failed.append(error)
            warn(f"{look.repository}: {error}")
    if failed and not kept:
        raise failed[0]


def put_dashboard(look: Look, host: MaintenanceHost, now: datetime) -> str:
    """Make the repository's dashboard say how its tasks stand. Returns what was done, in words; without tasks and
    without a dashboard there is none to keep."""
    text = dashboard.render(look.decided, look.state, repository=look.repository, now=now)
    body = marked(text, mark(_DASHBOARD))
    existing = _dashboard(look.repository, host)
    if existing is None:
        if not look.decided:
            return "no tasks, no dashboard"
        made = host.create_issue(look.repository, title=dashboard.TITLE, body=body, labels=[_LABEL])
        return f"dashboard #{made.number} opened"
    if existing.body.replace("\r\n", "\n").strip() == body.strip():
        return f"dashboard #{existing.number} is up to date"
    host.edit_issue(look.repository, existing.number, body=body)
    return f"dashboard #{existing.number} brought up to date"


def _dashboard(repository: str, host: MaintenanceHost) -> IssueData | None:
    me = host.me()
    for issue in host.issues(repository, labels=[_LABEL]):
        ours = issue.author == me.login if me else issue.author_kind == "Bot"
        if ours and read_mark(issue.body, _DASHBOARD) is not None:
            return issue
    return None


def _tasks(repository: str, branch: str, host: MaintenanceHost, say: Say) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for name in sorted(host.folder(repository, FOLDER, branch)):
        if not is_task_file(name):
            continue
        path = f"{FOLDER}/{name}"
        try:
            task = read_task(host.file(repository, path, branch) or "", path)
        except UsageError as error:
            say(f"{repository}: {error}")
            continue
        tasks[task.name] = task
    return tasks


def _check_names(names: Iterable[str], tasks: dict[str, Task]) -> None:
    for name in names:
        if name not in tasks:
            close = f"; the nearest is `{nearest(name, sorted(tasks))}`" if tasks else ""
            raise UsageError(f"There is no task `{name[:60]}` in {FOLDER}{close}.")


def _state(repository: str, host: MaintenanceHost, policy: Policy) -> RepositoryState:
    """From the newest pull requests: those with our mark, by us, that name a task."""
    me = host.me()
    opened: list[tuple[str, OpenPull]] = []
    ended: list[tuple[str, EndedPull]] = []
    for pull in islice(host.pulls(repository, state="all"), MOST_PULLS):
        task = (read_mark(pull.body, PULL_REQUEST) or {}).get("task", "")
        if not task or not is_ours(pull.author, me, PULL_REQUEST):
            continue
        if pull.state == "open":
            touched = _touched(repository, pull, host, policy.identity.email)
            opened.append((task, OpenPull(pull.number, pull.url, touched)))
        else:
            at = datetime.fromisoformat(pull.merged_at or pull.closed_at)
            ended.append((task, EndedPull(pull.number, at, merged=bool(pull.merged_at))))
    return gather(opened, ended)


def _touched(repository: str, pull: PullData, host: MaintenanceHost, email: str) -> bool:
    """The mark names the commit that we put there. Where it is older than the branch, the commits tell."""
    if (read_mark(pull.body, PULL_REQUEST) or {}).get("head") == pull.head_sha:
        return False
    commits = host.pull_commits(repository, pull.number)
    return any({commit.author_email, commit.committer_email} != {email} for commit in commits)


def _minutes(policy: Policy) -> int:
    limits = [
        policy.tiers[Tier.SCHEDULE].minutes,
        *([policy.budget.minutes] if policy.budget.minutes else []),
    ]
    return max(1, int(min(limits)))


def utc_now() -> datetime:
    return datetime.now(UTC)
