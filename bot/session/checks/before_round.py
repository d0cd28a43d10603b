"""What the rounds of checks share, their time included, and the round on the base, which runs in the background."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import in_background
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckState
from bot.evidence import reruns
from bot.evidence.check import Check
from bot.evidence.labels import check_title
from bot.evidence.reruns import CheckExecution
from bot.session.checks.inspection import Inspection
from bot.session.checks.runner import SKIPPED, UNNEEDED, CheckRunner, not_run
from bot.session.checks.time_budget import TimeBudget
from bot.session.context.run import Run
from bot.session.workspaces.prepared_trees import Trees

_Phase = Literal["before", "after", "as_they_were"]
NO_CHANGE = "there is no change to check"
_RUN_OVER = "the run is over"


@dataclass(eq=False)
class Round:
    """One round on pristine trees: the checks, then the checkers of the whole project in what is left of the time."""

    run: Run
    trees: Trees
    checks: Sequence[Check]
    inspection: Inspection
    budget: TimeBudget
    cancel: CancelToken

    def _run_checkers(self, name: str, tree_sha: str | None, limit: float) -> None:
        """Run the checkers on `tree_sha` or on the base."""
        try:
            with (
                self.trees.for_checks(name, self.cancel, tree_sha) as workspace,
                self.budget.running("checkers"),
            ):
                self.inspection.run(workspace, tree_sha, limit, self.cancel)
        except AgentError as error:
            self.run.show_wait(f"the checkers could not be run: {error}")

    @contextmanager
    def _runner(self, name: str, tree_sha: str | None = None, **more: Any) -> Iterator[CheckRunner]:
        """Yield a runner in a new workspace, whose commands people see and can skip; `more` are other fields of it."""
        more = {"begin": self._begin, "on_output": self._printed, **more}
        # The repository's own path, if the sandbox cannot show the tree there.
        origin = "" if self.run.confinement.moves else str(self.run.origin or "")
        with self.trees.for_checks(name, self.cancel, tree_sha) as workspace:
            yield CheckRunner(workspace, self.cancel, origin, **more)

    @contextmanager
    def _begin(self, text: str, limit: float) -> Iterator[CancelToken]:
        token = CancelToken()
        self.run.show_wait(text, limit, lambda: token.fire(SKIPPED))
        with self.budget.running("after"):
            yield token

    def _printed(self, line: str) -> None:
        self.run.show_output(line)

    def _record(self, phase: _Phase, check: Check, execution: CheckExecution, *, again: bool = False) -> None:
        ran = (execution.run, check.detected, execution.counts, again)
        self.run.journal.write(lines.CheckRecord(check.name, check.command, phase, *ran))


class BeforeRound(Round):
    """The round on the base. It runs on a thread; `executions` has the future result of each check."""

    def __init__(self, run: Run, trees: Trees, checks: Sequence[Check], minutes: float) -> None:
        super().__init__(run, trees, checks, Inspection(run), TimeBudget(minutes), CancelToken())
        self.executions: list[Future[CheckExecution]] = [Future() for _ in self.checks]
        self.related_runs: dict[tuple[int, str], CheckExecution] = {}
        """Those of related tests, by check number and command, which the rounds with a change share."""
        self._thread: Future[None] | None = None
        self._forget = run.cancel_run.on_fire(partial(self.cancel.fire, _RUN_OVER))
        self._command: tuple[CancelToken, float] | None = None
        """The token of the running command, and the time at which its limit ends."""
        self._is_awaited = False
        self._stop_reason = NO_CHANGE

    @property
    def has_work(self) -> bool:
        """Whether there may be something to run."""
        return not self.run.profile.unrun and (bool(self.checks) or self.inspection.is_wanted)

    def start(self) -> None:
        """Start the round and return at once."""
        if self._thread is None and self.has_work:
            self._thread = in_background(self._execute, "checks before")

    def stop(self, reason: str = NO_CHANGE) -> None:
        """Cancel the round and wait until its workspace is gone, since its folder will be removed. `reason` is that of
        checks that have not run."""
        self._stop_reason = reason
        self._forget()
        self.cancel.fire(_RUN_OVER)
        if self._thread is not None:
            wait([self._thread])

    def wait(self) -> None:
        """Wait until the round has ended. Raises its error."""
        assert self._thread is not None
        self.wait_for_checks()
        if not self._thread.done():
            self.run.show_wait("the checkers before the change")
        self._thread.result()

    def wait_for_checks(self) -> None:
        for check, future in zip(self.checks, self.executions, strict=True):
            if not future.done():
                command, self._is_awaited = self._command, True
                left = command[1] - time.monotonic() if command else None
                skip = partial(command[0].fire, SKIPPED) if command else None
                self.run.show_wait(f"the check before the change: {check_title(check)}", left, skip)
            future.result()
            self._is_awaited = False

    def _execute(self) -> None:
        reason = "it was not run"
        try:
            if self.checks:
                with self._runner("checks-before", quiet=True) as runner:
                    self._run_checks(runner)
        except AgentError as error:
            # A failing round does not fail the run.
            reason = self._stop_reason if self._is_stopped else str(error)
        finally:
            for check, future in zip(self.checks, self.executions, strict=True):
                if not future.done():
                    self._record("before", check, not_run(reason))
                    future.set_result(not_run(reason))
        if not self.cancel.fired and self.inspection.is_needed():
            self._run_checkers("checkers-before", None, self.budget.limit_checkers(2))

    def _run_checks(self, runner: CheckRunner) -> None:
        for number, check in enumerate(self.checks):
            if check.fallback and any(one.result().counts_tests for one in self.executions[:number]):
                self.executions[number].set_result(not_run(UNNEEDED))
                continue
            limit = partial(self.budget.limit_before, len(self.checks) - number - 1)
            execution = runner.run(check, "", limit, reruns.failed_before)
            if self._is_stopped and execution.run.state is CheckState.NOT_RUN:
                execution = not_run(self._stop_reason)
            self._record("before", check, execution)
            self.executions[number].set_result(execution)

    @contextmanager
    def _begin(self, text: str, limit: float) -> Iterator[CancelToken]:
        token = CancelToken()
        self._command = token, time.monotonic() + limit
        with self.budget.running("before"):
            yield token

    def _printed(self, line: str) -> None:
        if self._is_awaited:
            self.run.show_output(line)

    @property
    def _is_stopped(self) -> bool:
        """Whether this round was cancelled, and not the run."""
        return self.cancel.fired and not self.run.cancel_run.fired
