"""Which runs of a check are repeated before anything is said of the change, and what is said in the end. Pure.

- A failing test of the base is run again at once, if the runner can run it alone: one that passes then is flaky.
- A check that got worse is run again: first the tests that fail, alone and in the same tree, since most failures are
  real and that is cheap. If one of them passes, all of the check, on a fresh tree: a test that fails only after others
  is not flaky, and what the first run left behind must not turn the second one green.
- Of a check that failed before the change and passes with it, the fixed tests are run once more on a fresh base, when
  no command of the agent's is alive, unless their failure names a file of the change. If they cannot be run alone, or
  there is no time for it, the result says that there was one run each.

What timed out is not run again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.evidence.coverage import Measured
from bot.evidence.detect import Check
from bot.evidence.tests import Reading, both_ways, compared, suspects

PASSED_AGAIN = "run again on the same files it passed"
NO_TIME = "it was not run again, since the time for checks is spent"
ONE_RUN = "one run each, so whether it is flaky is not known"
_ENDED_BADLY = frozenset({CheckState.FAILED, CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
_REACHED = "it timed out before the change, so what appeared may only not have been reached then"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a check ended, and its tests by name if there were any to read. `again` are those of a second run of what had
    failed; `measured` is the coverage of the changed lines, if there is any."""

    run: CheckRun
    reading: Reading | None = None
    again: Reading | None = None
    measured: Measured | None = None


def suspects_before(ran: Ran) -> frozenset[str]:
    """The tests that failed on the base."""
    return ran.reading.failed if ran.reading and ran.run.state is CheckState.FAILED else frozenset()


def suspects_after(before: Ran, after: Ran) -> frozenset[str]:
    """The tests that fail with the change and did not without, of a check that got worse."""
    return suspects(before.reading, after.reading) if is_run_again(before, after) else frozenset()


def is_run_again(before: Ran, after: Ran) -> bool:
    """Whether all of a check is run once more with the change: it got worse, and what failed did not fail alone too."""
    if after.run.state not in _ENDED_BADLY:
        return False
    changes = compared(before.reading, after.reading)
    worse = before.run.state is CheckState.PASSED and after.run.state is CheckState.FAILED
    if not worse and not (changes and changes.broken):
        return False
    suspected = suspects(before.reading, after.reading)
    return not (suspected and after.again is not None and suspected <= after.again.failed)


def to_confirm(before: Ran, after: Ran, changed: Collection[str]) -> frozenset[str] | None:
    """The fixed tests that are run once more on the base; `None` if nothing was fixed, or if the failure names a file
    of `changed` and is taken for what it says. Empty if the check passes now and names no tests."""
    if (before.run.state, after.run.state) != (CheckState.FAILED, CheckState.PASSED):
        return None
    failed = before.reading.failed if before.reading else frozenset()
    printed = "\n".join([before.run.tail, *failed])
    if failed and any(_names(printed, path) for path in changed):
        return None
    return failed - both_ways(before.reading, before.again)


def confirmed(before: Ran, second: Ran | None) -> Ran:
    """The base after its second run; `None` if there was none."""
    if second is not None and second.reading is not None and second.reading.tests:
        tests = {**(before.again.tests if before.again else {}), **second.reading.tests}
        return replace(before, again=replace(second.reading, tests=tests))
    if before.again is not None:
        return before
    return replace(before, run=replace(before.run, note="; ".join(filter(None, [before.run.note, ONE_RUN]))))


def result_of(
    check: Check, before: Ran, after: Ran, second: Ran | None = None, note: str = ""
) -> CheckResult:
    """A check on both sides of the change. `second` is another run of all of it with the change; `note` says why
    there is none although one was due."""
    passed = second is not None and second.run.state is CheckState.PASSED
    flaky = both_ways(before.reading, before.again)
    if second is not None:
        flaky |= both_ways(after.reading, second.reading, passed=passed)
    run = after.run
    if passed or note:
        run = replace(run, note="; ".join(filter(None, [run.note, PASSED_AGAIN if passed else note])))
    doubt = _REACHED if before.run.state is CheckState.TIMED_OUT else ""
    tests = (
        compared(before.reading, after.reading, flaky, doubt) if run.state is not CheckState.NOT_RUN else None
    )
    return CheckResult(check.name, check.command, before.run, run, check.detected, passed, tests)


def _names(printed: str, path: str) -> bool:
    module = path.rpartition(".")[0].replace("/", ".")
    return _stands_in(path, printed) or ("." in module and _stands_in(module, printed))


def _stands_in(name: str, printed: str) -> bool:
    """As a whole: a new file called `a` is not named by every failure there is."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", printed) is not None
