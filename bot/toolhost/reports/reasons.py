"""Find out why tests failed, one line each, from the output of known runners or a JUnit report.

Each function yields a test's name and the lines that say why it failed. Some runners print only the last part of the
name there: `ParsedTests.explain` completes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from bot.toolhost.reports.compiled_output import CARGO_RUNS
from bot.toolhost.reports.javascript_output import JEST_BAD, VITEST_BAD
from bot.toolhost.reports.python_output import UNITTEST_RULES
from bot.toolhost.reports.test_results import path_of

_LONGEST = 200
_MAX_LINES = 14
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_DETAIL = re.compile(r"(?:[-+] )?(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|left|right|got) {0,40}:.*")
_LOCATION = re.compile(r"(?:at |> |\d+ \||# \.|stack backtrace:|note: ).*")
_NO_REASON = frozenset({"", "failed", "failure", "error", "collection failure", "test failed"})

Reason = tuple[str, Sequence[str]]


def one_line(lines: Sequence[str]) -> str:
    """The first line with a message, and the expected and received values if they follow."""
    plain = [_COLOUR.sub("", line[: 4 * _LONGEST]).strip() for line in lines[:_MAX_LINES]]
    filled = [line for line in plain if line]
    if not filled:
        return ""
    if filled[0].endswith(":") and len(filled) > 1 and not _DETAIL.fullmatch(filled[1]):
        filled[:2] = [f"{filled[0]} {filled[1]}"]
    details = []
    for line in filled[1:]:
        if _LOCATION.fullmatch(line):
            break
        if _DETAIL.fullmatch(line):
            details.append(line)
    reason = "; ".join([filled[0], *details[:2]])
    reason = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 1]}…"


def of_junit(message: str, text: str) -> Sequence[str]:
    """The message of a failure, or its text if the message says no more than that it failed."""
    lines = text.splitlines()
    if message.strip().lower() not in _NO_REASON:
        return message.splitlines()
    marked = [line[1:] for line in lines if line.startswith("E   ")]
    return (
        marked[-1:]
        or [match[1] for line in lines if (match := _GO_LOG.fullmatch(line)) and match[1]]
        or lines
    )


_PYTEST_SHORT = re.compile(r"(?:FAILED|ERROR) (.+?) - (.+)")
_PYTEST_COLLECTING = re.compile(r"_+ ERROR collecting (\S+) _+")


def pytest(lines: Sequence[str]) -> Iterator[Reason]:
    file = last = ""
    for line in lines:
        if match := _PYTEST_COLLECTING.fullmatch(line):
            file, last = match[1], ""
        elif file and line.startswith("E   "):
            last = line[1:]
        elif line.startswith(("____", "====")):
            if file and last:
                yield file, [last]
            file = ""
        elif match := _PYTEST_SHORT.fullmatch(line):
            yield match[1], [match[2]]


_UNITTEST_BAD = re.compile(r"(?:FAIL|ERROR): (\S+) \(([\w.<>]+)\).*")


def unittest(lines: Sequence[str]) -> Iterator[Reason]:
    """The line after the last frame of the traceback: the message of an assertion may have many."""
    for index, line in enumerate(lines):
        if not (match := _UNITTEST_BAD.fullmatch(line)) or lines[index + 1 : index + 2] != [
            UNITTEST_RULES[1]
        ]:
            continue
        block = []
        for other in lines[index + 2 : index + 400]:
            if other in UNITTEST_RULES:
                break
            block.append(other)
        frames = [number for number, other in enumerate(block) if other.startswith("  File ")]
        rest = block[frames[-1] + 1 :] if frames else block
        name = match[2].removeprefix("unittest.loader._FailedTest.")
        whole = name if name == match[1] or name.endswith(f".{match[1]}") else f"{name}.{match[1]}"
        yield whole, [other for other in rest if not other.startswith(" ")]


_GO_STARTED = re.compile(r" *(?:=== (?:RUN|CONT|NAME) +|--- FAIL: )(\S+).*")
_GO_LOG = re.compile(r" +[\w./-]+\.go:\d+: ?(.*)")
_GO_TESTIFY = re.compile(r"\s+Error:\s+(\S.*)")
_GO_ENDED = re.compile(r"(?:ok  |FAIL)\t(\S+)(?:\t.*| \[.*\])?")
_GO_BUILT = re.compile(r"# (\S+)(?: \[.*\])?")


def go(lines: Sequence[str]) -> Iterator[Reason]:
    here: dict[str, list[str]] = {}
    built: dict[str, str] = {}
    test = package = ""
    for line in lines:
        if package and line.strip():
            built.setdefault(package, line)
        package = ""
        if match := _GO_STARTED.fullmatch(line):
            test = match[1]
        elif match := _GO_ENDED.fullmatch(line):
            for name, why in here.items():
                yield f"{match[1]}.{name}" if name else match[1], why
            if match[1] in built:
                yield match[1], [built[match[1]]]
            here, test = {}, ""
        elif match := _GO_BUILT.fullmatch(line):
            package = match[1]
        elif match := _GO_LOG.fullmatch(line) or _GO_TESTIFY.fullmatch(line):
            if match[1]:
                here.setdefault(test, [match[1]])
        elif test in here and _DETAIL.fullmatch(line.strip()):
            here[test].append(line)
        elif line.startswith("panic: "):
            here.setdefault(test, [line])
            here.setdefault("", [line])


def go_json(lines: Sequence[str]) -> Iterator[Reason]:
    """The events' output, package by package, is what `go test -v` prints."""
    printed: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith("{") or '"Output"' not in line:
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        package, output = event.get("Package") or event.get("ImportPath"), event.get("Output")
        if isinstance(package, str) and isinstance(output, str):
            printed.setdefault(package.partition(" ")[0], []).append(output.rstrip("\n"))
    for package_lines in printed.values():
        yield from go(package_lines)


_CARGO_TEST = re.compile(r"---- (\S.*?) stdout ----")
_NEXTEST_TEST = re.compile(r" +(?:FAIL|TIMEOUT|ABORT|SIG\w+) \[[^\]]*\](?: \([^)]*\))? (\S+ \S.*)")
_PANIC = re.compile(r" *thread '.*' (?:\(\d+\) )?panicked at (.*)")


def rust(lines: Sequence[str]) -> Iterator[Reason]:
    """The message after `panicked at`, of cargo test and of nextest."""
    where = name = ""
    for index, line in enumerate(lines):
        if match := CARGO_RUNS.fullmatch(line):
            where = match[1] or ""
        elif match := _CARGO_TEST.fullmatch(line):
            name = f"{where}::{match[1]}" if where else match[1]
        elif match := _NEXTEST_TEST.fullmatch(line):
            name = match[1]
        elif name and (match := _PANIC.fullmatch(line)):
            yield name, lines[index + 1 : index + 5] if match[1].endswith(":") else [match[1]]
            name = ""


_JEST_FILE = re.compile(r"FAIL +(\S+)(?: \([\d.]+ m?s\))?")


def jest(lines: Sequence[str]) -> Iterator[Reason]:
    file = ""
    for index, line in enumerate(lines):
        if match := _JEST_FILE.fullmatch(line):
            file = match[1].removeprefix("./")
        elif file and (match := JEST_BAD.fullmatch(line)):
            suites = () if match[1] == "Test suite failed to run" else match[1].split(" › ")
            yield path_of((file, *suites)), lines[index + 1 : index + _MAX_LINES]


def vitest(lines: Sequence[str]) -> Iterator[Reason]:
    for index, line in enumerate(lines):
        if match := VITEST_BAD.fullmatch(line):
            yield match[1], lines[index + 1 : index + 2]


_NUMBERED = re.compile(r" {2,4}\d+\) (\S.*)")


def ava(lines: Sequence[str]) -> Iterator[Reason]:
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
                for other in lines[index + 2 : index + _MAX_LINES]
                if not re.match(r"  (?: *\d+: |\S+:\d+$)", other)
            ]
            yield path_of(line[2:].split(" › ")), why


def mocha(lines: Sequence[str]) -> Iterator[Reason]:
    """Its list after the figures has the suites and the name on lines of their own, the last with a colon."""
    for index, line in enumerate(lines):
        if not (match := _NUMBERED.fullmatch(line)):
            continue
        parts = [match[1]]
        for number, other in enumerate(lines[index + 1 : index + 20], index + 1):
            if parts[-1].endswith(":") and not other.strip():
                yield path_of((*parts[:-1], parts[-1][:-1])), lines[number : number + _MAX_LINES]
                break
            if not other.startswith("    ") or not other.strip():
                break
            parts.append(other)


_NODE_BAD = re.compile(r"✖ (.*?)(?: \([\d.]+ms\))?")


def node(lines: Sequence[str]) -> Iterator[Reason]:
    inside = False
    for index, line in enumerate(lines):
        inside = inside or line == "✖ failing tests:"
        if inside and (match := _NODE_BAD.fullmatch(line)):
            yield match[1], lines[index + 1 : index + 2]


_TAP_BAD = re.compile(r" *not ok\b(?: +\d+)?(?: +- +| +)?(.*)")
_TAP_ERROR = re.compile(r" +(?:error|message): *(.*)")


def tap(lines: Sequence[str]) -> Iterator[Reason]:
    name = ""
    for index, line in enumerate(lines):
        if match := _TAP_BAD.fullmatch(line):
            name = match[1].replace("\\#", "#")
        elif name and (match := _TAP_ERROR.fullmatch(line)):
            message = (
                lines[index + 1 : index + 3]
                if match[1] in ("|-", "|", ">-", ">")
                else [match[1].strip("'\"")]
            )
            yield name, message
            name = ""
        elif line.strip() in ("...", "ok"):
            name = ""


def rspec(lines: Sequence[str]) -> Iterator[Reason]:
    for index, line in enumerate(lines):
        if match := _NUMBERED.fullmatch(line):
            after = lines[index + 1 : index + _MAX_LINES]
            blank = next((number for number, one in enumerate(after) if not one.strip()), len(after))
            if any("Failure/Error:" in one for one in after[:blank]):
                yield match[1], after[blank:]


PHPUNIT_TEST = re.compile(r"\d+\) ([\w\\]+::\w.*)")


def phpunit(lines: Sequence[str]) -> Iterator[Reason]:
    for index, line in enumerate(lines):
        if match := PHPUNIT_TEST.fullmatch(line):
            yield match[1], lines[index + 1 : index + 2]
