"""The tasks to run as a matrix for Actions: `strategy: { matrix: ${{ fromJSON(...) }} }`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from bot.tasks.decide import Decision

LARGEST = 256
"""GitHub makes no more jobs of one matrix in one workflow run."""

AROUND = 30
"""Minutes that a job needs beside those of the agent: to install, to prepare the repository, to run its checks."""

MOST_MINUTES = 360
"""GitHub ends every job of its own runners then."""

_BY_HAND = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Job:
    """`name` is the entry's own among all others, and can be an artifact's. `minutes` is the job's time limit."""

    repository: str
    task: str
    name: str
    minutes: int


def matrix(decided: Iterable[tuple[str, int, Decision]]) -> tuple[list[Job], int]:
    """The jobs, those that were due first before others, and how many did not fit and wait for the next plan. The
    number beside a repository is its limit in minutes for a task that has none of its own."""
    chosen = [entry for entry in decided if entry[2].run]
    chosen.sort(key=lambda entry: entry[2].due or _BY_HAND)
    return [_job(*entry) for entry in chosen[:LARGEST]], max(0, len(chosen) - LARGEST)


def _job(repository: str, minutes: int, one: Decision) -> Job:
    limit = min(minutes, max(1, int(one.task.limits.minutes or minutes)))
    # An owner's name has no dot and a task's none, so no two entries have the same.
    name = f"{repository.replace('/', '.')}.{one.task.name}"
    return Job(repository, one.task.name, name, min(MOST_MINUTES, limit + AROUND))


def as_json(jobs: Iterable[Job], left: int = 0) -> str:
    """One line. An empty matrix is no matrix for Actions, so the workflow asks for `count` first."""
    include = [asdict(job) for job in jobs]
    planned = {"count": len(include), "left": left, "matrix": {"include": include}}
    return json.dumps(planned, separators=(",", ":"))
