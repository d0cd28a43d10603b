"""Read the reports of tests that a check left behind: find them by name or pattern, tell new ones from old ones, read
them with limits, and parse JUnit XML, as pytest, jest-junit, Surefire, Gradle, nextest and many others write it. Parse
the output of known runners, and say in one line why a test failed.

Repository code wrote all of it, so no size, name or file type is trusted. Tests that are not printed are unknown: see
`ParsedTests.whole`.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from xml.parsers import expat

from bot.contracts.regular_files import read_regular
from bot.contracts.tools import ToolFailure
from bot.ecosystems.registry import ecosystems
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, ParsedTests, printed, totals_of
from bot.toolhost.files import inside
from bot.toolhost.listing import expand_braces

PLACES = (
    "junit.xml",
    "test-reports.xml",
    "test-results/*.xml",
    "reports/junit.xml",
    "target/nextest/**/junit.xml",
)
"""Default paths of JUnit XML; a file is read if the check has written it."""

MIB = 1024 * 1024
LARGEST = 64 * MIB
MOST_BYTES = 128 * MIB
"""Bytes of all reports of one check, so that they are read within seconds."""

MOST_FILES = 2_000
_SPECIAL = "*?[{"

Stamp = list[int]
"""Inode, size, and the times of the last changes of content and inode, in nanoseconds: it changes with every write."""


class ReportError(Exception):
    """A report cannot be read. The message is a clause for people, without the file's name."""


def find(root: Path, patterns: Iterable[str]) -> dict[str, Stamp]:
    """The files, links and other entries that match `patterns`, relative to `root`, each with its stamp."""
    stamps: dict[str, Stamp] = {}
    for name in (name for pattern in patterns for name in _matching(root, pattern)):
        with suppress(OSError):
            of = os.lstat(root / name)
            if not stat.S_ISDIR(of.st_mode) and len(stamps) < MOST_FILES:
                stamps[name] = [of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns]
    return stamps


def read(path: Path, folder: Path, largest: int) -> bytes:
    """All of a regular file beneath `folder`. Raises `ReportError` for anything else, and never waits."""
    if not inside(os.path.realpath(path.parent), os.path.realpath(folder)):
        raise ReportError("lies behind a link that leads out of the repository")
    try:
        content = read_regular(path, largest + 1)
    except OSError as error:
        irregular = error.errno == errno.EINVAL
        raise ReportError(
            "is not a regular file" if irregular else f"cannot be read: {error.strerror}"
        ) from error
    if len(content) > largest:
        raise ReportError(f"is larger than {largest // MIB} MiB")
    return content


def _matching(root: Path, pattern: str) -> Iterator[str]:
    """The files that match, relative to `root`. `**` is through no link."""
    plain = pattern.removeprefix("./")
    if not any(sign in plain for sign in _SPECIAL):
        yield plain
        return
    try:
        for one in expand_braces(plain):
            for path in root.glob(f"{one}/*" if one.endswith("**") else one):
                yield path.relative_to(root).as_posix()
    except (ToolFailure, ValueError, NotImplementedError):
        return  # a pattern that matches nothing here


LARGEST_OUTPUT = 8 * 1024 * 1024
_LONGEST_LINE = 2_000
_PREFIX = re.compile(r"^(?:\[[\w@/.:-]+\]:?|[\w@/.-]+(?:[ :][\w.:-]+)?:) ")
"""What `pnpm -r`, turbo, lerna and yarn put before each line of a package."""


def parse_output(text: str, drop: str) -> ParsedTests | None:
    """The tests of all known runners in the output; `None` if there are none. `drop` is removed: the root's path."""
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.replace(drop, "").split("\n")]
    return _parsed(lines) or _parsed([_PREFIX.sub("", line) for line in lines])


def _parsed(lines: Sequence[str]) -> ParsedTests | None:
    parsed: list[ParsedTests] = []
    for runner in (runner for one in ecosystems() for runner in one.runners):
        ends = [match for line in lines if (match := runner.end.fullmatch(line))]
        if ends and (tests := runner.read(lines, ends)) is not None:
            parsed.append(tests)
    if not parsed:
        return _counted(lines)
    whole, *others = parsed
    for tests in others:
        whole.merge(tests)
    unexplained = [name for name in whole.names[FAILED] if name not in whole.reasons]
    for name, reason in _reasons(lines, unexplained) if unexplained else ():
        whole.explain(name, reason)
    return whole


def _counted(lines: Sequence[str]) -> ParsedTests | None:
    """The numbers by the lines in which runners that are not read otherwise sum up; no test is named."""
    patterns = [re.compile(pattern) for one in ecosystems() for pattern in one.counts]
    matches = (next(filter(None, (one.fullmatch(line) for one in patterns)), None) for line in lines)
    totals = totals_of(match for match in matches if match)
    if not any(totals.values()):
        return None
    tests = ParsedTests("the output's numbers", whole=False)
    tests.totals = totals
    return tests


def runs(end: re.Pattern[str], text: str) -> int:
    """The number of runs of the runner that prints `end` last in its output."""
    return sum(bool(end.fullmatch(line.rstrip())) for line in text.split("\n") if " in " in line[-200:])


_LONGEST_FAILURE = 4_000
"""Characters of a failure that are read."""
_STATES = {"failure": FAILED, "error": FAILED, "skipped": SKIPPED}


_PIECE = 8 * MIB
"""Bytes fed at once. Large, since expat before 2.6 scans an incomplete token from its start with each piece."""

_DECLARATION = re.compile(r"\s*<\?xml\s[^>]*\?>")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")


def _allowed_reference(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    code = int(digits, 16 if match[1] else 10) if len(digits) < 9 else 0
    return "" if code > 0x10FFFF or _FORBIDDEN.match(chr(code)) else match[0]


def parse_junit(content: bytes, source: str, drop: str) -> ParsedTests:
    """The tests of one report. A test's key is its class name and its name; `drop` is left out of both: the root's
    path, which differs between trees. Raises `ReportError`.

    What XML forbids, such as control characters in a test's output, is left out. A document type with declarations of
    its own is refused, since it may declare entities; one that only names a file is ignored, and the file is never
    fetched.
    """
    try:
        return _JUnit(source, drop).read(content)
    except ReportError:
        # In UTF-8 without these characters, as they are or as references.
        document = _DECLARATION.sub("", content.decode("utf-8", "replace").lstrip("\ufeff"), count=1)
        allowed = _REFERENCE.sub(_allowed_reference, _FORBIDDEN.sub("", document))
        return _JUnit(source, drop).read(allowed.lstrip().encode())


class _JUnit:
    def __init__(self, source: str, drop: str) -> None:
        self._tests = ParsedTests(source)
        self._drop = drop
        self._name = ""
        self._state = ""
        self._failure: tuple[str, str] | None = None
        self._inside = False
        self._depth = 0
        self._seen = False

    def read(self, content: bytes) -> ParsedTests:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        try:
            for start in range(0, len(content), _PIECE):
                parser.Parse(content[start : start + _PIECE], False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ReportError(f"is no XML: {expat.ErrorString(error.code)} in line {error.lineno}") from error
        except (ValueError, LookupError, UnicodeError) as error:
            raise ReportError("is in an encoding that is not read here") from error
        except RecursionError as error:
            raise ReportError("is nested too deeply") from error
        if not self._seen:
            raise ReportError("is no JUnit report")
        return self._tests

    def _doctype(self, name: str, system: str | None, public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise ReportError("declares a document type of its own, and such reports are not read")

    def _entity(self, *_: object) -> None:
        raise ReportError("declares entities, and such reports are not read")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self._depth += 1
        if self._depth == 1:
            self._seen = name in ("testsuites", "testsuite")
        if name == "testcase" and self._seen:
            where, what = attributes.get("classname", ""), attributes.get("name", "")
            self._name = (f"{where}::{what}" if where else what).replace(self._drop, "")
            self._state, self._failure = PASSED, None
        elif self._state and name in _STATES and self._state != FAILED:
            self._state = _STATES[name]
            if self._state == FAILED:
                self._failure, self._inside = (attributes.get("message", "")[:_LONGEST_FAILURE], ""), True

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._depth -= 1
        self._inside = self._inside and name not in _STATES
        if name == "testcase" and self._state:
            self._tests.add(self._name, self._state)
            if self._failure:
                message, text = (part.replace(self._drop, "") for part in self._failure)
                lines = text.splitlines()
                if message.strip().lower() not in _NO_REASON:
                    lines = message.splitlines()
                elif marked := [line[1:] for line in lines if line.startswith("E   ")]:
                    lines = marked[-1:]
                elif logged := [one[1] for line in lines if (one := _LOGGED.fullmatch(line)) and one[1]]:
                    lines = logged
                self._tests.explain(self._name, one_line(lines))
            self._state, self._inside = "", False

    def _text(self, text: str) -> None:
        if self._inside and self._failure and len(self._failure[1]) < _LONGEST_FAILURE:
            self._failure = self._failure[0], self._failure[1] + text[:_LONGEST_FAILURE]


_LONGEST = 200
_LINES = 14
"""Lines in which the reason of a failure is searched, from the one with a message on."""
_BLOCK = 60
"""Lines after the name of a test in which that one is."""
_MOST_TESTS, _MOST_PLACES, _MOST_PARTS = 100, 40, 12
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LOGGED = re.compile(r" +[\w./-]+\.go:\d+: ?(.*)")
_LOCATION = re.compile(r"(?:at |> |\d+ \||# \.|stack backtrace:|note: ).*")
_DETAIL = re.compile(r"(?:[-+] )?(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|left|right|got) {0,40}:.*")
"""A line with an expected or a received value."""
_NO_REASON = frozenset({"", "failed", "failure", "error", "collection failure", "test failed"})

_SEPARATOR = re.compile(r" > |::|[ ./]")
_PANIC = "panicked at "
_MESSAGE = re.compile(
    r"[\w.]*(?:Error|Exception)\b(?! Trace:| in test|\(|: Failed to import)|panic: |(?:error|message): ['\"|>]"
    r"|[\w./-]+\.\w+:\d+(?::\d+)?: |assert|Failed asserting|[Ee]xpect"
)
_NEXT_TEST = re.compile(r"={5}|=== (?:RUN|CONT|NAME) |--- (?:PASS|FAIL|SKIP): ")


def _reasons(output: Sequence[str], failed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield failed tests with their reasons. The reason stands behind the name of a test or below it, and the last part
    of the name is enough. Of several places, the last with a message counts."""
    lines = [line.removeprefix("E ").strip() for line in printed(output)]
    lines = [line.replace(" › ", " > ").replace("\\#", "#") for line in lines]
    text = "\n".join(lines)
    places = {name: _places(name, text, lines) for name in failed[:_MOST_TESTS]}
    owner = {place: name for name, own in places.items() for place, _ in own}
    for name, own in places.items():
        for place, rest in reversed(own):
            below = range(place + 1, min(place + _BLOCK, len(lines)))
            end = next(
                (at for at in below if owner.get(at, name) != name or _NEXT_TEST.match(lines[at])), below.stop
            )
            block = [rest, *lines[place + 1 : end]]
            if reason := one_line([rest[3:]]) if rest.startswith(" - ") else _message(block):
                yield name, reason
                break


def _places(name: str, text: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines with the longest end of the name that occurs, and what stands behind it."""
    ends = (name[match.end() :] for match in islice(_SEPARATOR.finditer(name), _MOST_PARTS))
    own = next((end for end in (name, *ends) if end and end in text), "")
    if not own:
        return []
    pattern = re.compile(rf"(?<![\w/]){re.escape(own)}(?![\w/])(.*)")
    matches = ((number, pattern.search(line)) for number, line in enumerate(lines) if own in line)
    return [(number, match[1]) for number, match in matches if match][-_MOST_PLACES:]


def _message(block: Sequence[str]) -> str:
    """The reason by the first line with a message; empty if there is none."""
    for number, line in enumerate(block):
        if _PANIC in line and line.endswith(":"):
            return one_line(block[number + 1 :])
        if number and (_PANIC in line or _MESSAGE.match(line)):
            return one_line(block[number:])
    return ""


def one_line(lines: Sequence[str]) -> str:
    """The first line with a message, and the expected and received values if they follow."""
    plain = [_COLOUR.sub("", line[: 4 * _LONGEST]).strip() for line in lines[:_LINES]]
    filled = [line for line in plain if line]
    while len(filled) > 1 and _LOCATION.fullmatch(filled[0]):
        filled.pop(0)
    if not filled:
        return ""
    first = re.sub(r": [|>]-?$", ":", filled[0])
    if first.endswith(":") and len(filled) > 1 and not _DETAIL.fullmatch(filled[1]):
        filled[:2] = [f"{first} {filled[1]}"]
    details = []
    for line in filled[1:]:
        if _LOCATION.fullmatch(line):
            break
        if _DETAIL.fullmatch(line):
            details.append(line)
    reason = "; ".join([filled[0], *details[:2]])
    reason = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 1]}…"
