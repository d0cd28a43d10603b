"""`Run`: what an entry point gives a run and what its base commit says, in one value that never changes; and the result
of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bot.agent.first_message import LastRun
from bot.agent.journal import Journal
from bot.checkout.clone import Checkout, Source
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import AttachedFile, Note
from bot.contracts.messages import Image
from bot.contracts.outcome import Outcome
from bot.contracts.progress import OutputEvent, View, WaitEvent
from bot.contracts.request import Request, Tier, Triage
from bot.contracts.sandbox import SandboxInfo
from bot.gate.redact import Redactor
from bot.maintenance.apply import with_task_instruction
from bot.policy.settings import Policy
from bot.policy.tiers_and_budget import TierPolicy
from bot.publish.convention.read import Conventions
from bot.review.known_findings import NO_MEMORY, ReviewMemory
from bot.session.run_folder import RunFolder
from bot.skills.folders import SkillSet
from bot.verbs.record import Profile
from bot.workspace.sandbox.backends import Setting
from bot.workspace.sandbox.confinement import Confinement

if TYPE_CHECKING:
    from bot.gate.judge import Verdict
    from bot.maintenance.task import Task
    from bot.publish.bundle import Bundle
    from bot.session.context.review_scope import ReviewRange


def timestamp(moment: datetime) -> str:
    """A time in UTC as RFC 3339, to the second."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def now() -> str:
    return timestamp(datetime.now(UTC))


class Attachments(NamedTuple):
    """The pictures and attached files of a request, as `bot.session.event.attachments` fetches them. `request` is the
    model's, with a word behind each picture; there is a note for each of `images`, a sentence for each that is
    `omitted`, and a note for each of the other attached `files`."""

    request: Request
    images: tuple[Image, ...] = ()
    image_notes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    file_notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What an entry point gives a run.

    `origin` is the folder that the work tree stands for: where
    `bring:` comes from and where commands see the tree. `out` is the folder for the bundle, by default one in `folder`.
    `resume` is the folder of the bundle that a `continue` starts from, `earlier` what is known of a run whose bundle is
    not there; `notes` are sentences for the outcome, `policy_text` is a policy that the person has not committed. A
    review is of `range`, else of the request's pull
    request, of that only what `memory` does not have. `threads` reads those of a task, `subjects` those of the newest
    commits up to one, `load_attachments(run, vision)` loads those of the request; with `vision` the model takes
    images.

    `view` takes every progress event and may have a person to ask. `can_continue`: the person can go on from this run
    with the same command.
    """

    request: Request
    source: Source
    folder: RunFolder
    environment: Mapping[str, str]
    sandbox: Setting = "auto"
    origin: Path | None = None
    out: Path | None = None
    budget_usd: float | None = None
    resume: Path | None = None
    notes: tuple[str, ...] = ()
    policy_text: str | None = None
    range: ReviewRange | None = None
    memory: ReviewMemory = NO_MEMORY
    earlier: LastRun | None = None
    threads: Callable[[Task], Triage] | None = None
    subjects: Callable[[str], Sequence[str]] = lambda sha: ()
    load_attachments: Callable[[Run, bool], Attachments] | None = None
    model: str = ""
    view: View = field(default_factory=View)
    can_continue: bool = False

    @property
    def tier(self) -> Tier:
        return self.request.actor.tier

    @property
    def bundle(self) -> Path:
        """The folder for the bundle."""
        return self.out.resolve() if self.out else self.folder.bundle


@dataclass(frozen=True, kw_only=True)
class Run(RunSpec):
    """A run, made once its base commit is read and a sandbox is chosen. `request` has the threads of its task.
    `cancel_run` ends the run with its checks, `cancel_conversation` only requests to the model and tool calls;
    `continued` is the bundle that a `continue` starts from."""

    cancel_run: CancelToken
    checkout: Checkout
    policy: Policy
    profile: Profile
    confinement: Confinement
    journal: Journal
    redactor: Redactor
    sandbox_probe: SandboxInfo | None = None
    skills: SkillSet = field(default_factory=partial(SkillSet, ()))
    conventions: Conventions = field(default_factory=Conventions)
    task: Task | None = None
    continued: Bundle | None = None
    cancel_conversation: CancelToken = field(default_factory=CancelToken)
    kept: list[str] = field(default_factory=list)
    started_at: str = field(default_factory=now)

    @classmethod
    def of(cls, spec: RunSpec, **more: Any) -> Run:
        """The run of `spec`, with the fields `more`."""
        return cls(**{one.name: getattr(spec, one.name) for one in fields(spec)} | more)

    @property
    def root(self) -> str:
        """The path of the work tree as the model sees it."""
        return str((self.origin if self.confinement.moves else None) or self.checkout.tree)

    @property
    def base(self) -> str:
        """The commit that policy, task, skills and instructions are read from."""
        return self.checkout.policy_sha or self.checkout.base_sha

    @property
    def budget(self) -> TierPolicy:
        return self.policy.limits(self.tier, self.budget_usd)

    @property
    def for_model(self) -> Request:
        """The request as the model is given it: with the text of its task before what a person adds."""
        return with_task_instruction(self.request, self.task) if self.task else self.request

    def redact(self, text: str) -> str:
        """Mask the known secrets in a text."""
        return self.redactor.text(text)

    def archive(self, text: str) -> str:
        """Keep a text for the model to look up, read-only in the sandbox, and return its path; empty if the disk is
        full: a summary without its transcript is better than none."""
        try:
            handle, path = tempfile.mkstemp(".txt", "transcript-", self.folder.archive)
            with open(handle, "wb") as file:
                file.write(self.redact(text).encode("utf-8", "replace"))
        except OSError:
            return ""
        return path

    def note(self, *sentences: str) -> None:
        """Write notes to the journal."""
        for sentence in sentences:
            self.journal.write(Note(sentence))

    def keep(self, *sentences: str) -> None:
        """Tell people, and keep the sentences for the outcome."""
        self.kept.extend(sentences)
        self.say(*sentences)

    def say(self, *sentences: str) -> None:
        """Tell people."""
        for sentence in sentences:
            self.view.tell(Note(self.redactor.masked(sentence)))

    def show_wait(
        self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None
    ) -> None:
        """Tell people what the run waits for, at most `limit` seconds; not once it was stopped. At a terminal Enter
        calls `skip`."""
        if self.cancel_run.fired:
            return
        self.view.on_enter(skip)
        seconds = max(round(limit, 1), 1.0) if limit is not None else None
        can_skip = skip is not None and self.view.person is not None
        self.view.tell(WaitEvent(self.redactor.masked(text), seconds, can_skip))

    def show_output(self, line: str) -> None:
        """Tell people the last line of output of what the run waits for."""
        if line:
            self.view.tell(OutputEvent(self.redactor.masked(line)))


class RunResult(NamedTuple):
    """The result of a run. `verdict` is `None` if the gate refused the tree."""

    checkout: Checkout
    policy: Policy
    bundle: Bundle
    verdict: Verdict | None

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome

    @property
    def needs_tree(self) -> bool:
        """Whether only the work tree has what the gate refused, could not read or could put in no patch."""
        return self.verdict is None or bool(self.verdict.unfit)
