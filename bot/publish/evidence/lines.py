"""One line of Markdown on one check that fails, or on one problem."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contracts.outcome import CheckResult, CheckState
from bot.contracts.problems import Problem
from bot.evidence.words import kinds_of
from bot.publish.evidence.counted import FAILED, failing
from bot.publish.text.shown import shown_code, shown_line

_NOW = {CheckState.FAILED: "fails", CheckState.TIMED_OUT: "times out"}
_THEN = {CheckState.FAILED: "failed", CheckState.TIMED_OUT: "timed out"}
# A failure from before is no excuse for what the change broke in the same check.
_WORSE = frozenset({"broken", "vanished", "new_failing"})


def failures(checks: Sequence[CheckResult]) -> list[str]:
    """Each check that fails as a clause that says what it did before, which decides whose failure it is. Markdown."""
    return [f"{shown_code(check.command, 200)} {_failure(check)}" for check in failing(checks)]


def _failure(check: CheckResult) -> str:
    was, state = check.before.state, check.after.state
    now = _NOW.get(state, "gives no result")
    if was is CheckState.PASSED:
        return f"{now}, and passed before the change"
    if was not in FAILED:
        return f"{now}; it has no result from before the change"
    then = "as before the change" if was is state else f"and {_THEN[was]} before the change"
    worse = [f"{kind.number:,} {kind.words}" for kind in kinds_of(check.tests) if kind.field in _WORSE]
    return f"{now}, {then}{', but worse: ' if worse else ''}{', '.join(worse)}"


def problem_line(problem: Problem) -> str:
    """`src/a.py:3` ruff F401: os is unused. One line of Markdown."""
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    kind = " ".join(part for part in (problem.tool, problem.code) if part)
    return f"{shown_code(place)} {shown_line(kind, 80)}: {shown_line(problem.message, 200)}"
