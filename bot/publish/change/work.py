"""What every step of publishing one change needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.checkout.git import Git
from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request
from bot.gate.secrets import Finder
from bot.gate.verdict import MayWrite
from bot.github.host import Host
from bot.github.recorder import Recorder
from bot.github.tokens import token_facts
from bot.github.values import Account
from bot.policy.schema import Identity
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.remote import Remote
from bot.publish.rules import KnowRules
from bot.publish.thread.markers import is_ours


@dataclass(frozen=True, slots=True)
class Work:
    """`identity` and `may_write` override the policy's. `recorder` is there in a dry run, and is the host then.
    `rules` reads the repository's own rules for secrets, from the text of its files where somebody has them; `finder`
    knows them. `workflow` gives a client with the workflow's own token, and that token; with it in use, `app` is the
    client that was there before. `ci_waits` is why CI waits for approval, empty if it does not."""

    bundle: Bundle
    host: Host
    remote: Remote
    git: Git
    links: Links
    recorder: Recorder | None
    identity: Identity | None = None
    may_write: MayWrite | None = None
    finder: Finder | None = None
    rules: KnowRules = lambda read: None
    workflow: Callable[[], tuple[Host, str]] | None = None
    app: Host | None = None
    ci_waits: str = ""

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome

    @property
    def request(self) -> Request:
        return self.outcome.request

    @property
    def repository(self) -> str:
        return self.request.repository

    @property
    def starts_runs(self) -> bool:
        """Whether what this token pushes starts workflows: true too where nobody can tell."""
        token = self.remote.token
        facts = token_facts(token)
        if facts.starts_workflows is None and (me := self.host.me()) is not None:
            facts = token_facts(token, login=me.login)
        return facts.starts_workflows is not False

    def is_ours(self, author: Account, kind: str) -> bool:
        """Whether we wrote what `author` wrote, with this token or with the one that the workflow's stands in for."""
        hosts = filter(None, (self.host, self.app))
        return any(is_ours(author, host.me(), kind) for host in hosts)

    def noting(self, *notes: str) -> Work:
        """The same work with further sentences for the pull request."""
        outcome = replace(self.outcome, notes=(*self.outcome.notes, *notes))
        return replace(self, bundle=replace(self.bundle, outcome=outcome))


class OpeningRefusedError(PublishError):
    """The branch is there, but a setting forbids opening a pull request."""

    def __init__(self, message: str, compare_url: str) -> None:
        super().__init__(message)
        self.compare_url = compare_url
