"""Tests by name from what known runners print. What is not printed is not known: see `Found.whole`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bot.workshop.host.reports import compiled_output, dynamic_output, python_output, reasons, script_output
from bot.workshop.host.reports.found import FAILED, Found
from bot.workshop.host.reports.tap import tap

LARGEST = 8 * 1024 * 1024
_LONGEST_LINE = 2_000

_Reader = Callable[[Sequence[str]], Found | None]
_Explainer = Callable[[Sequence[str]], Iterator[reasons.Reason]]
_RUNNERS: Sequence[tuple[_Reader, _Explainer]] = (
    (python_output.pytest, reasons.pytest),
    (python_output.unittest, reasons.unittest),
    (compiled_output.go, reasons.go),
    (compiled_output.go_json, reasons.go_json),
    (compiled_output.cargo, reasons.rust),
    (compiled_output.nextest, reasons.rust),
    (script_output.jest, reasons.jest),
    (script_output.vitest, reasons.vitest),
    (script_output.mocha, reasons.mocha),
    (script_output.node, reasons.node),
    (dynamic_output.rspec, reasons.rspec),
    (dynamic_output.phpunit, reasons.phpunit),
    (tap, reasons.tap),
)


def parse(text: str, drop: str = "") -> Found | None:
    """The tests of all known runners whose words these are; `None` where there is none. `drop` is as for JUnit."""
    if drop:
        text = text.replace(drop, "")
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.split("\n")]
    whole: Found | None = None
    for runner, explainer in _RUNNERS:
        tests = runner(lines)
        if tests is None:
            continue
        if tests.names[FAILED]:
            for name, why in explainer(lines):
                tests.explain(name, reasons.one_line(why))
        if whole is None:
            whole = tests
        else:
            whole.merge(tests)
    return whole


def sessions_of_pytest(text: str) -> int:
    """How many runs of pytest ended in this output: its report is of the last one only."""
    lines = (line.rstrip() for line in text.split("\n") if " in " in line[-200:])
    return sum(bool(python_output.PYTEST_SUMMARY.fullmatch(line)) for line in lines)
