"""The input and the result of a run, and the input of a run on a local checkout."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.agent.journal import Journal
from bot.agent.journal_file import read_journal
from bot.agent.loop import TurnInfo
from bot.checkout.clone import Checkout, Source
from bot.contracts.cancel import CancelToken
from bot.contracts.model import Provider
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.progress import NoteEvent, View
from bot.contracts.request import Actor, Request, Tier, Triage
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.gate.disguised_secrets import Detector
from bot.policy.tiers import RunBudget, run_budget
from bot.policy.values import Policy
from bot.providers.connect import connect
from bot.providers.replay import RECORDED, ReplayProvider
from bot.session.context.preflight import uncommitted_policy
from bot.session.progress.waits import Background
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting
from bot.workspace.sandbox.confinement import Confinement

if TYPE_CHECKING:
    from bot.gate.verdict import Verdict
    from bot.maintenance.task import Task
    from bot.publish.bundle.write import Bundle
    from bot.session.context.review_scope import ReviewRange
    from bot.session.job.attachments import LoadAttachments


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The input of a run. `connect` makes the provider of `model`, on a thread of its own, which may be `connecting`
    already; `connect_named` makes that of another model, which a skill or the policy asks for. `origin` is the folder
    that the work tree stands for: where `bring:` comes from and where commands see the tree. `resume` is the folder of
    the bundle that a `continue` starts from; `notes` are sentences for the outcome, `policy_text` is a policy that the
    person has not committed. A review is of `range`, else of the request's pull request, of that only what is new
    since `since_sha` if given. `threads` reads those of a task, `load_attachments` loads those of the request. `watch`
    is called with each turn, `say` with a line on other steps, from any thread, `asking` before each request to the
    model. `view` takes every progress event and may have a person to ask."""

    request: Request
    source: Source
    folder: RunFolder
    connect: Callable[[], Provider]
    environment: Mapping[str, str]
    sandbox: Setting = "auto"
    origin: Path | None = None
    budget_usd: float | None = None
    resume: Path | None = None
    notes: tuple[str, ...] = ()
    policy_text: str | None = None
    range: ReviewRange | None = None
    since_sha: str = ""
    threads: Callable[[Task], Triage] | None = None
    load_attachments: LoadAttachments | None = None
    model: str = ""
    connecting: Background[Provider] | None = None
    connect_named: Callable[[str], Provider] | None = None
    watch: Callable[[TurnInfo], None] = lambda info: None
    say: Callable[[str], None] = lambda line: None
    asking: Callable[[], None] = lambda: None
    view: View | None = None


def now() -> str:
    """The time in UTC as RFC 3339, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """A run as its base commit defines it. `cancel` ends the conversation, `stop` the whole run; `last` is the bundle
    that a `continue` starts from."""

    spec: RunSpec
    checkout: Checkout
    policy: Policy
    confinement: Confinement
    journal: Journal
    detector: Detector
    stop: CancelToken
    task: Task | None = None
    last: Bundle | None = None
    cancel: CancelToken = field(default_factory=CancelToken)
    started_at: str = field(default_factory=now)

    @property
    def tier(self) -> Tier:
        return self.spec.request.actor.tier

    @property
    def root(self) -> str:
        """The path of the work tree as the model sees it."""
        return str((self.spec.origin if self.confinement.moves else None) or self.checkout.tree)

    @property
    def redact(self) -> Callable[[str], str]:
        """Masks the known secrets in a text."""
        return self.detector.redactor.text

    @property
    def budget(self) -> RunBudget:
        return run_budget(self.policy, self.tier, self.spec.budget_usd)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. `verdict` is `None` if the gate refused the tree. `needs_tree`: only the work tree has what
    the gate refused, could not read or could put in no patch. `outputs` is the content of the bundle's file of long
    outputs."""

    checkout: Checkout
    policy: Policy
    outcome: Outcome
    verdict: Verdict | None
    plan: Plan | None = None
    review: Review | None = None
    writes: Writes | None = None
    outputs: bytes = b""
    needs_tree: bool = False


def connect_model(model: str, environment: Mapping[str, str]) -> Provider:
    """The provider for `provider/name`; `replay/PATH` plays the responses of the journal at PATH.

    Imports the vendor's package and may ask the server for its window: call it on a thread of its own.
    """
    if model.startswith(RECORDED):
        recorded = read_journal(Path(model.removeprefix(RECORDED)))
        return ReplayProvider(recorded.responses(), recorded.header.info)
    from bot.providers.probe import with_served_window  # with the HTTP client, on that thread too

    return with_served_window(connect(model, environment))


def local_request(verb: str, instruction: str, repo: Path, options: dict[str, str] | None = None) -> Request:
    """The request of the person at the terminal. Arguments and paths are bytes that need not be UTF-8; the journal and
    the bundle are, so what is not becomes U+FFFD here."""
    instruction, url = (os.fsencode(text).decode(errors="replace") for text in (instruction, str(repo)))
    return Request(verb, instruction, Actor("you", 0, Tier.LOCAL), "", "", url, options=options or {})


def local_spec(
    request: Request,
    repo: Path,
    folder: RunFolder,
    model: str,
    environment: Mapping[str, str],
    view: View,
    revision: str = "HEAD",
) -> RunSpec:
    """The spec of a run of `request` at `revision` of `repo`, with a note if the policy is not committed.
    Begins to connect the model, since an import takes longer than all that comes before the first request."""
    connect = partial(connect_model, model, environment)
    connecting = Background(connect, "connect")
    policy_text, note = uncommitted_policy(repo)
    if note:
        view.tell(NoteEvent(note))
    return RunSpec(
        request=request,
        source=Source(str(repo), revision),
        folder=folder,
        connect=connect,
        connecting=connecting,
        model=model,
        connect_named=lambda name: connect_model(name, environment),
        environment=environment,
        origin=repo,
        notes=(note,) if note else (),
        policy_text=policy_text,
        say=lambda text: view.tell(NoteEvent(text)),
        view=view,
    )
