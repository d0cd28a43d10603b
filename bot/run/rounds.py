"""The two rounds of checks: one on the base while the model reads, one on the patch when it says it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.contracts.problems import Compared
from bot.evidence.detect import Check
from bot.run.background import Background
from bot.run.checks import pair, run_checks
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.run.inspection import Inspection

Write = Callable[[lines.Record], None]
Say = Callable[[str], None]


class Rounds:
    """Before-checks start once, in the background; each after-round is for one tree object, and kept.

    `say` takes a line about what is waited for. With `unrun`, which says why, nothing is ever run.
    `origin` is the repository's own path where no tree can be shown there. `inspect` makes the checkers over the
    whole project, once the first request is out; they run in the same workshops, before the checks.
    """

    def __init__(
        self,
        checks: Sequence[Check],
        trees: Trees,
        write: Write,
        cancel: CancelToken,
        say: Say,
        unrun: str = "",
        origin: str = "",
        inspect: Callable[[], Inspection] | None = None,
    ) -> None:
        self.checks = tuple(checks)
        self._trees = trees
        self._write = write
        self._cancel = cancel
        self._say = say
        self._unrun = unrun
        self._origin = origin
        self._inspect = None if unrun else inspect
        self._inspection: Inspection | None = None
        self._before: Background[tuple[CheckRun, ...]] | None = None
        self._after: dict[str, tuple[CheckRun, ...]] = {}

    @property
    def any(self) -> bool:
        """Whether there may be something to run."""
        return bool(self.checks) or self._inspect is not None

    def start_before(self) -> None:
        """Begin the round on the base; at once back."""
        if self.any and not self._unrun and self._before is None:
            self._inspection = self._inspect() if self._inspect else None
            self._before = Background(lambda: self._round("before", None), "checks before")

    def results(self, tree_sha: str | None) -> tuple[CheckResult, ...]:
        """Both rounds, the second on `tree_sha`; `None` where there is nothing to check."""
        if self._unrun:
            not_run = [CheckRun(CheckState.NOT_RUN, note=self._unrun)] * len(self.checks)
            return pair(self.checks, not_run, not_run)
        if tree_sha is None and not self.checks:
            return ()  # nothing is compared: not to be waited for
        self.start_before()
        if self._before and self._before.under_way:
            self._say(f"waiting for the {'checks' if self.checks else 'checkers'} before the change")
        before = self._before.result() if self._before else ()
        if self.checks and tree_sha is not None and tree_sha not in self._after:
            self._say(f"checks with the change: {', '.join(check.command for check in self.checks)}")
        if tree_sha is not None and tree_sha not in self._after:
            self._after[tree_sha] = self._round("after", tree_sha)
        return pair(self.checks, before, None if tree_sha is None else self._after[tree_sha])

    def diagnostics(self, tree_sha: str | None) -> tuple[Compared, ...]:
        """The checkers on both sides of the change, once `results` were asked for it."""
        return self._inspection.compared(tree_sha) if self._inspection else ()

    def settle(self) -> None:
        """Wait for a round under way, so that its workshop is gone before its folder is."""
        if self._inspection is not None:
            self._inspection.give_up()
        if self._before is not None:
            self._before.wait()

    def _round(self, phase: Literal["before", "after"], tree_sha: str | None) -> tuple[CheckRun, ...]:
        name = f"checks-{phase}" if tree_sha is None else f"checks-{phase}-{len(self._after) + 1}"
        try:
            runs = self._run(name, tree_sha)
        except AgentError as error:
            # The checks are evidence, not the job: without a workshop for them there is none, and that is said.
            runs = tuple(CheckRun(CheckState.NOT_RUN, note=str(error)) for _ in self.checks)
        for check, run in zip(self.checks, runs, strict=True):
            self._write(lines.Checked(check.name, check.command, phase, run, check.detected))
        return runs

    def _run(self, name: str, tree_sha: str | None) -> tuple[CheckRun, ...]:
        inspection = self._inspection if self._inspection and self._inspection.wanted() else None
        if not self.checks and inspection is None:
            return ()
        with self._trees.for_checks(name, self._cancel, tree_sha) as workshop:
            if inspection is None or inspection.look(workshop, tree_sha) or not self.checks:
                return run_checks(workshop, self.checks, self._cancel, self._origin) if self.checks else ()
        # A checker brought its workshop down: the checks get another.
        with self._trees.for_checks(f"{name}-again", self._cancel, tree_sha) as workshop:
            return run_checks(workshop, self.checks, self._cancel, self._origin)
