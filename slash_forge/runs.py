"""Workflow runs, jobs, logs and artifacts. Nothing is executed: `scenario` sets the results."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from slash_forge import checks
from slash_forge.checks import CheckRun, CheckStatus, Suite

if TYPE_CHECKING:
    from slash_forge.state import Repository, State, User

FOLDER = ".github/workflows"


@dataclass(slots=True, eq=False)
class Workflow:
    """`on` has the events of the file on the default branch, with their settings."""

    id: int
    path: str
    name: str
    state: Literal["active", "disabled_manually"]
    on: Mapping[str, Any]
    created_at: str


@dataclass(frozen=True, slots=True)
class Step:
    """`log` is its output."""

    name: str
    conclusion: str = "success"
    log: str = ""


@dataclass(slots=True, eq=False)
class Job:
    """Also a check run, of the same id."""

    id: int
    run: Run
    name: str
    attempt: int
    check: CheckRun
    steps: Sequence[Step]
    labels: tuple[str, ...] = ("ubuntu-latest",)
    log_kept: bool = True


@dataclass(slots=True, eq=False)
class Run:
    """`head_repository` is the fork for a run on the fork's pull request."""

    id: int
    workflow: Workflow
    number: int
    event: str
    branch: str | None
    sha: str
    title: str
    actor: User
    suite: Suite
    head_repository: Repository
    created_at: str
    updated_at: str
    status: CheckStatus = "queued"
    conclusion: str | None = None
    attempt: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Artifact:
    id: int
    run: Run
    name: str
    data: bytes
    created_at: str
    expired: bool = False


# -- workflows


def workflows(state: State, repository: Repository) -> list[Workflow]:
    """The workflows on the default branch, and those that have run."""
    tip = repository.git.branch(repository.default_branch)
    if tip is not None:
        folder = repository.git.entry(tip, FOLDER)
        for entry in repository.git.tree(folder.sha) if folder else []:
            if entry.path.endswith((".yml", ".yaml")):
                _read(state, repository, f"{FOLDER}/{entry.path}", repository.git.blob(entry.sha))
    return list(repository.workflows.values())


def _read(state: State, repository: Repository, path: str, content: bytes) -> None:
    name, on = parse_workflow(path, content)
    known = repository.workflows.get(path)
    if known is None:
        repository.workflows[path] = Workflow(state.next_id(), path, name, "active", on, state.now())
    else:
        known.name, known.on = name, on


def parse_workflow(path: str, content: bytes) -> tuple[str, Mapping[str, Any]]:
    """A workflow file's name and events; for an invalid file its path and no events."""
    import yaml

    try:
        document = yaml.safe_load(content)
    except yaml.YAMLError:
        document = None
    if not isinstance(document, dict):
        return path, {}
    # YAML reads a bare `on` as true.
    on = document.get("on", document.get(True))
    if isinstance(on, str):
        on = [on]
    events = dict.fromkeys(on) if isinstance(on, list) else on if isinstance(on, dict) else {}
    return str(document.get("name") or path), events


def workflow_at(state: State, repository: Repository, path: str, name: str) -> Workflow:
    """The workflow of that file, added if there is none."""
    workflows(state, repository)
    if path not in repository.workflows:
        repository.workflows[path] = Workflow(state.next_id(), path, name, "active", {}, state.now())
    return repository.workflows[path]


def find_workflow(state: State, repository: Repository, name: str) -> Workflow | None:
    """By id or by the file's name."""
    for one in workflows(state, repository):
        if name in (str(one.id), one.path.rpartition("/")[2], one.path):
            return one
    return None


# -- runs


def start(
    state: State,
    repository: Repository,
    workflow: Workflow,
    *,
    event: str,
    actor: User,
    sha: str,
    app: User,
    branch: str | None = None,
    title: str = "",
    head_repository: Repository | None = None,
    inputs: Mapping[str, Any] | None = None,
    at: str | None = None,
) -> Run:
    now = at or state.now()
    number = 1 + sum(1 for run in repository.runs.values() if run.workflow is workflow)
    run = Run(
        state.next_id(),
        workflow,
        number,
        event,
        branch,
        sha,
        title or workflow.name,
        actor,
        checks.new_suite(state, repository, sha, app, branch),
        head_repository or repository,
        now,
        now,
        inputs=inputs or {},
    )
    repository.runs[run.id] = run
    return run


def finish(state: State, run: Run, conclusion: str) -> None:
    run.status, run.conclusion, run.updated_at = "completed", conclusion, state.now()


def cancel(state: State, run: Run) -> None:
    """Takes effect immediately; GitHub takes a while."""
    finish(state, run, "cancelled")
    for job in run.jobs:
        if job.check.status != "completed":
            job.check.status, job.check.conclusion = "completed", "cancelled"
            job.check.completed_at = state.now()


# -- logs


def step_log(job: Job, index: int) -> str:
    """In the format of the runner: each line has a time, and a failure ends with an error line."""
    step = job.steps[index]
    lines = [f"##[group]Run {step.name}", step.name, "##[endgroup]", *step.log.splitlines()]
    if step.conclusion == "failure":
        lines.append("##[error]Process completed with exit code 1.")
    began = datetime.fromisoformat(job.check.started_at or job.run.created_at)
    second = began.strftime("%Y-%m-%dT%H:%M:%S")
    return "".join(f"{second}.{index * 100_000 + number:07}Z {line}\n" for number, line in enumerate(lines))


def job_log(job: Job) -> str:
    """The logs of all steps that were not skipped."""
    return "".join(
        step_log(job, index) for index, step in enumerate(job.steps) if step.conclusion != "skipped"
    )


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()
