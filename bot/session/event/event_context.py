"""What handling one event takes and returns: the command line's options, GitHub clients, a reader with a cache, the
result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.contracts.errors import ExitCode
from bot.contracts.progress import View
from bot.events.event_request import EventRequest
from bot.gate.outbound import connect
from bot.github.errors import GitHubError
from bot.github.signatures import Signer
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.publish.bundle import Bundle
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import trigger_key
from bot.session.context.github_env import GitHubEnvironment, signed_in
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting

if TYPE_CHECKING:
    from bot.github.client import GitHub
    from bot.policy.settings import Policy

Say = Callable[[str], None]
TEMPLATES = Path(__file__).parent

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
    """Result of an event. `bundle` is `None` if there was nothing to do, the request was refused, or it was answered at
    once (`answered`). `kept_run` is the folder of a run whose tree stays. `pull` is the pull request on which another
    job runs a round, `commit` the one whose environment that needs, empty for none."""

    exit_code: ExitCode
    reason: str
    bundle: Bundle | None = None
    answered: bool = False
    kept_run: RunFolder | None = None
    pull: int = 0
    commit: str = ""


def client_for(where: GitHubEnvironment, repository: str, token: str = "", dry: Say | None = None) -> GitHub:
    """A client for `repository` with `token`, by default that of `where`. Each thread needs its own. With `dry` it
    sends no write, and passes each to that."""
    secrets = {**where.secrets, **where.minted_secrets}
    client = connect(
        token or where.token, where.api_url, repository, secrets=secrets, server_url=where.server_url
    )
    client.signer = Signer(where.app_key) if where.app_key else None
    return client.dry(dry) if dry else client


def connected(
    where: GitHubEnvironment, repository: str, access: Access, mask: Say, dry: Say | None = None
) -> tuple[GitHubEnvironment, GitHub]:
    """Return `where` with the token for `repository` and `access`, and `client_for` it. `mask` gets each secret that is
    created. Raises `UsageError` naming what to set."""
    where = signed_in(where, repository, access)
    for secret in where.minted_secrets.values():
        mask(secret)
    return where, client_for(where, repository, dry=dry)


@dataclass(kw_only=True)
class EventContext:
    """What one event is handled with. `now` is RFC 3339. `say` writes a line of the job's log, `pass_on` passes on a
    reason that another job reports."""

    options: EventOptions
    environment: Mapping[str, str]
    where: GitHubEnvironment
    github: GitHub
    event_request: EventRequest
    thread_ref: ThreadRef
    now: str
    say: Say
    pass_on: Say

    @cached_property
    def policy(self) -> Policy:
        """The default branch's policy decides who may: a branch that the command names must not grant access."""
        file = self.where.policy_file
        try:
            text = self.github.file(file, self.github.repository.default_branch)
        except GitHubError as error:
            raise GitHubError(f"{error}{'' if error.status else _UNREACHABLE}", error.failure) from error
        return load_policy(text, file)

    @contextmanager
    def noting(self, what: str) -> Iterator[None]:
        """Note in the log that `what`, if GitHub fails inside: nothing depends on it."""
        try:
            yield
        except GitHubError as error:
            self.say(f"note: {what}: {error}")


def event_thread_ref(event_request: EventRequest, github: GitHub, run: int = 0) -> ThreadRef:
    """Return the thread of an event request on which the Actions run `run` works."""
    trigger = event_request.trigger
    return ThreadRef(
        github,
        event_request.number,
        trigger_key(trigger, event_request.head_sha),
        trigger.at,
        event_request.anchor.id if event_request.anchor else 0,
        str(run or ""),
        url=event_request.subject.url if event_request.subject else "",
    )
