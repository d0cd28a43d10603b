"""The two rounds of checks: one on the base while the model reads, one on the patch when it says it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckResult
from bot.contracts.problems import Compared
from bot.contracts.tested import Coverage
from bot.evidence.detect import Check
from bot.evidence.flaky import suspects_after, suspects_before, told
from bot.evidence.ran import Ran
from bot.run.background import Background
from bot.run.checks import Wanted
from bot.run.covered import Covered
from bot.run.flaky_again import checks_again
from bot.run.in_peace import checkers_in_peace, checks_in_peace, failures_in_peace
from bot.run.one_round import not_run, one_round
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.run.inspection import Inspection

Write = Callable[[lines.Record], None]
Say = Callable[[str], None]
Phase = Literal["before", "after"]


class Rounds:
    """Before-checks start once, in the background; each after-round is for one tree object, and kept.

    `say` takes a line about what is waited for. With `unrun`, which says why, nothing is ever run.
    `origin` is the repository's own path where no tree can be shown there. `inspect` makes the checkers over the
    whole project, once the first request is out; they run in the same workshops, before the checks. `covered` knows
    the changed lines.
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
        covered: Covered | None = None,
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
        self._covered = covered
        self._until = math.inf
        self._before: Background[tuple[Ran, ...]] | None = None
        self._after: dict[str, tuple[Ran, ...]] = {}
        self._results: dict[str, tuple[CheckResult, ...]] = {}
        self._in_peace: dict[int, Ran] = {}

    @property
    def any(self) -> bool:
        """Whether there may be something to run."""
        return bool(self.checks) or self._inspect is not None

    def end_by(self, minutes: float) -> None:
        """From so long from now on, nothing is run a second time."""
        self._until = time.monotonic() + minutes * 60

    def start_before(self) -> None:
        """Begin the round on the base; at once back."""
        if self.any and not self._unrun and self._before is None:
            self._inspection = self._inspect() if self._inspect else None
            wanted = Wanted(suspects=lambda number, ran: suspects_before(ran))
            self._before = Background(lambda: self._round("before", None, wanted), "checks before")

    def results(self, tree_sha: str | None) -> tuple[CheckResult, ...]:
        """Both rounds, the second on `tree_sha`; `None` where there is nothing to check. No process of the agent's is
        alive meanwhile: the gate has looked at its tree."""
        if self._unrun:
            return self._told(not_run(self.checks, self._unrun), not_run(self.checks, self._unrun))
        if tree_sha is None and not self.checks:
            return ()  # nothing is compared: not to be waited for
        self.start_before()
        if self._before and self._before.under_way:
            self._say(f"waiting for the {'checks' if self.checks else 'checkers'} before the change")
        before = self._before.result() if self._before else ()
        if tree_sha is None:
            return self._told(before, not_run(self.checks, "there was nothing to check"))
        if tree_sha not in self._results:
            self._results[tree_sha] = self._with_change(tree_sha, before)
        return self._results[tree_sha]

    def coverage(self, tree_sha: str | None) -> Coverage | None:
        """Of the changed lines, once `results` were asked for; `None` where there is nothing to say of it."""
        if self._covered is None or tree_sha is None or not self._after.get(tree_sha):
            return None
        return self._covered.told(self.checks, [ran.measured for ran in self._after[tree_sha]])

    def diagnostics(self, tree_sha: str | None) -> tuple[Compared, ...]:
        """The checkers on both sides of the change, once `results` were asked for it."""
        return self._inspection.compared(tree_sha) if self._inspection else ()

    def settle(self) -> None:
        """Wait for a round under way, so that its workshop is gone before its folder is."""
        if self._inspection is not None:
            self._inspection.give_up()
        if self._before is not None:
            self._before.wait()

    def _with_change(self, tree_sha: str, before: Sequence[Ran]) -> tuple[CheckResult, ...]:
        if self.checks:
            self._say(f"checks with the change: {', '.join(check.command for check in self.checks)}")
        in_time = time.monotonic() < self._until and not self._cancel.fired
        if in_time and self._inspection and self._inspection.late(tree_sha):
            checkers_in_peace(self._inspection, tree_sha, self._trees, self._cancel, self._say)
        before = [self._in_peace.get(number, ran) for number, ran in enumerate(before)]
        covered = self._covered
        wanted = Wanted(
            lines=(lambda: covered.lines(tree_sha)) if covered else None,
            suspects=lambda number, ran: suspects_after(before[number], ran),
        )
        after = self._after[tree_sha] = self._round("after", tree_sha, wanted)
        before = self._before_in_peace(before, after, tree_sha)
        return self._told(before, after, *self._second_runs(tree_sha, before, after))

    def _before_in_peace(self, before: Sequence[Ran], after: Sequence[Ran], tree_sha: str) -> list[Ran]:
        """What the base does when nothing of the agent's is alive, where that may be something else: asked once."""

        def left() -> float:
            return self._until - time.monotonic()

        rest = (self._trees, self._cancel, left, self._say, self._origin)
        found = checks_in_peace(self.checks, before, after, *rest)
        known = not_run(self.checks, "")
        asked = [known[number] if number in self._in_peace else ran for number, ran in enumerate(before)]
        changed = self._covered.lines(tree_sha) if self._covered else ()
        found |= failures_in_peace(self.checks, asked, after, changed, *rest)
        for number, ran in found.items():
            self._in_peace[number] = ran
            self._note("before", self.checks[number], ran)
        return [found.get(number, ran) for number, ran in enumerate(before)]

    def _second_runs(
        self, tree_sha: str, before: Sequence[Ran], after: Sequence[Ran]
    ) -> tuple[dict[int, Ran], dict[int, str]]:
        seconds, notes = checks_again(
            f"checks-again-{len(self._after)}", tree_sha, self.checks, before, after, self._trees, self._cancel,
            lambda: self._until - time.monotonic(), self._say, self._origin,
        )  # fmt: skip
        for number, second in seconds.items():
            self._note("after", self.checks[number], second, again=True)
        return seconds, notes

    def _told(
        self,
        before: Sequence[Ran],
        after: Sequence[Ran],
        seconds: Mapping[int, Ran] = MappingProxyType({}),
        notes: Mapping[int, str] = MappingProxyType({}),
    ) -> tuple[CheckResult, ...]:
        return tuple(
            told(check, before[number], after[number], seconds.get(number), notes.get(number, ""))
            for number, check in enumerate(self.checks)
        )

    def _note(self, phase: Phase, check: Check, ran: Ran, *, again: bool = False) -> None:
        counts = ran.reading.counts if ran.reading else None
        self._write(lines.Checked(check.name, check.command, phase, ran.run, check.detected, counts, again))

    def _round(self, phase: Phase, tree_sha: str | None, wanted: Wanted) -> tuple[Ran, ...]:
        name = f"checks-{phase}" if tree_sha is None else f"checks-{phase}-{len(self._after) + 1}"
        inspection = self._inspection if self._inspection and self._inspection.wanted() else None
        runs = one_round(
            name, tree_sha, self.checks, wanted, inspection, self._trees, self._cancel, self._origin
        )
        for check, ran in zip(self.checks, runs, strict=True):
            self._note(phase, check, ran)
        return runs
