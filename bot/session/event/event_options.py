"""The options and the result of `slash-agent run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.contracts.errors import ExitCode
from bot.contracts.outcome import Outcome
from bot.contracts.progress import View
from bot.gate.secrets import Finder
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting

if TYPE_CHECKING:
    from bot.session.event.prepare import Phase


@dataclass(frozen=True, slots=True)
class EventOptions:
    """Options of the command line. With `dry_run` every write to GitHub is printed instead of sent.

    `instruction` and `task` are the workflow's inputs, for events that carry no text. `view` replaces the job's log.
    With `prepare` only that phase of `prepare.py` runs.
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
    view: View | None = None
    prepare: Phase | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """Result of an event. `outcome` and `bundle` are `None` if there was nothing to do, the request was refused, or it
    was answered at once (`answered`). `finder` knows the repository's rules for secrets, if it has any. `prepared` are
    the outputs of a prepare step. `kept_run` is the folder of a run whose tree stays."""

    exit_code: ExitCode
    reason: str
    outcome: Outcome | None = None
    bundle: Path | None = None
    answered: bool = False
    finder: Finder | None = None
    prepared: Mapping[str, str] = field(default_factory=dict)
    kept_run: RunFolder | None = None
