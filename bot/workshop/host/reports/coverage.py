"""Which of some lines were run, by the coverage reports that a check left in the tree."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bot.workshop.host.reports import coverage_formats, files
from bot.workshop.host.reports.files import ReportError

PLACES = (
    "coverage.xml", "coverage.json", "lcov.info", "coverage.lcov", "coverage/lcov.info", "coverage/coverage-final.json",
    "coverage/cobertura-coverage.xml", "cobertura.xml", "coverage.out", "cover.out", "coverage.txt", "cover.txt",
    "c.out", "profile.cov", "target/site/jacoco/jacoco.xml", "build/reports/jacoco/test/jacocoTestReport.xml",
)  # fmt: skip
"""Where tools put their reports unless told otherwise. `.coverage` is a database, and has to be converted."""

_MOST_BYTES = 64 * files.MIB
_LARGEST = 32 * files.MIB
"""Of one report; as JSON it takes ten times as much memory."""

Lines = dict[int, bool]
"""Of a file's lines that can be run, whether each was."""


class Measured:
    """`wanted` are the changed lines by path; nothing is kept of others."""

    def __init__(self, root: Path, wanted: Mapping[str, Iterable[int]]) -> None:
        self.sources: list[str] = []
        self.lines: dict[str, Lines] = {}
        self.notes: list[str] = []
        self._left = _MOST_BYTES
        self._root = os.path.realpath(root)
        self._wanted = {path: frozenset(lines) for path, lines in wanted.items()}

    def take(self, name: str, path: Path | None = None) -> None:
        """Read the report `name`, which lies at `path` where that is not its place in the tree."""
        try:
            place, within = path or Path(self._root) / name, path.parent if path else Path(self._root)
            content = files.read(place, within, min(_LARGEST, self._left))
            self._left -= len(content)
            report = coverage_formats.parse(name, content)
        except ReportError as error:
            self.notes.append(f"{name} {error}")
            return
        self.sources.append(name)
        module = self._go_module() if report.go else ""
        for told, lines in report.files:
            if (of := self._path_of(told, posixpath.dirname(name), report.folders, module)) is not None:
                self._add(of, lines)

    def message(self) -> dict[str, object]:
        """As it goes to the supervisor: for each changed file the lines that were run and those that were not."""
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

    def _path_of(self, told: str, folder: str, folders: Iterable[str], module: str) -> str | None:
        """Which changed file a report speaks of: as it lies beside the report, in the root, or in a source folder; for
        what names a package and no file, the one changed file that ends so."""
        if module and (told == module or told.startswith(f"{module}/")):
            return self._one(told[len(module) + 1 :])
        for candidate in _candidates(told, folder, folders, self._root):
            if candidate in self._wanted:
                return candidate
            if os.path.isfile(os.path.join(self._root, candidate)):
                return None  # another file of the tree, which the change leaves alone
        plain = told.replace("\\", "/").lstrip("/")
        fitting = [path for path in self._wanted if path.endswith(f"/{plain}")]
        return fitting[0] if len(fitting) == 1 else None

    def _one(self, path: str) -> str | None:
        return path if path in self._wanted else None

    def _go_module(self) -> str:
        try:
            text = files.read(Path(self._root) / "go.mod", Path(self._root), files.MIB).decode(
                "utf-8", "replace"
            )
        except ReportError:
            return ""
        named = [
            line.split()[1]
            for line in text.splitlines()
            if line.startswith("module ") and len(line.split()) > 1
        ]
        return named[0].strip('"') if named else ""


def _candidates(told: str, folder: str, folders: Iterable[str], root: str) -> Iterator[str]:
    told = told.replace("\\", "/")
    for place in ("", *folders, folder):
        joined = posixpath.normpath(posixpath.join(root, folder if place == folder else "", place, told))
        if joined.startswith(f"{root}/"):
            yield joined[len(root) + 1 :]
