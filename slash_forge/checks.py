"""Check runs with their suites, and commit statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from slash_forge.state import Repository, State, User

CheckStatus = Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"]
Conclusion = Literal[
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"
]
CHECK_STATUSES: tuple[CheckStatus, ...] = get_args(CheckStatus)
CONCLUSIONS: tuple[Conclusion, ...] = get_args(Conclusion)
LEVELS = ("notice", "warning", "failure")
_BAD = ("action_required", "cancelled", "failure", "stale", "timed_out", "error")


@dataclass(frozen=True, slots=True)
class Annotation:
    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str | None = None
    raw_details: str | None = None
    start_column: int | None = None
    end_column: int | None = None


@dataclass(slots=True, eq=False)
class Suite:
    """The check runs of one app on one commit; each workflow run has a suite of its own."""

    id: int
    sha: str
    branch: str | None
    app: User
    created_at: str


@dataclass(slots=True, eq=False)
class CheckRun:
    id: int
    suite: Suite
    name: str
    status: CheckStatus
    conclusion: str | None
    started_at: str | None
    completed_at: str | None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    details_url: str | None = None
    external_id: str = ""
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Status:
    id: int
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: str


def suite(state: State, repository: Repository, sha: str, app: User) -> Suite:
    """The app's suite on that commit, created if missing."""
    for one in repository.suites.values():
        if (one.sha, one.app) == (sha, app) and one.id not in repository.run_suites:
            return one
    return new_suite(state, repository, sha, app, None)


def new_suite(state: State, repository: Repository, sha: str, app: User, branch: str | None) -> Suite:
    suite = Suite(state.next_id(), sha, branch, app, state.now())
    repository.suites[suite.id] = suite
    return suite


def runs_on(repository: Repository, sha: str, *, latest: bool = True) -> list[CheckRun]:
    """Newest first; `latest` keeps the last run for each app and name."""
    matches = [one for one in reversed(repository.check_runs.values()) if one.suite.sha == sha]
    if not latest:
        return matches
    seen: dict[tuple[int, str], CheckRun] = {}
    for one in matches:
        seen.setdefault((one.suite.app.id, one.name), one)
    return list(seen.values())


def statuses_on(repository: Repository, sha: str, *, latest: bool = True) -> list[Status]:
    """Newest first; `latest` keeps the last status of each context."""
    matches = [one for one in reversed(repository.statuses) if one.sha == sha]
    if not latest:
        return matches
    seen: dict[str, Status] = {}
    for one in matches:
        seen.setdefault(one.context, one)
    return list(seen.values())


def combined(states: list[str]) -> str:
    """The combined state: failure wins over pending; without statuses it is pending."""
    if any(state in ("failure", "error") for state in states):
        return "failure"
    return "success" if states and all(state == "success" for state in states) else "pending"


def failing(repository: Repository, sha: str) -> bool:
    if any(one.conclusion in _BAD for one in runs_on(repository, sha)):
        return True
    return any(one.state in _BAD for one in statuses_on(repository, sha))
