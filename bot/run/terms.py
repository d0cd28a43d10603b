"""What a run is given, and what it comes to."""

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
from bot.contracts.request import Request
from bot.contracts.review import Review
from bot.contracts.triage import Triage
from bot.contracts.writes import Writes
from bot.policy.schema import Policy
from bot.run.folder import RunFolder
from bot.sandbox.choose import Setting

if TYPE_CHECKING:
    from bot.gate.tree import Verdict
    from bot.run.pictures import Look
    from bot.run.reviewing import Range
    from bot.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is given. `connect` makes the provider and is called on a thread of its own; `connect_named` makes
    that of another model, which a skill asks for. `origin` is the folder that the work tree stands for: where
    `bring:` comes from and where commands see the tree. `resume` is the folder of the bundle that a `continue` goes
    on from, `notes` are sentences for the outcome. A review is of `range`; without one it is of the request's pull
    request, of that only what is new since `since_sha` where that is given. `threads` reads what a task is shown,
    `pictures` looks for those of the request. `watch` is told of each turn, `say` in a line of whatever else takes
    its time; `say` from any thread. `view` is told of everything as it is journalled, and may have a person to ask."""

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
    range: Range | None = None
    since_sha: str = ""
    threads: Callable[[Task], Triage] | None = None
    pictures: Look | None = None
    connect_named: Callable[[str], Provider] | None = None
    watch: Callable[[TurnInfo], None] = lambda info: None
    say: Callable[[str], None] = lambda line: None
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run has to show. `verdict` is `None` when the gate refused the tree, and in a run that only reads.
    `needs_tree`: only the work tree has what the gate refused, could not read or could put in no patch. `outputs` is
    what `bot.run.outputs` hands on."""

    checkout: Checkout
    policy: Policy
    outcome: Outcome
    verdict: Verdict | None
    plan: Plan | None = None
    review: Review | None = None
    writes: Writes | None = None
    outputs: bytes = b""
    needs_tree: bool = False
