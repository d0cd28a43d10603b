"""`slash-agent maintain`: the due tasks of each repository, and the dashboard with the state of each task.

Writes nothing but the dashboard. A repository that cannot be read and an invalid task file are reported, and the others
are planned.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import islice, takewhile
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from bot.agent.first_message import LastRun
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.nearest import nearest
from bot.contracts.request import Tier
from bot.github.client import GitHub
from bot.maintenance.due_tasks import (
    NO_PULLS,
    Decision,
    DueWindow,
    EndedPull,
    OpenPull,
    RemainingCaps,
    RepositoryState,
    Start,
    TaskState,
    decide_all,
    due_windows,
)
from bot.maintenance.task import FOLDER, Task, is_task_file, read_task
from bot.parsing.parser import Parser
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.settings import Policy
from bot.publish.own_pulls import is_untouched, own_pull
from bot.publish.writes import count_made
from bot.session.event.dashboard import LastResult, RepositoryPlan, Results, find_dashboard, ticked_tasks
from bot.session.event.earlier_run import read_finished

Say = Callable[[str], None]

MOST_PULLS = 300
"""Newest pull requests that are looked through for those of tasks: three requests."""

_TO_UPDATE = (
    "Its change is in the work tree. Keep what is still right, add what is missing, and undo all of it if nothing of "
    "it is needed any more."
)

_OfRepository = TypeVar("_OfRepository", DueWindow, RepositoryPlan)
_Done = TypeVar("_Done")
HostOf = Callable[[str], GitHub]
"""Returns the client for a repository. Raises `AgentError` if no token reaches it."""


class MaintenanceRun(NamedTuple):
    """`tasks` are names of tasks started by hand; without any, the schedule decides. Times are in UTC."""

    repositories: tuple[str, ...]
    now: datetime
    last: LastPlan
    tasks: tuple[str, ...] = ()
    policy_file: str = POLICY_FILE


def plan_repositories(run: MaintenanceRun, host_of: HostOf, warn: Say) -> list[RepositoryPlan]:
    """Plan each repository that is due, as `for_each` does."""
    windows = [DueWindow(repository, run.last.at, run.now) for repository in run.repositories]
    if not run.tasks:
        windows = due_windows(run.repositories, run.last.at, run.now)
    return for_each(windows, lambda one: plan_repository(one, run, host_of(one.repository), warn), warn)


def for_each(
    windows: Iterable[_OfRepository], do: Callable[[_OfRepository], _Done], warn: Say
) -> list[_Done]:
    """An error in one repository is reported and does not stop the others. Raises the first `AgentError` if nothing
    was done."""
    done: list[_Done] = []
    errors: list[AgentError] = []
    for one in windows:
        try:
            done.append(do(one))
        except AgentError as error:
            errors.append(error)
            warn(f"{one.repository}: {error}")
    if errors and not done:
        raise errors[0]
    return done


def plan_repository(window: DueWindow, run: MaintenanceRun, host: GitHub, warn: Say) -> RepositoryPlan:
    """Plan one repository. Raises `AgentError` if GitHub or the policy cannot be read, or a requested task does not
    exist."""
    repository = window.repository
    with Parser() as parser:
        policy = load_policy(
            host.file(run.policy_file, host.repository.default_branch), run.policy_file, parser
        )
        tasks, broken = _tasks(host, parser, run.tasks)
    for error in broken.values():
        warn(f"{repository}: {error}")
    state = _state(host, policy) if tasks else {}
    existing = None if run.tasks or not tasks else find_dashboard(host)
    ticked = ticked_tasks(existing.body) if existing and existing.state == "open" else ()
    decisions = decide_all(
        [tasks[name] for name in run.tasks] if run.tasks else tasks.values(),
        RemainingCaps(policy, state, run.last.started(repository)),
        repository=repository,
        now=window.until,
        since=lambda task: run.last.of(repository, task, window.since),
        started=dict.fromkeys(ticked, Start.TICK) | dict.fromkeys(run.tasks, Start.HAND),
    )
    wrong = {f"{FOLDER}/{name}.md": str(error).splitlines()[0] for name, error in broken.items()}
    own = policy.tiers[Tier.SCHEDULE].minutes
    minutes = max(1, int(min(own, policy.budget.minutes or own)))
    return RepositoryPlan(repository, tuple(decisions), state, minutes, wrong, policy.maintenance)


def decide_now(name: str, host: GitHub, policy: Policy, start: Start, now: datetime) -> Decision:
    """Decide on a task that a job was started for without a plan. Raises `UsageError` for one that is not there, and
    `PolicyError` for one that cannot be read."""
    with Parser() as parser:
        tasks, _ = _tasks(host, parser, (name,))
    # The day's runs are counted by the workflow's own.
    return RemainingCaps(policy, _state(host, policy)).decide(tasks[name], start, now)


def open_pull_of(name: str, host: GitHub, policy: Policy) -> LastRun | None:
    """Return the task's open pull request as the run to continue, if it is the bot's own still."""
    for pull in _state(host, policy).get(name, NO_PULLS).open:
        if not pull.touched:
            what = f"the pull request #{pull.number} of this task, which is open"
            return LastRun(what, _TO_UPDATE, head_sha=pull.head_sha)
    return None


def _tasks(
    host: GitHub, parser: Parser, names: Iterable[str]
) -> tuple[dict[str, Task], dict[str, PolicyError]]:
    """Return the tasks, and the errors of files that cannot be read, both by name. Raises the error of one of `names`,
    and `UsageError` if there is none of this name."""
    tasks: dict[str, Task] = {}
    broken: dict[str, PolicyError] = {}
    branch = host.repository.default_branch
    for file in sorted(host.folder(FOLDER, branch)):
        if not is_task_file(file):
            continue
        path, name = f"{FOLDER}/{file}", file.removesuffix(".md")
        try:
            tasks[name] = read_task(host.file(path, branch) or "", path, parser)
        except PolicyError as error:
            broken[name] = error
    for name in names:
        if name in broken:
            raise broken[name]
        if name not in tasks:
            near = nearest(name, sorted(tasks))
            close = f"; the nearest is `{near}`" if near else ""
            raise UsageError(f"There is no task `{name[:60]}` in {FOLDER}{close}.")
    return tasks, broken


def _state(host: GitHub, policy: Policy) -> RepositoryState:
    """From the newest pull requests: those with our mark, by us, that name a task."""
    me = host.me
    opened, ended = defaultdict[str, list[OpenPull]](list), defaultdict[str, list[EndedPull]](list)
    for pull in islice(host.pulls(state="all"), MOST_PULLS):
        own = own_pull(pull, me)
        if own is None or not own.task:
            continue
        if pull.state == "open":
            is_touched = not is_untouched(host, own, policy.identity)
            opened[own.task].append(OpenPull(pull.number, pull.head.sha, is_touched))
        elif (at := pull.closed_at) and (pull.merged_at or "obsolete" not in own.fields):
            # An obsolete one was closed by us, and is nobody's "no".
            ended[own.task].append(EndedPull(at, pull.number, bool(pull.merged_at)))
    tasks = opened.keys() | ended.keys()
    return {task: TaskState(opened[task], sorted(ended[task], reverse=True)) for task in tasks}


def run_results(github: GitHub, run: int, now: datetime, host_of: HostOf) -> Results:
    """Return what became of the tasks that this workflow run started, in its repository: by their bundles, or by their
    jobs if they have none. A bundle is untrusted: of it count status, cost, the number of withheld files, and how many
    of its writes GitHub has."""
    day = f"{now:%Y-%m-%d}"
    results: dict[tuple[str, str], LastResult] = {}
    for job in github.jobs(run):
        if (entry := _ENTRY.fullmatch(job.name)) and job.conclusion in _STARTED:
            results[entry[1], entry[2]] = LastResult("failed", day, run=run)
    for artifact in github.artifacts(run):
        # By the name that `matrix` gives its job.
        names = {
            f"slash-agent-bundle-{name.replace('/', '.')}.{task}": (name, task) for name, task in results
        }
        key = names.get(artifact.name)
        if key and (bundle := read_finished(github, artifact)):
            outcome, done = bundle.outcome, count_made(bundle, key[0], host_of)
            proposed = len(bundle.writes.writes) if bundle.writes else 0
            held = len(outcome.withheld) + proposed - done
            results[key] = LastResult(outcome.status.value, day, outcome.cost, run, held, done)
    return results


FIRST_WINDOW = timedelta(hours=1)
"""How far back the first plan looks, when no run before it is known."""

# As in .github/workflows/maintenance.yml; before it stands the caller's job where the workflow is called.
_FULL = re.compile(r"(?:.* / )?More is due than a matrix holds")
_ENTRY = re.compile(r"(?:.* / )?Run (\S+): (\S+)")
_BUNDLE = re.compile(r"slash-agent-bundle-(.+)\.[a-z0-9-]+")
_PLANNED = ("success", "failure")
_STARTED = (*_PLANNED, "timed_out")
# Pages of 100 that are looked at for today's.
_MOST_ARTIFACTS = 2_000
# A day of plans that were all full. What is older is given up.
_MOST_RUNS = 24


class LastPlan(NamedTuple):
    """Everything was seen to that was due until `at`, and a task of a repository until `later` says, in UTC. `today`
    is how many tasks were begun today, by repository with a dot for its slash."""

    at: datetime
    later: Mapping[tuple[str, str], datetime] = MappingProxyType({})
    today: Mapping[str, int] = MappingProxyType({})

    def started(self, repository: str) -> int:
        """How many tasks of a repository were begun today."""
        return self.today.get(repository.replace("/", "."), 0)

    def of(self, repository: str, task: str, since: datetime) -> datetime:
        """The last look at one task; `since` is that at its repository."""
        return max(since, self.later.get((repository, task), since))


def last_plan(workflow: str, this_run: int, host: GitHub, now: datetime) -> LastPlan:
    """From the newest scheduled runs of `workflow` before this one that came to an end: one that was cancelled, or
    never began, saw to nothing. Three requests, more after a plan that was full or on a day with many tasks."""
    at = now - FIRST_WINDOW
    later: dict[tuple[str, str], datetime] = {}
    ended = (
        run
        for run in host.workflow_runs(workflow, event="schedule", status="completed")
        if run.id != this_run and run.conclusion in _PLANNED
    )
    for run in islice(ended, _MOST_RUNS):
        at = run.created_at
        jobs = list(host.jobs(run.id))
        if not any(_FULL.fullmatch(job.name) and job.conclusion == "success" for job in jobs):
            break
        for job in jobs:
            entry = _ENTRY.fullmatch(job.name)
            if entry and job.conclusion in _STARTED:
                later.setdefault((entry[1], entry[2]), at)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    newest = islice(host.all_artifacts(), _MOST_ARTIFACTS)
    names = [_BUNDLE.fullmatch(one.name) for one in takewhile(lambda one: one.created_at >= midnight, newest)]
    return LastPlan(at, later, Counter(name[1] for name in names if name))
