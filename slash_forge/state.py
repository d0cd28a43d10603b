"""The state in memory: accounts, repositories, threads, tokens. Git data is on disk."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from slash_forge.git import BareRepository, Signature

if TYPE_CHECKING:
    from slash_forge.access import App, Installation
    from slash_forge.checks import CheckRun, Status, Suite
    from slash_forge.pulls import Lag
    from slash_forge.reviews import Review, ReviewComment, Thread
    from slash_forge.runs import Artifact, Run, Workflow

Access = Literal["read", "write"]
# The account of GitHub Actions.
ACTIONS_BOT = "github-actions[bot]"


class Role(IntEnum):
    """A role in a repository, weakest first."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5


@dataclass(slots=True, eq=False)
class User:
    """A person, a bot or an organisation: they share one name space and one sequence of ids."""

    id: int
    login: str
    kind: Literal["User", "Bot", "Organization"]
    name: str | None
    email: str | None
    created_at: str
    members: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Token:
    """`permissions` maps a resource to "read" or "write"; None is a classic token with full access.

    `repositories` has full names; None is every repository of the user. `expires_at` is in seconds since the epoch.
    """

    value: str
    user: User
    permissions: dict[str, Access] | None
    repositories: frozenset[str] | None
    used: int = 0
    expires_at: int | None = None
    installation: Installation | None = None
    # The number of requests after which it expires; None is no limit.
    dies_after: int | None = None

    def is_valid(self, now: int) -> bool:
        timely = self.expires_at is None or self.expires_at > now
        return timely and (self.dies_after is None or self.used < self.dies_after)

    def may(self, resource: str, access: Access) -> bool:
        if self.permissions is None:
            return True
        granted = self.permissions.get(resource)
        return granted == "write" or (granted == "read" and access == "read")


@dataclass(slots=True, eq=False)
class Label:
    id: int
    name: str
    color: str
    description: str | None
    default: bool = False


@dataclass(slots=True, eq=False)
class Reaction:
    id: int
    user: User
    content: str
    created_at: str


@dataclass(slots=True, eq=False)
class Comment:
    """`author` None is somebody who deleted their account."""

    id: int
    author: User | None
    body: str
    created_at: str
    updated_at: str
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trial:
    """A test merge. `sha` None: a conflict; `known` false: git is too old to test."""

    base: str
    head: str
    sha: str | None
    known: bool = True


@dataclass(slots=True, eq=False)
class Pull:
    """The part of a pull request that an issue does not have. `head_repository` None: the fork was deleted.

    `computing` is how many more queries find that GitHub does not know yet whether it can be merged. `auto_merge` is
    the head that is merged as soon as the rules allow it.
    """

    id: int
    head_repository: Repository | None
    head_owner: User
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool
    maintainer_can_modify: bool = False
    reviewers: list[User] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    merged_at: str | None = None
    merged_by: User | None = None
    merge_sha: str | None = None
    trial: Trial | None = None
    computing: int = 0
    queued: bool = False
    auto_merge: str = ""


@dataclass(slots=True, eq=False)
class Issue:
    """An issue, or a pull request if `pull` is set."""

    id: int
    number: int
    title: str
    body: str | None
    author: User | None
    created_at: str
    updated_at: str
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: str | None = None
    closed_by: User | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    pull: Pull | None = None


@dataclass(frozen=True, slots=True)
class Push:
    """One change of a branch. `kind` is GitHub's `activity_type`."""

    id: int
    ref: str
    before: str
    after: str
    at: str
    kind: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Of a ruleset: `kind` is GitHub's type, `pattern` a glob over branch names."""

    id: int
    pattern: str
    kind: str
    parameters: Mapping[str, object]


@dataclass(slots=True, eq=False)
class Repository:
    id: int
    owner: User
    name: str
    private: bool
    default_branch: str
    git: BareRepository
    description: str | None
    created_at: str
    updated_at: str
    pushed_at: str
    parent: Repository | None = None
    actions_may_open_pull_requests: bool = True
    roles: dict[int, Role] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    threads: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, tuple[Issue, Comment]] = field(default_factory=dict)
    review_comments: dict[int, tuple[Issue, Pull, ReviewComment]] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    pushes: list[Push] = field(default_factory=list)
    suites: dict[int, Suite] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    runs: dict[int, Run] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    default_workflow_permissions: Access = "read"
    rules: list[Rule] = field(default_factory=list)
    # Branch name to the number of required approvals.
    protections: dict[str, int] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    verified: set[str] = field(default_factory=set)

    @property
    def run_suites(self) -> set[int]:
        """The suites that belong to one workflow run alone."""
        return {run.suite.id for run in self.runs.values()}

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def role_of(self, user: User | None) -> Role:
        """The role of a user, without the limits of a token."""
        public = Role.NONE if self.private else Role.READ
        if user is None:
            return public
        if user is self.owner:
            return Role.ADMIN
        return max(self.roles.get(user.id, Role.NONE), public)

    def is_member(self, user: User) -> bool:
        return user.id in self.owner.members

    def pulls(self) -> Iterator[tuple[Issue, Pull]]:
        for thread in self.threads.values():
            if thread.pull is not None:
                yield thread, thread.pull


@dataclass(frozen=True, slots=True)
class Download:
    """The target of a redirect out of the API. The URL is the credential: a request with a token is refused."""

    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that an account (`by`, its id) uploaded into a thread; `token` signs its URL."""

    data: bytes
    content_type: str
    by: int
    private: bool
    token: str


class State:
    """The whole state. An operation holds `lock` from start to end."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.lock = threading.RLock()
        self.users: dict[str, User] = {}
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[str, Repository] = {}
        # By former name.
        self.renamed: dict[str, Repository] = {}
        self.downloads: dict[str, Download] = {}
        # By the name in their URLs.
        self.attachments: dict[str, Attachment] = {}
        self.attached_files: dict[str, str] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, Installation] = {}
        # Repository id to the number of requests that will not see its next push.
        self.lags: dict[int, int] = {}
        self.lagging: list[Lag] = []
        self._clock = clock
        self._ids = itertools.count(10_001)

    def next_id(self) -> int:
        return next(self._ids)

    def now(self) -> str:
        return timestamp(self._clock())

    def signature(self, user: User) -> Signature:
        """The author of a commit that this user makes on the web now."""
        email = user.email or f"{user.id}+{user.login}@users.noreply.127.0.0.1"
        return Signature(user.name or user.login, email, self.epoch())

    def epoch(self) -> int:
        return int(self._clock().timestamp())

    def user(self, login: str) -> User | None:
        return self.users.get(login.casefold())

    @property
    def actions(self) -> User:
        """The account that GitHub Actions acts as."""
        return self.users[ACTIONS_BOT]

    def user_by_email(self, email: str) -> User | None:
        """The account of a commit's email address; GitHub's no-reply addresses contain the login."""
        local, _, domain = email.partition("@")
        if domain.startswith("users.noreply."):
            number, _, login = local.rpartition("+")
            return next((user for user in self.users.values() if str(user.id) == number), self.user(login))
        return next((user for user in self.users.values() if user.email == email), None)

    def repository(self, full_name: str) -> Repository | None:
        return self.repositories.get(full_name.casefold())

    def moved(self, full_name: str) -> Repository | None:
        """The repository that formerly had this name, unless another has it now."""
        return self.renamed.get(full_name.casefold()) if self.repository(full_name) is None else None

    def add_repository(self, repository: Repository) -> None:
        self.repositories[repository.full_name.casefold()] = repository


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds, as GitHub writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_epoch(seconds: int) -> str:
    return timestamp(datetime.fromtimestamp(seconds, UTC))
