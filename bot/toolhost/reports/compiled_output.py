"""Parse the test output of `go test`, cargo, ctest, `meson test` and Automake's `make check`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from bot.toolhost.reports.test_results import FAILED, PASSED, SKIPPED, ParsedTests

_GO_PACKAGE = re.compile(r"(ok  |FAIL|---|\?   )\t(\S+)(?:\t.*| \[.*\])?")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (\S.*?) \([\d.]+s\)")
_GO_STATES = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}

_EVENT = ("Package", "Test", "Action")
_GO_ACTIONS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}

_CARGO_RESULT = re.compile(r"test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; .*")
CARGO_RUNS = re.compile(r" +(?:Running (?:unittests )?(\S+)|Doc-tests \S+).*")
_CARGO_STATES = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}

_NEXTEST_END = re.compile(r" +Summary \[.*\] +(?:\d+/)?(\d+) tests? run: (.*)")
_NEXTEST_TEST = re.compile(
    r" +(PASS|LEAK|SLOW|FAIL|TIMEOUT|ABORT|SIG\w+|FLAKY \d+/\d+) \[[^\]]*\](?: \(.*?\))? (\S+) (\S.*)"
)
_NEXTEST_FIGURE = re.compile(r"(\d+) (passed|failed|timed out|exec failed|skipped)")


def go(lines: Sequence[str]) -> ParsedTests | None:
    """Subtests count instead of their parent, which fails with them. Without `-v` only failed tests are named."""
    if not any(_GO_PACKAGE.fullmatch(line) for line in lines):
        return None
    whole = any(line.startswith("=== RUN ") for line in lines)
    tests = ParsedTests("go test's output", whole=whole)
    here: dict[str, str] = {}
    for line in lines:
        if match := _GO_TEST.fullmatch(line):
            here[match[2]] = _GO_STATES[match[1]]
        elif match := _GO_PACKAGE.fullmatch(line):
            _package(tests, match[1], match[2], here)
            here = {}
    return tests


def go_json(lines: Sequence[str]) -> ParsedTests | None:
    """`go test -json`, one event a line, those of several packages mixed."""
    tests = ParsedTests("go test -json's output")
    packages: dict[str, dict[str, str]] = {}
    ended = False
    for line in lines:
        package, test, action = _event(line)
        if not package or action not in _GO_ACTIONS:
            continue
        if test:
            packages.setdefault(package, {})[test] = _GO_ACTIONS[action]
        else:
            ended = True
            _package(tests, "FAIL" if action == "fail" else "ok", package, packages.pop(package, {}))
    for package, here in packages.items():  # of one that was killed
        _package(tests, "ok", package, here)
    return tests if ended else None


def _event(line: str) -> tuple[str, str, str]:
    """Its package, test and action, as far as it has them."""
    if not line.startswith("{") or '"Action"' not in line:
        return "", "", ""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return "", "", ""
    package, test, action = (word if isinstance(word := event.get(key), str) else "" for key in _EVENT)
    return package, test, action


def _package(tests: ParsedTests, word: str, package: str, here: dict[str, str]) -> None:
    parents = {name.rpartition("/")[0] for name in here}
    leaves = {name: state for name, state in here.items() if name not in parents or _fails_alone(name, here)}
    for name, state in leaves.items():
        if tests.whole or state == FAILED:
            tests.add(f"{package}.{name}", state)
    if word == "FAIL" and FAILED not in leaves.values():
        tests.add(package, FAILED)  # it did not build, or died


def _fails_alone(name: str, here: dict[str, str]) -> bool:
    below = [state for other, state in here.items() if other.startswith(f"{name}/")]
    return here[name] == FAILED and FAILED not in below


def cargo(lines: Sequence[str]) -> ParsedTests | None:
    """Every test is named; the source file of the binary is part of the name."""
    results = [match for line in lines if (match := _CARGO_RESULT.fullmatch(line))]
    if not results:
        return None
    tests = ParsedTests("cargo test's output")
    where = ""
    for line in lines:
        if match := CARGO_RUNS.fullmatch(line):
            where = match[1] or ""  # the name of a test in documentation begins with its file
        elif line.startswith("test ") and (state := _cargo_state(line)):
            name = line[len("test ") :].partition(" ... ")[0].removesuffix(" - should panic")
            tests.add(f"{where}::{name}" if where else name, state)
    if sum(tests.counts.values()) != sum(int(number) for match in results for number in match.groups()):
        tests.whole = False
        tests.totals = {
            state: sum(int(match[index]) for match in results)
            for index, state in enumerate((PASSED, FAILED, SKIPPED), 1)
        }
    return tests


def _cargo_state(line: str) -> str:
    """The state in a test's line. Output of the test may precede it; the reason for a skip follows it."""
    state_text = line.partition(" ... ")[2]
    if state_text.startswith("ignored"):
        return SKIPPED
    return next((state for word, state in _CARGO_STATES.items() if state_text.endswith(word)), "")


def nextest(lines: Sequence[str]) -> ParsedTests | None:
    """Every test that ran is named, failed ones again at the end; skipped ones are only counted."""
    ends = [match for line in lines if (match := _NEXTEST_END.fullmatch(line))]
    if not ends:
        return None
    states: dict[str, str] = {}
    for line in lines:
        if match := _NEXTEST_TEST.fullmatch(line):
            good = match[1].startswith(("PASS", "LEAK", "FLAKY"))
            if match[1] != "SLOW":  # it goes on
                states[f"{match[2]} {match[3]}"] = PASSED if good else FAILED
    totals = dict.fromkeys((PASSED, FAILED, SKIPPED), 0)
    for end in ends:
        for number, word in _NEXTEST_FIGURE.findall(end[2]):
            totals[word if word in totals else FAILED] += int(number)
    whole = len(states) == sum(int(end[1]) for end in ends)
    tests = ParsedTests("cargo nextest's output", whole=whole)
    for name, state in states.items():
        if whole or state == FAILED:
            tests.add(name, state)
    tests.totals = totals
    return tests


_CTEST_END = re.compile(r"\d+% tests passed, \d+ tests? failed out of (\d+)")
_CTEST_TEST = re.compile(
    r" *\d+/\d+ Test +#\d+: (\S.*?) \.*(?: +|\*\*\*)(Passed|Skipped|Not Run \(Disabled\)|[A-Z]\w*).*"
)
_CTEST_STATES = {"Passed": PASSED, "Skipped": SKIPPED, "Not Run (Disabled)": SKIPPED}


def ctest(lines: Sequence[str]) -> ParsedTests | None:
    """Every test is named."""
    return _named(lines, _CTEST_END, _CTEST_TEST, _CTEST_STATES, "ctest's output")


_MESON_END = re.compile(r"Ok: +\d+.*")
_MESON_TEST = re.compile(r" *\d+/\d+ (\S.*?) +(OK|SKIP|FAIL|EXPECTEDFAIL|UNEXPECTEDPASS|TIMEOUT|ERROR)\b.*")
_MESON_STATES = {"OK": PASSED, "EXPECTEDFAIL": PASSED, "SKIP": SKIPPED}


def meson(lines: Sequence[str]) -> ParsedTests | None:
    """Every test is named; the project's name and the suite stand before it."""
    return _named(lines, _MESON_END, _MESON_TEST, _MESON_STATES, "meson test's output")


_AUTOMAKE_END = re.compile(r"# TOTAL: +\d+")
_AUTOMAKE_TEST = re.compile(r"(PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): (\S.*)")
_AUTOMAKE_STATES = {"PASS": PASSED, "XFAIL": PASSED, "SKIP": SKIPPED}


def automake(lines: Sequence[str]) -> ParsedTests | None:
    """Every test program is named, failed ones twice."""
    if not any(_AUTOMAKE_END.fullmatch(line) for line in lines):
        return None
    tests = ParsedTests("make check's output")
    states = {match[2]: match[1] for line in lines if (match := _AUTOMAKE_TEST.fullmatch(line))}
    for name, word in states.items():
        _add(tests, name, word, _AUTOMAKE_STATES)
    return tests


def _named(
    lines: Sequence[str], end: re.Pattern[str], test: re.Pattern[str], states: Mapping[str, str], source: str
) -> ParsedTests | None:
    """The tests of a runner that prints a line for each, its name and then a word for its state."""
    if not any(end.fullmatch(line) for line in lines):
        return None
    tests = ParsedTests(source)
    for line in lines:
        if match := test.fullmatch(line):
            _add(tests, match[1], match[2], states)
    return tests


def _add(tests: ParsedTests, name: str, word: str, states: Mapping[str, str]) -> None:
    """Add a test by the runner's word for its state, which is also the reason if it fails."""
    state = states.get(word, FAILED)
    tests.add(name, state)
    if state == FAILED:
        tests.explain(name, word)
