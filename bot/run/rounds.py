"""The two rounds of checks: one on the base while the agent works, one with the change when the model says it is done.

A check is run as a whole if it fits into the time for checks. What the round before the change shows to take too long
is not run again in full: then the tests related to the change are run on both sides, side by side.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckState
from bot.contracts.problems import Compared
from bot.contracts.tested import Coverage
from bot.evidence import asking, reruns
from bot.evidence.detect import Check
from bot.evidence.reruns import Ran
from bot.run.background import Background
from bot.run.build_caches import builds
from bot.run.check_time import LOCAL_MINUTES, CheckTime
from bot.run.checks import NO_TIME_LEFT, SKIPPED, CheckBench, Wanted, not_run
from bot.run.covered import Covered
from bot.run.history import History
from bot.run.related import related_commands
from bot.run.trees import Trees
from bot.run.waits import Waits
from bot.workshop.client.workshop import Workshop

if TYPE_CHECKING:
    from bot.run.inspection import Inspection

Write = Callable[[lines.Record], None]
Phase = Literal["before", "after"]

_GIVEN_UP = (NO_TIME_LEFT,)
_CUT_OFF = (CheckState.NOT_RUN, CheckState.TIMED_OUT)
_BESIDE = 0.6
"""Of the time that is left, for a check whose run before the change has not ended: the related tests need some too."""

_NO_CHANGE = "there is no change to check"
_NOT_KNOWN = "no tests related to the change are known, and the whole suite was not run: {}"
_NEW = "the tests related to the change are not there before it"


@dataclass(slots=True)
class _Both:
    """A check on both sides of a change. `check` has the command that was run with the change; `narrowed` says why that
    is not all of the check."""

    check: Check
    before: Ran
    after: Ran
    narrowed: str = ""
    second: Ran | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RoundsContext:
    """What rounds are run with. `waits` are told what is waited for. With `unrun`, which says why, nothing is
    ever run. `origin` is the repository's own path if no tree can be shown there. `inspect` makes the checkers over the
    whole project, once the first request is out; they run in the same workshops, before the checks. `minutes` is the
    budget of all rounds."""

    trees: Trees
    write: Write
    cancel: CancelToken
    waits: Waits
    unrun: str = ""
    origin: str = ""
    inspect: Callable[[], Inspection] | None = None
    covered: Covered | None = None
    history: History | None = None
    minutes: float = LOCAL_MINUTES
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))


class Rounds:
    """Before-checks start once, in the background; each after-round is for one tree object, and kept."""

    def __init__(self, checks: Sequence[Check], context: RoundsContext) -> None:
        self.checks = tuple(checks)
        self._context = context
        self._waits = context.waits
        self._time = CheckTime(context.minutes)
        self._inspection: Inspection | None = None
        self._inspected = threading.Event()
        self._before: Background[None] | None = None
        self._before_cancel = CancelToken()
        self._forget = context.cancel.on_fire(lambda: self._before_cancel.fire("the run is over"))
        self._before_runs: list[Future[Ran]] = [Future() for _ in self.checks]
        self._before_command: tuple[CancelToken, float] | None = None
        self._waits_for_before = False
        self._rounds = 0
        self._after: dict[str, list[_Both]] = {}
        self._on_base: dict[tuple[int, str], Ran] = {}

    @property
    def any(self) -> bool:
        """Whether there may be something to run."""
        return bool(self.checks) or (self._context.inspect is not None and not self._context.unrun)

    def end_by(self, minutes: float) -> None:
        """From so long from now on, nothing is run a second time."""
        self._time.end_at(time.monotonic() + minutes * 60)

    def start_before(self) -> None:
        """Begin the round on the base; at once back."""
        if self.any and not self._context.unrun and self._before is None:
            self._inspection = self._context.inspect() if self._context.inspect else None
            self._before = Background(self._run_before, "checks before")

    def results(self, tree_sha: str | None) -> tuple[CheckResult, ...]:
        """Both rounds, the second on `tree_sha`. If it is `None`, there is no change to check: the round before it ends
        at once. No process of the agent's is alive meanwhile: the gate has looked at its tree."""
        if unrun := self._context.unrun:
            return tuple(reruns.result_of(check, not_run(unrun), not_run(unrun)) for check in self.checks)
        if tree_sha is None:
            self.settle()
            none = not_run(_NO_CHANGE)
            ran = [future.result() if future.done() else none for future in self._before_runs]
            return tuple(reruns.result_of(check, ran[n], none) for n, check in enumerate(self.checks))
        if not self.any:
            return ()
        self.start_before()
        if tree_sha not in self._after:
            self._after[tree_sha] = self._with_change(tree_sha)
            self._waits.end()
        return tuple(map(self._result, self.checks, self._after[tree_sha]))

    def coverage(self, tree_sha: str | None) -> Coverage | None:
        """Of the changed lines, once `results` were asked for; `None` if there is nothing to say of it."""
        covered = self._context.covered
        if covered is None or tree_sha is None or not self._after.get(tree_sha):
            return None
        return covered.told(self.checks, [both.after.measured for both in self._after[tree_sha]])

    def diagnostics(self, tree_sha: str | None) -> tuple[Compared, ...]:
        """The checkers on both sides of the change, once `results` were asked for it."""
        return self._inspection.compared(tree_sha) if self._inspection else ()

    def configured(self, tool: str) -> bool:
        """Whether the project or the policy names the checker: what others find is not told to the model."""
        return self._inspection is not None and self._inspection.configured(tool)

    def settle(self) -> None:
        """End the round before the change, and wait until its workshop is gone: its folder will be."""
        self._forget()
        self._before_cancel.fire("the run is over")
        if self._inspection is not None:
            self._inspection.give_up()
        if self._before is not None:
            self._before.wait()

    def _result(self, check: Check, both: _Both) -> CheckResult:
        result = reruns.result_of(both.check, both.before, both.after, both.second, both.note)
        related = both.check.command if both.check.command != check.command else ""
        return replace(result, command=check.command, related=related, scope_note=both.narrowed)

    # Before

    def _run_before(self) -> None:
        later = len(self.checks)
        wanted = Wanted(
            suspects=lambda number, ran: reruns.suspects_before(ran),
            limit=lambda number: self._time.limit_before(later - number - 1),
            timed=lambda: self._time.running(before=True),
            begin=self._begin_before,
            printed=lambda line: self._waits.printed(line) if self._waits_for_before else None,
            quiet=True,
        )

        def work(workshop: Workshop) -> None:
            self._inspected.set()
            bench = CheckBench(workshop, self._before_cancel, wanted, self._context.origin)
            for number, check in enumerate(self.checks):
                ran = bench.run(number, check)
                if self._is_unwanted and ran.run.state is CheckState.NOT_RUN:
                    ran = not_run(_NO_CHANGE)
                self._note("before", check, ran)
                self._before_runs[number].set_result(ran)

        why = "it was not run"
        try:
            self._in_workshop("checks-before", None, work, self._before_cancel)
        except AgentError as error:
            # The checks are evidence, not the job.
            why = _NO_CHANGE if self._is_unwanted else str(error)
        finally:
            self._inspected.set()
            for check, future in zip(self.checks, self._before_runs, strict=True):
                if not future.done():
                    self._note("before", check, not_run(why))
                    future.set_result(not_run(why))

    @property
    def _is_unwanted(self) -> bool:
        """Whether the round before the change was ended, and not the run as a whole."""
        return self._before_cancel.fired and not self._context.cancel.fired

    def _in_workshop(
        self, name: str, tree_sha: str | None, work: Callable[[Workshop], None], cancel: CancelToken
    ) -> None:
        """Over a new tree: the checkers, then `work`. A checker that brings its workshop down costs the checks
        nothing: they get another. Raises `AgentError`."""
        trees = self._context.trees
        inspection = self._inspection if self._inspection and self._inspection.wanted() else None
        if not self.checks and inspection is None:
            return
        with trees.for_checks(name, cancel, tree_sha) as workshop:
            if inspection is None or self._look(inspection, workshop, tree_sha) or not self.checks:
                work(workshop)
                return
        with trees.for_checks(f"{name}-again", cancel, tree_sha) as workshop:
            work(workshop)

    def _look(self, inspection: Inspection, workshop: Workshop, tree_sha: str | None) -> bool:
        limit = self._time.limit_checkers(2 if tree_sha is None else 1)
        if tree_sha is not None:
            self._waits.begin("the checkers with the change", limit)
        with self._time.running(checkers=True):
            return inspection.look(workshop, tree_sha, limit)

    def _bench(self, workshop: Workshop, wanted: Wanted) -> CheckBench:
        return CheckBench(workshop, self._context.cancel, wanted, self._context.origin)

    def _begin_before(self, number: int, limit: float) -> CancelToken:
        token = CancelToken()
        self._before_command = token, time.monotonic() + limit
        return token

    def _wait_for_before(self) -> None:
        assert self._before is not None
        if self._before.under_way:
            if not self.checks:
                self._waits.begin("the checkers before the change")
            for number in range(len(self.checks)):
                self._before_of(number)
        self._before.result()

    def _before_of(self, number: int) -> Ran:
        """The run of a check before the change, which is waited for if it is under way."""
        future = self._before_runs[number]
        if not future.done():
            command, self._waits_for_before = self._before_command, True
            left = command[1] - time.monotonic() if command else None
            skip = (lambda: command[0].fire(SKIPPED)) if command else None
            self._waits.begin(f"the check before the change: {self.checks[number].command}", left, skip)
        ran = future.result()
        self._waits_for_before = False
        return ran

    def _begin(self, text: str, limit: float) -> CancelToken:
        """The wait for one command, and the token that ends it."""
        token = CancelToken()
        self._waits.begin(text, limit, lambda: token.fire(SKIPPED))
        return token

    # With the change

    def _with_change(self, tree_sha: str) -> list[_Both]:
        self._rounds += 1
        ended = all(future.done() for future in self._before_runs)
        # What compiles is waited for: the round with the change starts from what it built.
        if self._context.cores < 2 or ended or any(builds(check.command) for check in self.checks):
            self._wait_for_before()
        elif not self._inspected.is_set():
            self._waits.begin("the checkers before the change")
            self._inspected.wait()
        self._inspect_late(tree_sha)
        found: list[_Both] = []
        try:
            self._in_workshop(
                f"checks-after-{self._rounds}",
                tree_sha,
                lambda w: found.extend(self._run_after(w, tree_sha)),
                self._context.cancel,
            )
        except AgentError as error:
            found = [_Both(check, future.result(), not_run(str(error))) for check, future in self._pairs()]
        for check, both in zip(self.checks, found, strict=True):
            self._note("after", replace(check, command=both.check.command), both.after)
        changed = self._context.covered.lines(tree_sha) if self._context.covered else ()
        self._run_again(tree_sha, found)
        self._confirm_fixed(found, changed)
        return found

    def _pairs(self) -> list[tuple[Check, Future[Ran]]]:
        return list(zip(self.checks, self._before_runs, strict=True))

    def _inspect_late(self, tree_sha: str) -> None:
        """Checkers that timed out on the base, and those that the change turns out to concern."""
        inspection, cancel, say = self._inspection, self._context.cancel, self._waits.begin
        limit = min(self._time.limit_checkers(2), self._time.left_again)
        in_time = limit > 1 and not cancel.fired
        if inspection is None or not in_time or not (late := inspection.late(tree_sha)):
            return
        say(f"run on the base, since there was no answer before: {', '.join(late)}", limit)
        try:
            with (
                self._context.trees.for_checks("checkers-in-peace", cancel) as workshop,
                self._time.running(checkers=True),
            ):
                inspection.look_again(workshop, tree_sha, limit)
        except AgentError as error:
            say(f"the checkers could not be run again: {error}")

    def _run_after(self, workshop: Workshop, tree_sha: str) -> list[_Both]:
        """All of each check that fits; then, for the others, the related tests."""

        def begin(number: int, limit: float) -> CancelToken:
            token = self._begin(f"check with the change: {self.checks[number].command}", limit)
            self._before_runs[number].add_done_callback(lambda done: self._give_up(done.result(), token))
            return token

        covered = self._context.covered
        wanted = Wanted(
            lines=(lambda: covered.lines(tree_sha)) if covered else None,
            suspects=lambda number, ran: reruns.suspects_after(self._before_runs[number].result(), ran),
            limit=lambda number: self._time.left * (1 if self._before_runs[number].done() else _BESIDE),
            timed=self._time.running,
            begin=begin,
            printed=self._waits.printed,
        )
        bench = self._bench(workshop, wanted)
        found: list[_Both] = []
        for number, (check, future) in enumerate(self._pairs()):
            narrowed = (
                self._too_long(check, future.result()) if self._context.cores < 2 or future.done() else ""
            )
            if narrowed:
                found.append(_Both(check, future.result(), not_run(_NOT_KNOWN.format(narrowed)), narrowed))
                continue
            after = bench.run(number, check)
            before = self._before_of(number)
            narrowed = self._too_long(check, before) if after.run.state in _CUT_OFF else ""
            after = not_run(_NOT_KNOWN.format(narrowed)) if narrowed else after
            found.append(_Both(check, before, after, narrowed))
        self._run_related(workshop, tree_sha, found)
        return found

    def _give_up(self, before: Ran, skip: CancelToken) -> None:
        """What turns out to take too long on the base is not waited for with the change."""
        if before.run.state is CheckState.TIMED_OUT:
            skip.fire(self._time.over)

    def _too_long(self, check: Check, before: Ran) -> str:
        """Why all of a check is not run with the change; empty if it is."""
        run = before.run
        if run.state is CheckState.TIMED_OUT and run.duration >= check.timeout - 1:
            return f"it timed out before the change, after {run.duration:.0f} s"
        if run.state is CheckState.TIMED_OUT or not self._time.fits(run.duration):
            return self._time.over
        return run.note if run.state is CheckState.NOT_RUN and run.note in _GIVEN_UP else ""

    # The related tests

    def _run_related(self, workshop: Workshop, tree_sha: str, found: Sequence[_Both]) -> None:
        due = {number: both.check.command for number, both in enumerate(found) if both.narrowed}
        history, cancel = self._context.history, self._context.cancel
        if not due or history is None or cancel.fired:
            return
        commands = related_commands(due, history, tree_sha, workshop, cancel)
        half = Wanted(limit=lambda number: self._time.left / 2, timed=self._time.running)
        wanted = replace(
            half,
            begin=lambda number, limit: self._begin(
                f"related tests with the change: {commands[number][1]}", limit
            ),
            printed=self._waits.printed,
        )
        base: Background[dict[int, Ran]] | None = None
        on_base = {
            n: before for n, (before, _) in commands.items() if before and (n, before) not in self._on_base
        }
        if on_base and self._context.cores > 1:
            base = Background(lambda: self._run_on_base(on_base, half), "related tests before")
        bench = self._bench(workshop, wanted)
        for number, (_, after) in commands.items():
            both = found[number]
            both.check = replace(both.check, command=after)
            both.after = bench.run(number, both.check)
        if on_base:
            self._waits.begin("related tests before the change", self._time.left)
        ran = base.result() if base else self._run_on_base(on_base, half) if on_base else {}
        for number, (before, _) in commands.items():
            known = self._on_base.get((number, before))
            found[number].before = ran.get(number) or known or not_run(_NEW)

    def _run_on_base(self, commands: Mapping[int, str], wanted: Wanted) -> dict[int, Ran]:
        ran: dict[int, Ran] = {}
        try:
            with self._context.trees.for_checks(
                f"checks-related-{self._rounds}", self._context.cancel
            ) as workshop:
                bench = self._bench(workshop, wanted)
                for number, command in commands.items():
                    check = replace(self.checks[number], command=command)
                    ran[number] = self._on_base[number, command] = bench.run(number, check)
                    self._note("before", check, ran[number])
        except AgentError as error:
            ran |= {number: not_run(str(error)) for number in commands if number not in ran}
        return ran

    # Again

    def _run_again(self, tree_sha: str, found: Sequence[_Both]) -> None:
        """All of what got worse once more, on a fresh tree, before the change is blamed for it."""
        for number, both in enumerate(found):
            if not reruns.is_run_again(both.before, both.after) or self._context.cancel.fired:
                continue
            limit = self._time.left_again
            if limit < max(both.after.run.duration, 1):
                both.note = reruns.NO_TIME
                continue
            name = f"checks-again-{self._rounds}-{number + 1}"
            text = f"running again, since it may be flaky: {both.check.command}"
            both.second = self._once_more(text, name, both.check, tree_sha)
            if both.second.run.state is CheckState.NOT_RUN:
                both.note = f"it could not be run again: {both.second.run.note}"
                both.second = None
            else:
                self._note("after", both.check, both.second, again=True)

    def _confirm_fixed(self, found: Sequence[_Both], changed: Collection[str]) -> None:
        """The fixed tests once more on the base, now that nothing of the agent's is alive."""
        for number, both in enumerate(found):
            fixed = reruns.to_confirm(both.before, both.after, changed)
            if fixed is None or self._context.cancel.fired:
                continue
            key = (number, f"{both.check.command} {sorted(fixed)}")
            if key not in self._on_base:
                can = asking.again(both.check.command, fixed, "", fresh=True) is not None
                second = None
                if can and self._time.left_again > 1:
                    text = f"the fixed tests once more on the base: {both.check.command}"
                    name = f"checks-confirmed-{self._rounds}-{number + 1}"
                    second = self._once_more(text, name, both.check, None, fixed)
                self._on_base[key] = reruns.confirmed(both.before, second)
                if self._on_base[key].run != both.before.run:
                    self._note("before", both.check, self._on_base[key])
            both.before = self._on_base[key]

    def _once_more(
        self, text: str, name: str, check: Check, tree_sha: str | None, only: Collection[str] | None = None
    ) -> Ran:
        wanted = Wanted(
            limit=lambda number: self._time.left_again,
            timed=self._time.running,
            begin=lambda number, limit: self._begin(text, limit),
            printed=self._waits.printed,
        )
        try:
            with self._context.trees.for_checks(name, self._context.cancel, tree_sha) as workshop:
                return self._bench(workshop, wanted).run(0, check, only)
        except AgentError as error:
            return not_run(str(error))

    def _note(self, phase: Phase, check: Check, ran: Ran, *, again: bool = False) -> None:
        counts = ran.reading.counts if ran.reading else None
        self._context.write(
            lines.Checked(check.name, check.command, phase, ran.run, check.detected, counts, again)
        )
