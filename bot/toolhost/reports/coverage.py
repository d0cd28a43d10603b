"""Determine from coverage reports which of the given lines were executed."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.ecosystems.registry import named
from bot.toolhost.reports import files
from bot.toolhost.reports.files import ReportError

PLACES = tuple(
    """
    coverage.xml coverage.json lcov.info coverage.lcov coverage/lcov.info coverage/coverage-final.json
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
        module = self._go_module() if report.go else ""
        for reported_path, lines in report.files:
            if (
                of := self._path_of(reported_path, posixpath.dirname(name), report.folders, module)
            ) is not None:
                self._add(of, lines)

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

    def _path_of(self, reported_path: str, folder: str, folders: Iterable[str], module: str) -> str | None:
        """The changed file that a report names: relative to the report, the root or a source folder; for a path in a
        package, the one changed file that ends with it."""
        if module and (reported_path == module or reported_path.startswith(f"{module}/")):
            return self._one(reported_path[len(module) + 1 :])
        for candidate in _candidates(reported_path, folder, folders, self._root):
            if candidate in self._wanted:
                return candidate
            if os.path.isfile(os.path.join(self._root, candidate)):
                return None  # another file of the tree, which the change leaves alone
        plain = reported_path.replace("\\", "/").lstrip("/")
        fitting = [path for path in self._wanted if path.endswith(f"/{plain}")]
        return fitting[0] if len(fitting) == 1 else None

    def _one(self, path: str) -> str | None:
        return path if path in self._wanted else None

    def _go_module(self) -> str:
        try:
            text = files.read(
                Path(self._root) / named("go").manifests[0], Path(self._root), files.MIB
            ).decode("utf-8", "replace")
        except ReportError:
            return ""
        modules = [
            line.split()[1]
            for line in text.splitlines()
            if line.startswith("module ") and len(line.split()) > 1
        ]
        return modules[0].strip('"') if modules else ""


def _candidates(reported_path: str, folder: str, folders: Iterable[str], root: str) -> Iterator[str]:
    reported_path = reported_path.replace("\\", "/")
    for prefix in ("", *folders, folder):
        joined = posixpath.normpath(
            posixpath.join(root, folder if prefix == folder else "", prefix, reported_path)
        )
        if joined.startswith(f"{root}/"):
            yield joined[len(root) + 1 :]


_LAST_LINE = 10_000_000
_MOST_IN_BLOCKS = 5_000_000
_GO_BLOCK = re.compile(r"(\S.*):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)")


@dataclass(slots=True)
class Report:
    """`files` are pairs of a name in the report and its lines. `folders` are those that names may be relative to; `go`:
    names begin with the module's path."""

    files: list[tuple[str, dict[int, bool]]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    go: bool = False


def parse(content: bytes) -> Report:
    """Choose the parser by the content, whatever the file's name. Raises `ReportError`."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _from_xml(content)
    if start.startswith(b"{"):
        return _from_json(content)
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
    return reader.report


class _Xml:
    """Cobertura's `class` with its `line`s; JaCoCo's `sourcefile` in a `package`."""

    def __init__(self) -> None:
        self.report = Report()
        self.root = ""
        self._package = ""
        self._lines: dict[int, bool] = {}
        self._source: list[str] | None = None

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self.root = self.root or name
        if name == "source":
            self._source = []
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
                self.report.files.append((reported_path, self._lines))
        elif name == "line":
            number = _number(attributes.get("number") or attributes.get("nr"))
            hits = attributes.get("hits") or attributes.get("ci") or "0"
            if number:
                self._lines[number] = self._lines.get(number, False) or hits.strip() not in ("0", "-1")

    def end(self, name: str) -> None:
        if name == "source" and self._source is not None:
            self.report.folders.append("".join(self._source).strip())
            self._source = None

    def text(self, text: str) -> None:
        if self._source is not None and len(self._source) < 100:
            self._source.append(text[:4096])


def _from_json(content: bytes) -> Report:
    try:
        loaded = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReportError("is no JSON") from error
    report = Report()
    of_python = loaded.get("files")
    entries = of_python if isinstance(of_python, dict) else loaded
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            continue
        if isinstance(entry.get("executed_lines"), list):
            report.files.append((name, _of_coverage_py(entry)))
        elif isinstance(entry.get("statementMap"), dict):
            report.files.append((name, _of_istanbul(entry)))
    if not report.files and not isinstance(of_python, dict):
        raise ReportError("is no coverage report that is read here")
    return report


def _of_coverage_py(entry: Mapping[str, Any]) -> dict[int, bool]:
    missing = entry.get("missing_lines")
    lines = {line: False for line in (missing if isinstance(missing, list) else []) if _number(line)}
    return lines | {line: True for line in entry["executed_lines"] if _number(line)}


def _of_istanbul(entry: Mapping[str, Any]) -> dict[int, bool]:
    """A line by the statements that begin on it, as istanbul's own line figures are made."""
    counts, lines = entry.get("s"), dict[int, bool]()
    for key, span in entry["statementMap"].items():
        start = span.get("start") if isinstance(span, dict) else None
        line = _number(start.get("line")) if isinstance(start, dict) else 0
        if line and isinstance(counts, dict):
            count = counts.get(key)
            lines[line] = lines.get(line, False) or (type(count) is int and count > 0)
    return lines


def _lcov(text: str) -> Report:
    report, lines = Report(), dict[int, bool]()
    for line in text.splitlines():
        if line.startswith("SF:"):
            lines = {}
            report.files.append((line[3:].strip(), lines))
        elif line.startswith("DA:"):
            number, _, hits = line[3:].partition(",")
            if at := _number(number):
                lines[at] = lines.get(at, False) or hits.partition(",")[0].strip() not in ("0", "")
    return report


def _go(text: str) -> Report:
    """A block covers all of its lines, as `go tool cover` shows them."""
    lines_by_file: dict[str, dict[int, bool]] = {}
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
    return Report(list(lines_by_file.items()), go=True)


def _number(value: object) -> int:
    """A line's number; 0 for an invalid value."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
    return value if type(value) is int and 0 < value < _LAST_LINE else 0
