"""A complete outcome, its parts, and copies of them with some fields replaced."""

import io
from typing import Any

from bot.cli.print_result import print_result
from bot.cli.terminal.printer import Printer
from bot.contracts.evidence import (
    Answer,
    CheckerComparison,
    Problem,
    ServerUse,
    Severity,
    TestChanges,
    TestCounts,
    ToolRun,
)
from bot.contracts.messages import Usage
from bot.contracts.outcome import (
    ChangedFile,
    CheckResult,
    CheckRun,
    CheckState,
    Description,
    Outcome,
    Status,
    StopReason,
)
from bot.contracts.request import Actor, Request, Thread, Tier, Trigger

_ISSUE = "https://github.test/octo/hello/issues/7"

REQUEST = Request(
    verb="fix",
    instruction="fix the rounding of totals",
    actor=Actor("ann", 5, Tier.MAINTAINER),
    repository="octo/hello",
    base_ref="main",
    clone_url="https://github.test/octo/hello.git",
    thread=Thread(7, "Totals are off by a cent", "See the invoice.", "bob", _ISSUE),
    trigger=Trigger("issue_comment", 11, f"{_ISSUE}#issuecomment-11", "2026-01-02T03:04:05Z"),
)


def _modified(path: str, additions: int, removals: int, suspicion: str = "") -> ChangedFile:
    return ChangedFile(path, "modified", "100644", "0" * 64, additions, removals, suspicion)


OUTCOME = Outcome(
    schema=1,
    version="0.1.0",
    status=Status.CHANGED,
    stop_reason=StopReason.END_TURN,
    reason="",
    request=REQUEST,
    base_sha="a" * 40,
    model="anthropic/example",
    sandbox="bubblewrap 0.8.0",
    started_at="2026-01-02T03:04:10Z",
    ended_at="2026-01-02T03:05:44Z",
    turns=6,
    usage=Usage(input=1200, cache_read=8000, output=345),
    cost=0.0421,
    description=Description(
        title="Round totals once, at the end",
        summary="Totals were rounded line by line. They are now summed exactly and rounded once.",
        notes="`Invoice.total` is the only caller.",
    ),
    checks=(
        CheckResult(
            "tests",
            "python3 -m unittest",
            CheckRun(CheckState.FAILED, 1, 0.41, "FAILED (failures=1)"),
            CheckRun(CheckState.PASSED, 0, 0.38, "OK"),
            tests=TestChanges(before=TestCounts(passed=2, failed=1), after=TestCounts(passed=3)),
        ),
    ),
    files=(_modified("invoice.py", 3, 1),),
)


def problem(number: int = 1, tool: str = "ruff", path: str = "invoice.py", **fields: Any) -> Problem:
    """A problem on line `number`, different from those on other lines."""
    default = Problem(tool, path, number, 5, Severity.WARNING, "F401", f"`module_{number}` is never used")
    return default._replace(**fields)


TY_PROBLEM = Problem(
    "ty", "a.py", 3, 5, Severity.ERROR, "invalid", "Expected `int`, found `str`", snippet="f('x')"
)


def ty_problem(**fields: Any) -> Problem:
    """`TY_PROBLEM` with some fields replaced."""
    return TY_PROBLEM._replace(**fields)


_WRONG_RETURN = problem(
    7, "ty", severity=Severity.ERROR, code="invalid-return-type",
    message="Return type does not match: expected `Decimal`, found `int`",
)  # fmt: skip
_UNAVAILABLE = ToolRun(Answer.UNAVAILABLE, note="tsc is not installed in this project")

PASSED, FAILED = (
    CheckRun(CheckState.PASSED, 0, 1.26, "OK"),
    CheckRun(CheckState.FAILED, 1, 75.0, "E  assert 1 == 2\n```\nFAILED (failures=1)"),
)

TESTED = CheckResult(
    "unit",
    "python3 -m pytest -q",
    FAILED,
    PASSED,
    flaky=True,
    tests=TestChanges(
        before=TestCounts(passed=40, failed=3),
        after=TestCounts(passed=43, failed=0, skipped=1),
        mended=("tests/test_invoice.py::test_rounds_once", "tests/test_invoice.py::test_no_lines"),
        appeared=("tests/test_invoice.py::test_halves",),
        vanished=("tests/test_invoice.py::test_each_line",),
        flaky=("tests/test_mail.py::test_is_sent",),
        newly_flaky=("tests/test_mail.py::test_is_sent",),
        counts=(("mended", 2), ("appeared", 1), ("vanished", 1), ("flaky", 1), ("newly_flaky", 1)),
        source="JUnit XML",
    ),
)
"""A check with test results: one or two of each kind of change, but none that broke."""

EVIDENCE = OUTCOME._replace(
    checks=(TESTED,),
    files=(
        _modified("invoice.py", 9, 2, "adds 2 suppressions: # noqa (line 3), # type: ignore (line 12)"),
        _modified("tests/test_invoice.py", 6, 4, "removes 1 assertion (line 9 before)"),
    ),
    diagnostics=(
        CheckerComparison(
            "ruff", "ruff 0.14.1", "ruff check --output-format json",
            ToolRun(Answer.COMPLETE, 4, 0.11), ToolRun(Answer.COMPLETE, 3, 0.1),
            new=(problem(3),), fixed=(problem(1), problem(2)), new_count=1, fixed_count=2, remaining=2,
        ),
        CheckerComparison(
            "ty", "0.0.4", "ty check --output-format gitlab",
            ToolRun(Answer.COMPLETE, 0, 0.52), ToolRun(Answer.COMPLETE, 1, 0.48), new=(_WRONG_RETURN,), new_count=1,
        ),
        CheckerComparison("tsc", "", "npx tsc --noEmit", _UNAVAILABLE, _UNAVAILABLE),
    ),
    servers=(ServerUse("ty", "0.0.4"),),
)  # fmt: skip
"""An outcome with every kind of evidence."""


def make_outcome(**fields: Any) -> Outcome:
    return OUTCOME._replace(**fields)


def make_request(**fields: Any) -> Request:
    return REQUEST._replace(**fields)


class _Log(io.StringIO):
    encoding = "utf-8"


def result_lines(outcome: Outcome, **fields: Any) -> list[str]:
    """The lines that a log gets of a run's result."""
    out = _Log()
    print_result(outcome, Printer(out, {}), **fields)
    return out.getvalue().splitlines()
