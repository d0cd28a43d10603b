"""The input and the result of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.agent.loop import TurnInfo
from bot.checkout.clone import Checkout, Source
from bot.contracts.model import Provider
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan
from bot.contracts.progress import View
from bot.contracts.request import Request, Triage
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.policy.values import Policy
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting

if TYPE_CHECKING:
    from bot.gate.verdict import Verdict
    from bot.maintenance.task import Task
    from bot.session.context.review_scope import ReviewRange
    from bot.session.job.attachments import LoadAttachments


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The input of a run. `connect` makes the provider, on a thread of its own; `connect_named` makes that of another
    model, which a skill asks for. `origin` is the folder that the work tree stands for: where `bring:` comes from and
    where commands see the tree. `resume` is the folder of the bundle that a `continue` starts from; `notes` are
    sentences for the outcome. A review is of `range`, else of the request's pull request, of that only what is new
    since `since_sha` if given. `threads` reads those of a task, `load_attachments` loads those of the request. `watch`
    is called with each turn, `say` with a line on other steps, from any thread. `view` takes every progress event and
    may have a person to ask."""

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
    range: ReviewRange | None = None
    since_sha: str = ""
    threads: Callable[[Task], Triage] | None = None
    load_attachments: LoadAttachments | None = None
    connect_named: Callable[[str], Provider] | None = None
    watch: Callable[[TurnInfo], None] = lambda info: None
    say: Callable[[str], None] = lambda line: None
    view: View | None = None


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
