"""When a schedule was last seen to, by what Actions knows of the workflow's earlier runs: nothing is kept elsewhere.

A plan that had more to do than one matrix holds leaves a job behind whose name says so, and the jobs beside it say
what was done. So the next plan takes up the rest. The bundles of today tell how often something was begun today.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Protocol

from bot.github.values import ArtifactData, JobData, WorkflowRunData

FIRST_LOOK = timedelta(hours=1)
"""How far back the first plan looks, when no run before it is known."""

# As in .github/workflows/maintenance.yml; before it stands the caller's job where the workflow is called.
_FULL = re.compile(r"(?:.* / )?More is due than a matrix holds")
_ENTRY = re.compile(r"(?:.* / )?Run (\S+): (\S+)")
_BUNDLE = re.compile(r"slash-agent-bundle-(.+)\.[a-z0-9-]+")
_SEEN_TO = ("success", "failure")
_BEGUN = (*_SEEN_TO, "timed_out")
# Pages of 100 that are looked at for today's.
_MOST_ARTIFACTS = 2_000
# A day of plans that were all full. What is older is given up.
_MOST_RUNS = 24


class RunHost(Protocol):
    def workflow_runs(
        self, repository: str, workflow: str = "", event: str = "", created: str = "", status: str = ""
    ) -> Iterator[WorkflowRunData]: ...
    def jobs(self, repository: str, run_id: int) -> Iterator[JobData]: ...
    def all_artifacts(self, repository: str) -> Iterator[ArtifactData]: ...


@dataclass(frozen=True, slots=True)
class LastLook:
    """Everything was seen to that was due until `at`, and a task of a repository until `later` says, in UTC. `today`
    is how many tasks were begun today, by repository with a dot for its slash."""

    at: datetime
    later: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    today: Mapping[str, int] = field(default_factory=dict)

    def begun(self, repository: str) -> int:
        """How many tasks of a repository were begun today."""
        return self.today.get(repository.replace("/", "."), 0)

    def of(self, repository: str, task: str, since: datetime) -> datetime:
        """The last look at one task; `since` is that at its repository."""
        return max(since, self.later.get((repository, task), since))


def last_look(repository: str, workflow: str, this_run: int, host: RunHost, now: datetime) -> LastLook:
    """From the newest scheduled runs of `workflow` before this one that came to an end: one that was cancelled, or
    never began, saw to nothing. Three requests, more after a plan that was full or on a day with many tasks."""
    at = now - FIRST_LOOK
    later: dict[tuple[str, str], datetime] = {}
    ended = (
        run
        for run in host.workflow_runs(repository, workflow, event="schedule", status="completed")
        if run.id != this_run and run.conclusion in _SEEN_TO
    )
    for run in islice(ended, _MOST_RUNS):
        at = datetime.fromisoformat(run.created_at)
        jobs = list(host.jobs(repository, run.id))
        if not any(_FULL.fullmatch(job.name) and job.conclusion == "success" for job in jobs):
            break
        for job in jobs:
            entry = _ENTRY.fullmatch(job.name)
            if entry and job.conclusion in _BEGUN:
                later.setdefault((entry[1], entry[2]), at)
    return LastLook(at, later, _begun_today(repository, host, now))


def _begun_today(repository: str, host: RunHost, now: datetime) -> Counter[str]:
    midnight = f"{now:%Y-%m-%d}T00:00:00Z"
    newest = islice(host.all_artifacts(repository), _MOST_ARTIFACTS)
    names = [_BUNDLE.fullmatch(one.name) for one in takewhile(lambda one: one.created_at >= midnight, newest)]
    return Counter(name[1] for name in names if name)
