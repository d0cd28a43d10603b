"""Coverage reports as their tools write them: Cobertura and JaCoCo XML, coverage.py's and istanbul's JSON, LCOV, Go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.workshop.host.reports import xml
from bot.workshop.host.reports.files import ReportError

_LAST_LINE = 10_000_000
_MOST_IN_BLOCKS = 5_000_000
_GO_BLOCK = re.compile(r"(\S.*):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)")


@dataclass(slots=True)
class Report:
    """`files` are pairs of a name as the report has it and its lines, each with whether it was run. `folders` are
    those that names may be relative to; `go` where names begin with a module's."""

    files: list[tuple[str, dict[int, bool]]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    go: bool = False


def parse(name: str, content: bytes) -> Report:
    """By what the content looks like, whatever the file is called. Raises `ReportError`."""
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
    xml.parse(content, reader.begin, reader.end, reader.text)
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
            told = (
                attributes.get("filename", "")
                if name == "class"
                else f"{self._package}/{attributes.get('name', '')}"
            )
            if told:
                self.report.files.append((told, self._lines))
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
    for key, place in entry["statementMap"].items():
        start = place.get("start") if isinstance(place, dict) else None
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
    found: dict[str, dict[int, bool]] = {}
    total = 0
    for line in text.splitlines()[1:]:
        if block := _GO_BLOCK.fullmatch(line):
            lines = found.setdefault(block[1], {})
            first, last = _number(block[2]), _number(block[3])
            total += max(last - first, 0)
            if total > _MOST_IN_BLOCKS:
                raise ReportError("covers more lines than are looked at")
            for number in range(first, last + 1):
                lines[number] = lines.get(number, False) or block[4] != "0"
    return Report(list(found.items()), go=True)


def _number(value: object) -> int:
    """A line's number; 0 for what is none."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 0
    return value if type(value) is int and 0 < value < _LAST_LINE else 0
