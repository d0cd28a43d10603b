"""The test output of pytest and unittest."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Ends, ParsedTests, Runner, by_names, tests_of

_PYTEST_SUMMARY = re.compile(
    r"(?:=+ )?(?:no tests ran|\d+ [a-z]+(?:, \d+ [a-z]+(?: [a-z]+)?)*) in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?"
)
_SHORT = re.compile(r"(?:FAILED|ERROR) (.+?)(?: - .*)?")

_RAN = re.compile(r"Ran (\d+) tests? in [\d.]+s")
_UNITTEST_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?")
_UNITTEST_LINE = re.compile(r"(\S+) \(([\w.<>]+)\)(.*)")
_UNITTEST_STATES = {
    "ok": PASSED,
    "FAIL": FAILED,
    "ERROR": FAILED,
    "expected failure": SKIPPED,
    "unexpected success": FAILED,
}
_UNITTEST_BAD = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([\w.<>]+)\).*")
_UNITTEST_RULES = ("=" * 70, "-" * 70)
_FIXTURES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_NOT_LOADED = "unittest.loader._FailedTest"


def pytest(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The failed tests and the files that could not be collected, by the short summary: where names matter, pytest
    writes a report."""
    inside = False
    for line in lines:
        if "short test summary info" in line and line.startswith("="):
            inside = True
        elif _PYTEST_SUMMARY.fullmatch(line):
            inside = False
        elif inside and (match := _SHORT.fullmatch(line)):
            yield match[1], FAILED


def unittest(lines: Sequence[str], ends: Ends) -> ParsedTests:
    """The tests by the lines of `-v`; else the failed ones, by the headers of their tracebacks."""
    ran = sum(int(end[1]) for end in ends)
    headers = filter(None, map(_UNITTEST_BAD.fullmatch, lines))
    bad = dict.fromkeys(_unittest_name(match[1], match[2]) for match in headers)
    states = _unittest_lines(lines)
    named = [*(one for one in states if one[0] not in bad), *((name, FAILED) for name in bad)]
    if states and sum(not name.endswith(_FIXTURES) for name, _ in states) >= ran:
        tests = ParsedTests("unittest's output")
        for name, state in named:
            tests.add(name, state)
        return tests
    ended = " ".join(filter(_UNITTEST_END.fullmatch, lines))
    skipped = sum(map(int, re.findall(r"(?:skipped|expected failures)=(\d+)", ended)))
    failed = sum(not name.endswith(_FIXTURES) for name in bad)
    totals = {PASSED: max(ran - failed - skipped, 0), FAILED: failed, SKIPPED: skipped}
    return tests_of("unittest's output", named, totals, only_failed=True)


def _unittest_lines(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Each test with its state. A test's own output may stand between the two, on the same line or on others."""
    states: list[tuple[str, str]] = []
    pending, inside = "", True
    for line in lines:
        if line in _UNITTEST_RULES:
            pending, inside = "", False
        elif not inside:
            # After the tracebacks of one run another may follow.
            inside = _UNITTEST_END.fullmatch(line) is not None
        else:
            rest = line
            if started := _UNITTEST_LINE.fullmatch(line):
                pending, rest = _unittest_name(started[1], started[2]), started[3]
            state = next((state for word, state in _UNITTEST_STATES.items() if rest.endswith(word)), "")
            if rest.endswith(("'", '"')) and "skipped " in rest:
                state = SKIPPED
            if pending and state:
                states.append((pending, state))
                pending = ""
    return states


def _unittest_name(test: str, where: str) -> str:
    """The dotted name, which Python 3.11 prints whole and those before it without the method."""
    if where == _NOT_LOADED:
        return test
    where = where.removeprefix(f"{_NOT_LOADED}.")
    return where if where == test or where.endswith(f".{test}") else f"{where}.{test}"


RUNNERS = (
    Runner(by_names("pytest's output", pytest, only_failed=True), _PYTEST_SUMMARY, "pytest"),
    Runner(unittest, _RAN),
)
COUNTS = (r"(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped.*",)
