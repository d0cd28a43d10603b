"""Which failures are tried a second time before the change is blamed, and what is told of a check in the end.

Pure. A check that passed before and fails after is run again: first the tests that fail, alone and where they have just
failed, since most failures are real and that is cheap. Where they fail again, that is that. Where one passes alone, the
whole check is run once more on a fresh tree: a test that fails only after others is no flaky one, and what the first
run left lying about must not turn the second one green.
"""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.outcome import CheckResult, CheckState
from bot.evidence.detect import Check
from bot.evidence.ran import Ran
from bot.evidence.tests import both_ways, compared, suspects

PASSED_AGAIN = "run again on the same files it passed"
_ENDED_BADLY = frozenset({CheckState.FAILED, CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
_REACHED = "it timed out before the change, so what appeared may only not have been reached then"
NO_TIME = "it was not run again, since the run's time is spent"


def suspects_before(ran: Ran) -> frozenset[str]:
    """The tests that failed on the base: they are tried again while the model reads, so that a flaky one is not taken
    for one that the change mends."""
    return ran.reading.failed if ran.reading and ran.run.state is CheckState.FAILED else frozenset()


def suspects_after(before: Ran, after: Ran) -> frozenset[str]:
    """The tests that fail with the change and did not without, of a check that got worse."""
    return suspects(before.reading, after.reading) if is_to_be_run_again(before, after) else frozenset()


def is_to_be_run_again(before: Ran, after: Ran) -> bool:
    """Whether all of a check is run once more: it got worse, and what failed did not fail alone as well.

    One that ran into its time limit is not: that would take as long again, and seldom says anything else.
    """
    if after.run.state not in _ENDED_BADLY:
        return False
    changes = compared(before.reading, after.reading)
    worse = before.run.state is CheckState.PASSED and after.run.state is CheckState.FAILED
    if not worse and not (changes and changes.broken):
        return False
    suspected = suspects(before.reading, after.reading)
    return not (suspected and after.again is not None and suspected <= after.again.failed)


def told(check: Check, before: Ran, after: Ran, second: Ran | None = None, note: str = "") -> CheckResult:
    """A check on both sides of the change. `second` is another run of all of it with the change; `note` says why
    there is none where one was due."""
    passed = second is not None and second.run.state is CheckState.PASSED
    flaky = both_ways(before.reading, before.again, passed=before.passed_in_peace)
    if second is not None:
        flaky |= both_ways(after.reading, second.reading, passed=passed)
    run = after.run
    if passed or note:
        run = replace(run, note="; ".join(filter(None, [run.note, PASSED_AGAIN if passed else note])))
    doubt = _REACHED if before.run.state is CheckState.TIMED_OUT else ""
    tests = (
        compared(before.reading, after.reading, flaky, doubt) if run.state is not CheckState.NOT_RUN else None
    )
    passed |= before.passed_in_peace and run.state is CheckState.PASSED
    return CheckResult(check.name, check.command, before.run, run, check.detected, passed, tests)
