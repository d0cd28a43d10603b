"""The test output of jest, vitest, mocha, ava and Node's own runner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bot.ecosystems.test_results import (
    FAILED,
    NUMBERED,
    PASSED,
    REASON_LINES,
    SKIPPED,
    STATES,
    ParsedTests,
    Reason,
    Runner,
    path_of,
)

_MARKS = {
    "✓": PASSED,
    "✔": PASSED,
    "√": PASSED,
    "✕": FAILED,
    "✖": FAILED,
    "✘": FAILED,
    "×": FAILED,
    "○": SKIPPED,
    "✎": SKIPPED,
    "↓": SKIPPED,
    "﹣": SKIPPED,
    "-": SKIPPED,
}
_FIGURE = re.compile(r"(\d+) ([a-z]+)")
_WORDS = {
    "passed": PASSED,
    "failed": FAILED,
    "skipped": SKIPPED,
    "todo": SKIPPED,
    "pending": SKIPPED,
    "passing": PASSED,
    "failing": FAILED,
    "pass": PASSED,
    "fail": FAILED,
    "cancelled": FAILED,
}

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

_AVA_END = re.compile(r"  \d+ tests? (?:passed|failed|skipped|todo)")
_AVA_LINE = re.compile(r"  ([✔✘-]) (?:\[[a-z ]+\]:? )?(.+?)(?: \([\d.]+m?s\))?")
_AVA_RULE = "  ─"

_NODE_FIGURE = re.compile(r"ℹ (pass|fail|cancelled|skipped|todo) (\d+)")
_NODE_LINE = re.compile(r"( *)([✔✖﹣▶]) (.*?)(?: \([\d.]+ms\))?((?: # (?:SKIP|TODO).*)?)")
_NODE_TIMED = re.compile(r".* \([\d.]+ms\)(?: #.*)?")


def jest(lines: Sequence[str]) -> ParsedTests | None:
    """The tests by the tree of `--verbose`, which is also printed for a single file; else the failed ones."""
    ends = [line for line in lines if _JEST_END.fullmatch(line)]
    if not ends:
        return None
    suites: dict[int, str] = {}
    file, named, bad = "", [], []
    for line in lines:
        if match := _JEST_FILE.fullmatch(line):
            file, suites = match[2].removeprefix("./"), {}
        elif file and (match := _JEST_LINE.fullmatch(line)):
            depth = len(match[1])
            named.append((path_of((file, *_above(suites, depth), match[3])), _MARKS[match[2]]))
        elif file and (match := _JEST_BAD.fullmatch(line)):
            suites = {}
            if match[1] == _NOT_RUN:
                bad.append(file)
            elif " › " in match[1] or match[1] != "Console":
                bad.append(path_of((file, *match[1].split(" › "))))
        elif file and (match := _SUITE.fullmatch(line)):
            suites = {depth: name for depth, name in suites.items() if depth < len(match[1])}
            suites[len(match[1])] = match[2]
    return _of("jest's output", named, bad, _totals(ends))


def vitest(lines: Sequence[str]) -> ParsedTests | None:
    """The tests by the lines of the verbose reporter; else the failed ones."""
    ends = [line for line in lines if _VITEST_END.fullmatch(line)]
    if not ends:
        return None
    named = [(match[2], _MARKS[match[1]]) for line in lines if (match := _VITEST_LINE.fullmatch(line))]
    bad = [match[1] for line in lines if (match := _VITEST_BAD.fullmatch(line))]
    return _of("vitest's output", named, bad, _totals(line.rpartition(" (")[0] for line in ends))


def mocha(lines: Sequence[str]) -> ParsedTests | None:
    """The tests by the tree of the `spec` reporter, which is the default."""
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
        elif match := _MOCHA_TEST.fullmatch(line):
            state = FAILED if match[3] else _MARKS[match[2]]
            named.append((path_of((*_above(suites, len(match[1])), match[4])), state))
        elif match := _SUITE.fullmatch(line):
            suites = {depth: name for depth, name in suites.items() if depth < len(match[1])}
            suites[len(match[1])] = match[2]
    return _of("mocha's output", named, [name for name, state in named if state == FAILED], _totals(ends))


def ava(lines: Sequence[str]) -> ParsedTests | None:
    """By the lines of its default reporter; the line of a failed test ends with the error, its bare name comes
    later."""
    if _AVA_RULE not in lines or not any(_AVA_END.fullmatch(line) for line in lines):
        return None
    rule = lines.index(_AVA_RULE)
    titles = {line[2:] for line in lines[rule:] if re.fullmatch(r"  \S.*", line)}
    tests = ParsedTests("ava's output")
    for line in lines[:rule]:
        if match := _AVA_LINE.fullmatch(line):
            state = _MARKS[match[1]]
            known = (title for title in titles if state == FAILED and match[2].startswith(title))
            tests.add(path_of(max(known, key=len, default=match[2]).split(" › ")), state)
    return tests


def node(lines: Sequence[str]) -> ParsedTests | None:
    """By the tree of the `spec` reporter of `node --test`."""
    figures = [match for line in lines if (match := _NODE_FIGURE.fullmatch(line))]
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
        match = _NODE_LINE.fullmatch(line)
        if match is None:
            continue
        depth, mark, name, directive = len(match[1]), match[2], match[3], match[4]
        if mark == "▶" and not _NODE_TIMED.fullmatch(line):
            suites = {other: suite for other, suite in suites.items() if other < depth} | {depth: name}
        elif suites.get(depth) == name or mark == "▶":
            suites = {other: suite for other, suite in suites.items() if other < depth}
        else:
            state = SKIPPED if "# SKIP" in directive or "# TODO" in directive else _MARKS[mark]
            named.append((path_of((*_above(suites, depth), name)), state))
    totals = dict.fromkeys(STATES, 0)
    for match in figures:
        totals[_WORDS[match[1]]] += int(match[2])
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


def _of(
    source: str, named: Sequence[tuple[str, str]], bad: Iterable[str], totals: dict[str, int]
) -> ParsedTests:
    """All `named` tests if they are as many as the runner counts, else only the failed ones."""
    if named and len(named) == sum(totals.values()):
        tests = ParsedTests(source)
        for name, state in named:
            tests.add(name, state)
        return tests
    tests = ParsedTests(source, whole=False)
    for name in dict.fromkeys(bad):
        tests.add(name, FAILED)
    tests.totals = totals
    return tests


_JEST_FAILED_FILE = re.compile(r"FAIL +(\S+)(?: \([\d.]+ m?s\))?")


def why_jest(lines: Sequence[str]) -> Iterator[Reason]:
    file = ""
    for index, line in enumerate(lines):
        if match := _JEST_FAILED_FILE.fullmatch(line):
            file = match[1].removeprefix("./")
        elif file and (match := _JEST_BAD.fullmatch(line)):
            suites = () if match[1] == "Test suite failed to run" else match[1].split(" › ")
            yield path_of((file, *suites)), lines[index + 1 : index + REASON_LINES]


def why_vitest(lines: Sequence[str]) -> Iterator[Reason]:
    for index, line in enumerate(lines):
        if match := _VITEST_BAD.fullmatch(line):
            yield match[1], lines[index + 1 : index + 2]


def why_ava(lines: Sequence[str]) -> Iterator[Reason]:
    """After the list, each failed test's name on a line of its own, the source around the place, then the error."""
    rule = next((index for index, line in enumerate(lines) if line == "  ─"), len(lines))
    for index, line in enumerate(lines[rule:], rule):
        if (
            re.fullmatch(r"  \S.*", line)
            and lines[index - 1 : index] == [""]
            and lines[index + 1 : index + 2] == [""]
        ):
            why = [
                other
                for other in lines[index + 2 : index + REASON_LINES]
                if not re.match(r"  (?: *\d+: |\S+:\d+$)", other)
            ]
            yield path_of(line[2:].split(" › ")), why


def why_mocha(lines: Sequence[str]) -> Iterator[Reason]:
    """Its list after the figures has the suites and the name on lines of their own, the last with a colon."""
    for index, line in enumerate(lines):
        if not (match := NUMBERED.fullmatch(line)):
            continue
        parts = [match[1]]
        for number, other in enumerate(lines[index + 1 : index + 20], index + 1):
            if parts[-1].endswith(":") and not other.strip():
                yield path_of((*parts[:-1], parts[-1][:-1])), lines[number : number + REASON_LINES]
                break
            if not other.startswith("    ") or not other.strip():
                break
            parts.append(other)


_NODE_BAD = re.compile(r"✖ (.*?)(?: \([\d.]+ms\))?")


def why_node(lines: Sequence[str]) -> Iterator[Reason]:
    inside = False
    for index, line in enumerate(lines):
        inside = inside or line == "✖ failing tests:"
        if inside and (match := _NODE_BAD.fullmatch(line)):
            yield match[1], lines[index + 1 : index + 2]


RUNNERS = (
    Runner(jest, why_jest),
    Runner(vitest, why_vitest),
    Runner(mocha, why_mocha),
    Runner(ava, why_ava),
    Runner(node, why_node),
)
