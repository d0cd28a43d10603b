"""What jest, vitest, mocha and node's own runner print of their tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.workshop.host.reports.found import FAILED, PASSED, SKIPPED, STATES, Found, path_of

_MARKS = {
    "✓": PASSED, "✔": PASSED, "√": PASSED, "✕": FAILED, "✖": FAILED, "×": FAILED, "○": SKIPPED, "✎": SKIPPED,
    "↓": SKIPPED, "﹣": SKIPPED, "-": SKIPPED,
}  # fmt: skip
_FIGURE = re.compile(r"(\d+) ([a-z]+)")
_WORDS = {
    "passed": PASSED, "failed": FAILED, "skipped": SKIPPED, "todo": SKIPPED, "pending": SKIPPED, "passing": PASSED,
    "failing": FAILED, "pass": PASSED, "fail": FAILED, "cancelled": FAILED,
}  # fmt: skip

_JEST_END = re.compile(r"Tests: +(?:\d+ [a-z]+, )*\d+ total")
_JEST_FILE = re.compile(r"(PASS|FAIL) +(\S+)(?: \([\d.]+ m?s\))?")
_JEST_LINE = re.compile(r"( +)([✓✕○✎]) (?:(?:skipped|todo) )?(.+?)(?: \([\d.]+ m?s\))?")
_JEST_BAD = re.compile(r"  ● (.+)")
_NOT_RUN = "Test suite failed to run"

_VITEST_END = re.compile(r" +Tests  +(?:\d+ [a-z]+(?: \| )?)+ \(\d+\)")
_VITEST_LINE = re.compile(r" +([✓×↓]) (\S.* > .*?)(?: \d+m?s)?")
_VITEST_BAD = re.compile(r" FAIL  (\S.*)")

_MOCHA_END = re.compile(r"  (\d+) (passing|failing|pending)(?: \(.*\))?")
_MOCHA_TEST = re.compile(r"( {2,})(?:(✓|✔|√|-)|(\d+\))) (.+?)(?: \(\d+ms\))?")
_SUITE = re.compile(r"( {2,})(\S.*)")

_NODE_FIGURE = re.compile(r"ℹ (pass|fail|cancelled|skipped|todo) (\d+)")
_NODE_LINE = re.compile(r"( *)([✔✖﹣▶]) (.*?)(?: \([\d.]+ms\))?((?: # (?:SKIP|TODO).*)?)")
_NODE_TIMED = re.compile(r".* \([\d.]+ms\)(?: #.*)?")


def jest(lines: Sequence[str]) -> Found | None:
    """By the tree of `--verbose`, which it prints of a single file too; else those that fail."""
    ends = [line for line in lines if _JEST_END.fullmatch(line)]
    if not ends:
        return None
    suites: dict[int, str] = {}
    file, named, bad = "", [], []
    for line in lines:
        if found := _JEST_FILE.fullmatch(line):
            file, suites = found[2].removeprefix("./"), {}
        elif file and (found := _JEST_LINE.fullmatch(line)):
            depth = len(found[1])
            named.append((path_of((file, *_above(suites, depth), found[3])), _MARKS[found[2]]))
        elif file and (found := _JEST_BAD.fullmatch(line)):
            suites = {}
            if found[1] == _NOT_RUN:
                bad.append(file)
            elif " › " in found[1] or found[1] != "Console":
                bad.append(path_of((file, *found[1].split(" › "))))
        elif file and (found := _SUITE.fullmatch(line)):
            suites = {depth: name for depth, name in suites.items() if depth < len(found[1])}
            suites[len(found[1])] = found[2]
    return _of("jest's output", named, bad, _totals(ends))


def vitest(lines: Sequence[str]) -> Found | None:
    """By the lines of its verbose reporter; else those that fail."""
    ends = [line for line in lines if _VITEST_END.fullmatch(line)]
    if not ends:
        return None
    named = [(found[2], _MARKS[found[1]]) for line in lines if (found := _VITEST_LINE.fullmatch(line))]
    bad = [found[1] for line in lines if (found := _VITEST_BAD.fullmatch(line))]
    return _of("vitest's output", named, bad, _totals(line.rpartition(" (")[0] for line in ends))


def mocha(lines: Sequence[str]) -> Found | None:
    """By the tree of its `spec` reporter, the one it has where nobody chose another."""
    ends = [line for line in lines if _MOCHA_END.fullmatch(line)]
    if not any("passing" in line for line in ends):
        return None
    suites: dict[int, str] = {}
    named: list[tuple[str, str]] = []
    for line in lines:
        if _MOCHA_END.fullmatch(line):
            suites = {}
            if "passing" in line:
                break
        elif found := _MOCHA_TEST.fullmatch(line):
            state = FAILED if found[3] else _MARKS[found[2]]
            named.append((path_of((*_above(suites, len(found[1])), found[4])), state))
        elif found := _SUITE.fullmatch(line):
            suites = {depth: name for depth, name in suites.items() if depth < len(found[1])}
            suites[len(found[1])] = found[2]
    return _of("mocha's output", named, [name for name, state in named if state == FAILED], _totals(ends))


def node(lines: Sequence[str]) -> Found | None:
    """By the tree of the `spec` reporter of `node --test`."""
    figures = [found for line in lines if (found := _NODE_FIGURE.fullmatch(line))]
    if not figures:
        return None
    suites: dict[int, str] = {}
    named: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("ℹ "):
            suites = {}
            continue
        if line == "✖ failing tests:":
            break
        found = _NODE_LINE.fullmatch(line)
        if found is None:
            continue
        depth, mark, name, directive = len(found[1]), found[2], found[3], found[4]
        if mark == "▶" and not _NODE_TIMED.fullmatch(line):
            suites = {other: suite for other, suite in suites.items() if other < depth} | {depth: name}
        elif suites.get(depth) == name or mark == "▶":
            suites = {other: suite for other, suite in suites.items() if other < depth}
        else:
            state = SKIPPED if "# SKIP" in directive or "# TODO" in directive else _MARKS[mark]
            named.append((path_of((*_above(suites, depth), name)), state))
    totals = dict.fromkeys(STATES, 0)
    for found in figures:
        totals[_WORDS[found[1]]] += int(found[2])
    return _of("node --test's output", named, [name for name, state in named if state == FAILED], totals)


def _above(suites: dict[int, str], depth: int) -> list[str]:
    return [suites[other] for other in sorted(suites) if other < depth]


def _totals(ends: Iterable[str]) -> dict[str, int]:
    totals = dict.fromkeys(STATES, 0)
    for end in ends:
        for number, word in _FIGURE.findall(end):
            if word in _WORDS:
                totals[_WORDS[word]] += int(number)
    return totals


def _of(source: str, named: Sequence[tuple[str, str]], bad: Iterable[str], totals: dict[str, int]) -> Found:
    """All that are `named` where they are as many as the runner says, else only those that fail."""
    if named and len(named) == sum(totals.values()):
        tests = Found(source)
        for name, state in named:
            tests.add(name, state)
        return tests
    tests = Found(source, whole=False)
    for name in dict.fromkeys(bad):
        tests.add(name, FAILED)
    tests.totals = totals
    return tests
