"""What a reader would otherwise take for evidence, and why something could not be run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.contracts.problems import Compared
from bot.publish.evidence.counted import was_disabled
from bot.publish.text.shown import shown_code, shown_line

_REMARKS = 10


def remarks(outcome: Outcome) -> list[str]:
    """A line of Markdown each, and no more than a few."""
    noted = [outcome.coverage.note] if outcome.coverage and outcome.coverage.note else []
    found = chain(
        _check_remarks(outcome.checks),
        filter(None, map(_checker_remark, outcome.diagnostics)),
        (f"Coverage: {shown_line(note)}" for note in noted),
    )
    return list(islice(found, _REMARKS))


def _check_remarks(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks[: 2 * _REMARKS]:
        name = shown_code(check.command)
        states = (check.before.state, check.after.state)
        if was_disabled(check):
            yield f"{name} passed before the change and gives no result with it: {shown_line(check.after.note)}"
        elif CheckState.NO_SOCKETS in states:
            yield f"{name} needs a network that the sandbox does not have: its result is no evidence."
        elif CheckState.NOT_RUNNABLE in states:
            why = check.after.note or check.before.note or "a tool or dependency is missing"
            yield f"{name} is not runnable here: {shown_line(why)}"
        late = check.before.state is CheckState.TIMED_OUT and check.before.note
        if late and check.after.state is not CheckState.TIMED_OUT:
            yield f"{name} timed out before the change: {shown_line(check.before.note)}"
        elif states == (CheckState.FAILED, CheckState.PASSED) and check.before.note:
            yield f"{name} failed before the change: {shown_line(check.before.note)}"
        if check.scope_note:
            yield f"{name}: the whole suite was not run: {shown_line(check.scope_note)}"
        if check.flaky:
            yield f"{name} failed and, run again on the same files, passed: it is flaky."
        if check.tests and check.tests.note:
            yield f"{name}: {shown_line(check.tests.note)}"
    if any(check.detected for check in checks):
        yield "Checks were detected, since the policy file names none."


def _checker_remark(one: Compared) -> str:
    notes = dict.fromkeys(shown_line(run.note) for run in (one.before, one.after) if run.note)
    if one.environment:
        told = f"{one.environment:,} more say only that something is not installed here, and are not counted"
        notes[told] = None
    return f"{shown_code(one.tool + one.where, 60)}: {'; '.join(notes)}" if notes else ""
