"""The tasks to run as a matrix for Actions: `strategy: { matrix: ${{ fromJSON(...) }} }`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from bot.tasks.decide import Decision

LARGEST = 256
"""GitHub makes no more jobs of one matrix in one workflow run."""


@dataclass(frozen=True, slots=True)
class Job:
    repository: str
    task: str
    minutes: int


def matrix(decided: Iterable[tuple[str, int, Decision]]) -> tuple[list[Job], int]:
    """The jobs, and how many did not fit and wait for the next plan. Repositories take turns, so that one with
    many tasks does not crowd the others out. The number beside a repository is its limit in minutes for a task
    that has none of its own."""
    by_repository: dict[str, list[Job]] = {}
    for repository, minutes, one in decided:
        if one.run:
            limit = min(minutes, max(1, int(one.task.limits.minutes or minutes)))
            by_repository.setdefault(repository, []).append(Job(repository, one.task.name, limit))
    in_turns: list[Job] = []
    while any(by_repository.values()):
        in_turns += [jobs.pop(0) for jobs in by_repository.values() if jobs]
    return in_turns[:LARGEST], max(0, len(in_turns) - LARGEST)


def as_json(jobs: Iterable[Job]) -> str:
    """One line. An empty matrix is no matrix for Actions, so the workflow asks for `count` first."""
    include = [{"repository": job.repository, "task": job.task, "minutes": job.minutes} for job in jobs]
    return json.dumps({"count": len(include), "matrix": {"include": include}}, separators=(",", ":"))
