"""Decide which checks fail because of the change, and word the message for the model."""

import re
from collections.abc import Sequence

from bot.contracts.evidence import TestChanges
from bot.contracts.formatting import exit_text
from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.contracts.plain_text import printable_name, quoted, quoted_lines, quoted_names
from bot.evidence.labels import number_of, short_tail

MOST_EXPLAINED = 10

_RAN = frozenset({CheckState.PASSED, CheckState.FAILED, CheckState.TIMED_OUT})
_NAMES_FOR_MODEL = 10
_NAME_FOR_MODEL = 160
_AS_THEY_WERE = """\
- {command} was run on your source with the tests, their data and their settings as they were before your change. Tests
  that passed before fail then, in the lines with |:
{names}"""


def is_failing(result: CheckResult, instruction: str | None) -> bool:
    """Whether a check or one of its tests passed before and fails now, also with the tests as they were, or fails with
    new tests in place of some that passed, or is named in the instruction and still fails.

    A check that ran before and cannot run now was broken by the change. One that never could run, or did not run again,
    is no evidence. A flaky one passed with the change, too.
    """
    before, after = result.before.state, result.after.state
    if result.as_they_were and result.as_they_were.failed:
        return True
    if after in (CheckState.PASSED, CheckState.NOT_RUN) or (result.flaky and not _broken(result)):
        return False
    if before is CheckState.PASSED or _got_worse(result):
        return True
    return (after in _RAN or before in _RAN) and is_named(result, instruction)


def _broken(result: CheckResult) -> bool:
    return bool(result.tests and result.tests.broken)


def _got_worse(result: CheckResult) -> bool:
    return _broken(result) or _displaced(result) or more_failing(result) > 0


def _displaced(result: CheckResult) -> bool:
    """Whether tests that passed no longer run while new ones fail: most runners report a module that cannot be imported
    as one test of another name."""
    tests = result.tests
    if not (tests and tests.before and tests.after and tests.new_failing and tests.vanished):
        return False
    return tests.after.passed < tests.before.passed


def more_failing(result: CheckResult) -> int:
    """Return how many more tests fail than before, where none is known by name: some runners give numbers only. Tests
    that passed when they ran again do not count."""
    tests = result.tests
    if not (tests and tests.before and tests.after) or tests.broken or tests.new_failing:
        return 0
    return max(tests.after.failed - tests.before.failed - number_of(tests, "newly_flaky"), 0)


def is_named(result: CheckResult, instruction: str | None) -> bool:
    """Whether the instruction contains the name or the command of the check as whole words."""
    text, wanted = instruction or "", (result.name, result.command)
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) for name in wanted)


def failing(results: Sequence[CheckResult], instruction: str | None) -> tuple[CheckResult, ...]:
    return tuple(result for result in results if is_failing(result, instruction))


def failing_checks_message(results: Sequence[CheckResult]) -> str:
    """Return one message for the model about checks that fail with its change."""
    parts = ["You said you are done, but these checks fail with your change:"]
    for result in results:
        command = quoted(result.command, 1_000)
        if result.as_they_were and result.as_they_were.failed:
            names = "\n".join(result.as_they_were.failed[:_NAMES_FOR_MODEL])
            parts.append(_AS_THEY_WERE.format(command=command, names=quoted_lines(names)))
            if result.after.state is CheckState.PASSED:
                continue
        text = f"- {command} {_state_before(result)} and now {_ending(result.after)}."
        if result.tests and _displaced(result):
            gone = quoted_names(result.tests.vanished, _NAMES_FOR_MODEL, _NAME_FOR_MODEL)
            text += f" These ran before and do not run any more: {gone}."
        # The end of the output may not show them.
        tests, more = newly_failing(result.tests)
        lines = [f"{name[:_NAME_FOR_MODEL]}{f': {reason}' if reason else ''}" for name, reason in tests]
        lines += [f"and {more:,} more"] if more else []
        if lines:
            listed = quoted_lines("\n".join(lines))
            text += f" Tests that fail now and did not before, in the lines with |:\n{listed}\n"
        else:
            text += " "
        tail = quoted_lines(short_tail(result.after.tail))
        parts.append(f"{text}Its output, in the lines with |, ends:\n{tail}")
    parts.append("Fix your change, or say in `describe_change` why this is right. This is said once.")
    return "\n\n".join(parts)


def _state_before(result: CheckResult) -> str:
    if result.before.state is CheckState.PASSED:
        return "passed before your change"
    return "failed before your change with other tests" if _got_worse(result) else "was asked for"


def _ending(run: CheckRun) -> str:
    if run.state is CheckState.TIMED_OUT:
        return "runs into its time limit"
    if run.exit_code is not None and run.exit_code < 0:
        ended = f"is {exit_text(run.exit_code)}"
    else:
        ended = f"ends with exit code {run.exit_code}"
    return f"{ended} ({printable_name(run.note)})" if run.note else ended


def newly_failing(tests: TestChanges | None) -> tuple[list[tuple[str, str]], int]:
    """Return the first tests that fail with the change and did not before, each with its reason or an empty string, and
    the number of further ones."""
    if tests is None:
        return [], 0
    reasons = dict(tests.reasons)
    names = list(dict.fromkeys((*tests.broken, *tests.new_failing)))[:MOST_EXPLAINED]
    number = number_of(tests, "broken") + number_of(tests, "new_failing")
    return [(name, reasons.get(name, "")) for name in names], max(number - len(names), 0)
