"""Determine from coverage reports which of the given lines were executed."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.toolhost.reports import files
from bot.toolhost.reports.files import ReportError

PLACES = tuple(
    """
    coverage.xml lcov.info coverage.lcov coverage/lcov.info coverage/coverage-final.json
    coverage/cobertura-coverage.xml cobertura.xml coverage.out cover.out coverage.txt cover.txt c.out
    profile.cov target/site/jacoco/jacoco.xml build/reports/jacoco/test/jacocoTestReport.xml
    """.split()  # noqa: SIM905
)
"""Default paths of coverage reports. `.coverage` is a database, and has to be converted."""

_MOST_BYTES = 64 * files.MIB
_LARGEST = 32 * files.MIB
"""Bytes of one report; parsed JSON takes ten times as much memory."""

Lines = dict[int, bool]
"""For each executable line of a file, whether it was executed."""


class CoverageReader:
    """`wanted` are the changed lines by path; others are not recorded."""

    def __init__(self, root: Path, wanted: Mapping[str, Iterable[int]]) -> None:
        self.sources: list[str] = []
        self.lines: dict[str, Lines] = {}
        self.notes: list[str] = []
        self._left = _MOST_BYTES
        self._root = os.path.realpath(root)
        self._wanted = {path: frozenset(lines) for path, lines in wanted.items()}

    def take(self, name: str, path: Path | None = None) -> None:
        """Read the report `name`, which lies at `path` if that is not its place in the tree."""
        try:
            file, folder = path or Path(self._root) / name, path.parent if path else Path(self._root)
            content = files.read(file, folder, min(_LARGEST, self._left))
            self._left -= len(content)
            report = parse(content)
        except ReportError as error:
            self.notes.append(f"{name} {error}")
            return
        self.sources.append(name)
        for reported_path, lines in report:
            if (changed := self._path_of(reported_path, posixpath.dirname(name))) is not None:
                self._add(changed, lines)

    def message(self) -> dict[str, object]:
        """The coverage as sent to the supervisor: for each changed file the lines that were run and those that were
        not."""
        return {
            "sources": self.sources[:20],
            "files": {
                path: {
                    "covered": sorted(line for line, ran in lines.items() if ran),
                    "missed": sorted(line for line, ran in lines.items() if not ran),
                }
                for path, lines in self.lines.items()
            },
            "note": "; ".join(self.notes)[:300],
        }

    def _add(self, path: str, lines: Mapping[int, bool]) -> None:
        known = self.lines.setdefault(path, {})
        for line in self._wanted[path] & lines.keys():
            known[line] = known.get(line, False) or lines[line]

    def _path_of(self, reported_path: str, folder: str) -> str | None:
        """The changed file that a report in `folder` names: relative to the report or the root, by the end of its path,
        as in a source folder, or with more before it, as in a module of Go."""
        name = posixpath.normpath(reported_path.replace("\\", "/").removeprefix(f"{self._root}/"))
        fitting = [path for path in self._wanted if path.endswith(f"/{name.lstrip('/')}")]
        for candidate in (posixpath.normpath(posixpath.join(folder, name)), name):
            if self._is_file(candidate):
                return candidate if candidate in self._wanted else None
        if fitting or name.startswith("/"):
            return fitting[0] if len(fitting) == 1 else None
        ends = (name.split("/", at)[-1] for at in range(1, name.count("/") + 1))
        end = next(filter(self._is_file, ends), "")
        return end if end in self._wanted else None

    def _is_file(self, name: str) -> bool:
        return not name.startswith("/") and os.path.isfile(os.path.join(self._root, name))


_MOST_FOLDERS = 20
_LAST_LINE = 10_000_000
_MOST_IN_BLOCKS = 5_000_000
_GO_BLOCK = re.compile(r"(\S.*):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)")


Report = list[tuple[str, Lines]]
"""Pairs of a file's name in the report and its lines."""


def parse(content: bytes) -> Report:
    """Choose the parser by the content, whatever the file's name. Raises `ReportError`."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _from_xml(content)
    if start.startswith(b"{"):
        return _istanbul(content)
    text = content.decode("utf-8", "replace")
    if start.startswith(b"mode: "):
        return _go(text)
    if re.search(r"^(?:SF|TN):", text[:65536], re.MULTILINE):
        return _lcov(text)
    raise ReportError("is no coverage report that is read here")


def _from_xml(content: bytes) -> Report:
    reader = _Xml()
    files.parse(content, reader.begin, reader.end, reader.text)
    if reader.root not in ("coverage", "report"):
        raise ReportError("is no coverage report that is read here")
    folders = [folder for folder in map(str.strip, reader.folders[:_MOST_FOLDERS]) if folder] or [""]
    return [(posixpath.join(folder, name), lines) for name, lines in reader.report for folder in folders]


class _Xml:
    """Cobertura's `class` with its `line`s, in one of the folders that `source` names; JaCoCo's `sourcefile` in a
    `package`."""

    def __init__(self) -> None:
        self.report: Report = []
        self.root = ""
        self._package = ""
        self._lines: Lines = {}
        self.folders: list[str] = []
        self._in_source = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self.root = self.root or name
        self._in_source = name == "source"
        if self._in_source:
            self.folders.append("")
        elif name == "package":
            self._package = attributes.get("name", "")
        elif name in ("class", "sourcefile"):
            self._lines = {}
            reported_path = (
                attributes.get("filename", "")
                if name == "class"
                else f"{self._package}/{attributes.get('name', '')}"
            )
            if reported_path:
                self.report.append((reported_path, self._lines))
        elif name == "line":
            number = _number(attributes.get("number") or attributes.get("nr"))
            hits = attributes.get("hits") or attributes.get("ci") or "0"
            if number:
                self._lines[number] = self._lines.get(number, False) or hits.strip() not in ("0", "-1")

    def end(self, name: str) -> None:
        self._in_source = False

    def text(self, text: str) -> None:
        if self._in_source and len(self.folders[-1]) < 4096:
            self.folders[-1] += text[:4096]


def _istanbul(content: bytes) -> Report:
    try:
        loaded = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReportError("is no JSON") from error
    entries = ((name, entry) for name, entry in loaded.items() if isinstance(entry, dict))
    report = [(name, _lines(entry)) for name, entry in entries if isinstance(entry.get("statementMap"), dict)]
    if not report:
        raise ReportError("is no coverage report that is read here")
    return report


def _lines(entry: Mapping[str, Any]) -> Lines:
    """A line by the statements that begin on it, as istanbul's own line figures are made."""
    counts, lines = entry.get("s"), Lines()
    for key, span in entry["statementMap"].items():
        start = span.get("start") if isinstance(span, dict) else None
        line = _number(start.get("line")) if isinstance(start, dict) else 0
        if line and isinstance(counts, dict):
            count = counts.get(key)
            lines[line] = lines.get(line, False) or (type(count) is int and count > 0)
    return lines


def _lcov(text: str) -> Report:
    report, lines = Report(), Lines()
    for line in text.splitlines():
        if line.startswith("SF:"):
            lines = {}
            report.append((line[3:].strip(), lines))
        elif line.startswith("DA:"):
            number, _, hits = line[3:].partition(",")
            if at := _number(number):
                lines[at] = lines.get(at, False) or hits.partition(",")[0].strip() not in ("0", "")
    return report


def _go(text: str) -> Report:
    """A block covers all of its lines, as `go tool cover` shows them."""
    lines_by_file: dict[str, Lines] = {}
    total = 0
    for line in text.splitlines()[1:]:
        if block := _GO_BLOCK.fullmatch(line):
            lines = lines_by_file.setdefault(block[1], {})
            first, last = _number(block[2]), _number(block[3])
            total += max(last - first, 0)
            if total > _MOST_IN_BLOCKS:
                raise ReportError("covers more lines than are looked at")
            for number in range(first, last + 1):
                lines[number] = lines.get(number, False) or block[4] != "0"
    return list(lines_by_file.items())


def _number(value: object) -> int:
    """A line's number; 0 for an invalid value."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
    return value if type(value) is int and 0 < value < _LAST_LINE else 0
