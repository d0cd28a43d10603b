"""What handling one event takes and returns: the command line's options, GitHub clients, a reader with a cache, the
result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bot.contracts.errors import ExitCode
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.progress import View
from bot.contracts.request import Request, Tier
from bot.contracts.threads import CommentData, Permission
from bot.events.admission import tier_of
from bot.events.event_request import EventRequest
from bot.events.resolve_request import build_request
from bot.gate.outbound import connect
from bot.github.errors import GitHubError
from bot.github.signatures import Signer
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.publish.thread.markers import ThreadRef, trigger_key
from bot.session.context.github_env import GitHubEnvironment, signed_in
from bot.session.context.secrets import known_secrets
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting

if TYPE_CHECKING:
    from bot.github.client import GitHub
    from bot.policy.values import Policy

Say = Callable[[str], None]

_UNREACHABLE = (
    " Nothing was done. The policy and the actor's rights are always read from GitHub, in a dry run too, never from "
    "the event's file. Try again when GitHub is available; `slash-agent fix` works on a checkout without it."
)


class EventOptions(NamedTuple):
    """Options of the command line. With `dry_run` every write to GitHub is printed instead of sent.

    `instruction` and `task` are the workflow's inputs, for events that carry no text. `view` shows the run.
    """

    name: str
    payload: Path
    out: Path | None = None
    dry_run: bool = False
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    workspace: Path | None = None
    instruction: str = ""
    task: str = ""
    view: View = View()


class EventResult(NamedTuple):
    """Result of an event. `outcome` and `bundle` are `None` if there was nothing to do, the request was refused, or it
    was answered at once (`answered`). `kept_run` is the folder of a run whose tree stays, `plan` what the model
    submitted."""

    exit_code: ExitCode
    reason: str
    outcome: Outcome | None = None
    bundle: Path | None = None
    answered: bool = False
    kept_run: RunFolder | None = None
    plan: Plan | None = None


def client_for(where: GitHubEnvironment, environment: Mapping[str, str], token: str = "") -> GitHub:
    """A client with `token`, by default that of `where`. Not for two threads at once: each has its own."""
    secrets = {**known_secrets(environment), **where.minted_secrets}
    client = connect(token or where.token, where.api_url, secrets=secrets, server_url=where.server_url)
    client.signer = Signer(where.app_key) if where.app_key else None
    return client


def connected(
    where: GitHubEnvironment, environment: Mapping[str, str], repository: str, access: Access, mask: Say
) -> tuple[GitHubEnvironment, GitHub]:
    """Return `where` with the token for `repository` and `access`, and a client with it. `mask` gets each secret that
    is created. Raises `UsageError` naming what to set."""
    where = signed_in(where, repository, access)
    for secret in where.minted_secrets.values():
        mask(secret)
    return where, client_for(where, environment)


class CachingReader:
    """A `GitHub` that keeps what it read: `comments` of the conversation by id, and `last_permission`, the newest
    answer about an account."""

    def __init__(self, reader: GitHub) -> None:
        self._reader = reader
        self.comments: dict[int, CommentData] = {}
        self.last_permission: Permission | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        for comment in self._reader.newest_comments(repository, number):
            self.comments[comment.id] = comment
            yield comment

    def permission(self, repository: str, login: str) -> Permission:
        self.last_permission = self._reader.permission(repository, login)
        return self.last_permission


@dataclass(kw_only=True)
class EventContext:
    """What one event is handled with. `host` is `github`, or with `dry_run` one that prints its writes; `reader` has
    what was read of the thread. `now` is RFC 3339. `say` writes a line of the job's log, `pass_on` passes on a reason
    that another job reports."""

    options: EventOptions
    environment: Mapping[str, str]
    where: GitHubEnvironment
    github: GitHub
    host: GitHub
    event_request: EventRequest
    now: str
    say: Say
    pass_on: Say = lambda reason: None
    thread_ref: ThreadRef = field(init=False)

    def __post_init__(self) -> None:
        self.reader = CachingReader(self.github)
        self.thread_ref = event_thread_ref(self.event_request, self.where)

    @cached_property
    def policy(self) -> Policy:
        """The default branch's policy decides who may: a branch that the command names must not grant access."""
        repository, file = self.event_request.repository, self.where.policy_file
        try:
            text = self.github.file(repository.name, file, repository.default_branch)
        except GitHubError as error:
            raise GitHubError(f"{error}{'' if error.status else _UNREACHABLE}", error.failure) from error
        return load_policy(text, file)

    def build(self, event_request: EventRequest, policy: Policy) -> Request:
        """The request of `event_request` under `policy`. Raises `NoRequestError` and `RefusedError`."""
        return build_request(event_request, cast("GitHub", self.reader), policy)

    @contextmanager
    def noting(self, what: str) -> Iterator[None]:
        """Note in the log that `what`, if GitHub fails inside: nothing depends on it."""
        try:
            yield
        except GitHubError as error:
            self.say(f"note: {what}: {error}")

    @property
    def outsider_id(self) -> int:
        """Id of the requesting account if GitHub gives it no access, else 0."""
        actor, permission = self.event_request.actor, self.reader.last_permission
        return actor.id if actor and permission and tier_of(permission) is Tier.OUTSIDER else 0


def event_thread_ref(event_request: EventRequest, where: GitHubEnvironment) -> ThreadRef:
    """Return the thread of an event request."""
    trigger = event_request.trigger
    return ThreadRef(
        event_request.repository.name,
        event_request.number,
        trigger_key(trigger, event_request.head_sha),
        trigger.at,
        event_request.anchor.id if event_request.anchor else 0,
        str(where.run or ""),
        url=event_request.subject.url if event_request.subject else "",
    )
