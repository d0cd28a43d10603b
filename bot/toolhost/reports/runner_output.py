"""Parse test names and states from the output of known runners. Tests that are not printed are unknown: see
`ParsedTests.whole`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from bot.ecosystems.registry import ecosystems
from bot.toolhost.reports import compiled_output, javascript_output, python_output, reasons
from bot.toolhost.reports.test_results import FAILED, PASSED, SKIPPED, ParsedTests, path_of

LARGEST = 8 * 1024 * 1024
_LONGEST_LINE = 2_000

_Reader = Callable[[Sequence[str]], ParsedTests | None]
_Explainer = Callable[[Sequence[str]], Iterator[reasons.Reason]]


def parse(text: str, drop: str = "") -> ParsedTests | None:
    """The tests of all known runners in the output; `None` if there are none. `drop` is removed: the root's path."""
    if drop:
        text = text.replace(drop, "")
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.split("\n")]
    whole: ParsedTests | None = None
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
    return whole or _counted(lines)


def _counted(lines: Sequence[str]) -> ParsedTests | None:
    """The numbers by the lines in which runners that are not read otherwise sum up; no test is named."""
    patterns = [re.compile(pattern) for one in ecosystems() for pattern in one.counts]
    totals = dict.fromkeys((PASSED, FAILED, SKIPPED), 0)
    for line in lines:
        match = next((match for pattern in patterns if (match := pattern.fullmatch(line))), None)
        if match is None:
            continue
        found = {name: int(number or 0) for name, number in match.groupdict().items()}
        failed, skipped = found.get("failed", 0) + found.get("errors", 0), found.get("skipped", 0)
        totals[FAILED] += failed
        totals[SKIPPED] += skipped
        totals[PASSED] += found.get("passed", max(found.get("ran", 0) - failed - skipped, 0))
    if not any(totals.values()):
        return None
    tests = ParsedTests("the output's numbers", whole=False)
    tests.totals = totals
    return tests


def sessions_of_pytest(text: str) -> int:
    """The number of runs of pytest in this output: its report is about the last one only."""
    lines = (line.rstrip() for line in text.split("\n") if " in " in line[-200:])
    return sum(bool(python_output.PYTEST_SUMMARY.fullmatch(line)) for line in lines)


_POINT = re.compile(r"( *)(ok|not ok)\b(?: +(\d+))?(?: +- +| +)?(.*)")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\b.*", re.IGNORECASE)
_PLAN = re.compile(r"1\.\.(\d+)(?: .*)?")
_DEEPEST = 50

_Path = tuple[str, ...]


def tap(lines: Sequence[str]) -> ParsedTests | None:
    """A test point with subtests is not counted itself: it fails with them."""
    if not any(line.startswith("TAP version 1") or _PLAN.fullmatch(line) for line in lines):
        return None
    below: dict[int, list[tuple[_Path, str]]] = {}
    block: str | None = None
    seen = 0
    for line in lines:
        if block is not None:
            block = None if line == f"{block}..." else block
            continue
        if line.strip() == "---":
            block = line[: line.index("-")]
        elif match := _POINT.fullmatch(line):
            depth = min(len(match[1]) // 4, _DEEPEST)
            seen += 1
            _point(below, depth, match[2], match[4] or f"test {match[3] or seen}")
    if not seen:
        return None
    tests = ParsedTests("TAP output", whole=not any(line.startswith("Bail out!") for line in lines))
    for points in below.values():
        for path, state in points:
            tests.add(path_of(path), state)
    return tests


def _point(below: dict[int, list[tuple[_Path, str]]], depth: int, word: str, described: str) -> None:
    directive = _DIRECTIVE.search(described)
    name = _DIRECTIVE.sub("", described).replace("\\#", "#").strip()
    children = below.pop(depth + 1, [])
    for deeper in [other for other in below if other > depth]:
        del below[deeper]
    here = below.setdefault(depth, [])
    if children:
        here += [((name, *path), state) for path, state in children]
        if word == "ok" or any(state == FAILED for _, state in children):
            return
    here.append(((name,), SKIPPED if directive else PASSED if word == "ok" else FAILED))


_RSPEC_END = re.compile(
    r"(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred .*)?"
)
_RSPEC_BAD = re.compile(r"rspec '?(?:\./)?([^\s':\[]+)(?::\d+|\[[\d:]+\])?'?(?: # (.+))?")

_PHPUNIT = re.compile(r"PHPUnit \d+\.\d.*")
_PHPUNIT_GOOD = re.compile(r"OK \((\d+) tests?, \d+ assertions?\)")
_PHPUNIT_END = re.compile(r"Tests: (\d+), Assertions: \d+(?:, [A-Za-z ]+: \d+)*\.")
_PHPUNIT_FIGURE = re.compile(r"(Errors|Failures|Skipped|Incomplete): (\d+)")
_PHPUNIT_PART = re.compile(r"There (?:was|were) \d+ (.+):")
_BAD_PARTS = ("error", "errors", "failure", "failures")


def rspec(lines: Sequence[str]) -> ParsedTests | None:
    """By its list of failed examples, each with its file and its words: a line moves."""
    ends = [match for line in lines if (match := _RSPEC_END.fullmatch(line))]
    if not ends:
        return None
    tests = ParsedTests("RSpec's output", whole=False)
    named = (match for line in lines if line.startswith("rspec ") and (match := _RSPEC_BAD.fullmatch(line)))
    for name in dict.fromkeys(f"{match[1]} {match[2] or ''}".rstrip() for match in named):
        tests.add(name, FAILED)
    ran, failed, pending, outside = (sum(int(end[index] or 0) for end in ends) for index in range(1, 5))
    tests.totals = {PASSED: max(ran - failed - pending, 0), FAILED: failed + outside, SKIPPED: pending}
    return tests


def phpunit(lines: Sequence[str]) -> ParsedTests | None:
    """By its lists of errors and failures."""
    if not any(_PHPUNIT.fullmatch(line) for line in lines):
        return None
    ran = 0
    figures = dict.fromkeys(("Errors", "Failures", "Skipped", "Incomplete"), 0)
    tests = ParsedTests("PHPUnit's output", whole=False)
    part = ""
    bad: dict[str, None] = {}
    for line in lines:
        if match := _PHPUNIT_PART.fullmatch(line):
            part = match[1]
        elif part in _BAD_PARTS and (match := reasons.PHPUNIT_TEST.fullmatch(line)):
            bad[match[1]] = None
        elif match := _PHPUNIT_GOOD.fullmatch(line) or _PHPUNIT_END.fullmatch(line):
            part, ran = "", ran + int(match[1])
            for word, number in _PHPUNIT_FIGURE.findall(line):
                figures[word] += int(number)
    if not ran:
        return None
    for name in bad:
        tests.add(name, FAILED)
    failed, skipped = figures["Errors"] + figures["Failures"], figures["Skipped"] + figures["Incomplete"]
    tests.totals = {PASSED: max(ran - failed - skipped, 0), FAILED: failed, SKIPPED: skipped}
    return tests


def _unexplained(lines: Sequence[str]) -> Iterator[reasons.Reason]:
    """For runners whose word for the state is the reason."""
    return iter(())


_RUNNERS: Sequence[tuple[_Reader, _Explainer]] = (
    (python_output.pytest, reasons.pytest),
    (python_output.unittest, reasons.unittest),
    (compiled_output.go, reasons.go),
    (compiled_output.go_json, reasons.go_json),
    (compiled_output.cargo, reasons.rust),
    (compiled_output.nextest, reasons.rust),
    (compiled_output.ctest, _unexplained),
    (compiled_output.meson, _unexplained),
    (compiled_output.automake, _unexplained),
    (javascript_output.jest, reasons.jest),
    (javascript_output.vitest, reasons.vitest),
    (javascript_output.mocha, reasons.mocha),
    (javascript_output.ava, reasons.ava),
    (javascript_output.node, reasons.node),
    (rspec, reasons.rspec),
    (phpunit, reasons.phpunit),
    (tap, reasons.tap),
)
