"""Merge coverage reports of the changed lines, and explain a missing one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.contracts.evidence import Coverage, CoveredFile
from bot.ecosystems.registry import ecosystems

MOST_FILES = 200
_MOST_MISSED = 500
_NOTE_LIMIT = 500

Lines = Mapping[int, bool]
"""The executable changed lines of a file, and whether each was run."""

ReadBase = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the texts of those files that the base has, by path."""


@dataclass(frozen=True, slots=True)
class MeasuredCoverage:
    """The coverage of the changed lines by one check. `database`: a coverage.py database must be converted first."""

    sources: tuple[str, ...] = ()
    files: Mapping[str, Lines] = field(default_factory=dict)
    note: str = ""
    database: bool = False


def merge_coverage(measured: Iterable[MeasuredCoverage], missing: str = "") -> Coverage | None:
    """Merge the coverage of all checks: a line counts as run if one of them ran it. `missing` is the note if there is
    no report. Return `None` if there is nothing to report."""
    sources: dict[str, None] = {}
    files: dict[str, dict[int, bool]] = {}
    notes = []
    for report in measured:
        sources.update(dict.fromkeys(report.sources))
        notes += [report.note] if report.note else []
        for path, lines in report.files.items():
            file_lines = files.setdefault(path, {})
            for line, ran in lines.items():
                file_lines[line] = file_lines.get(line, False) or ran
    if not sources and not notes:
        return Coverage("", note=missing) if missing else None
    covered_files = [_file(path, lines) for path, lines in sorted(files.items()) if lines]
    if len(covered_files) > MOST_FILES:
        notes.append(f"{len(covered_files) - MOST_FILES:,} more files are left out")
    if sources and not covered_files:
        notes.append("no changed line is one that it measures")
    return Coverage(", ".join(sources), tuple(covered_files[:MOST_FILES]), "; ".join(notes)[:_NOTE_LIMIT])


def _file(path: str, lines: Lines) -> CoveredFile:
    missed = sorted(line for line, ran in lines.items() if not ran)
    return CoveredFile(path, len(lines), len(lines) - len(missed), tuple(missed[:_MOST_MISSED]))


def missing_reason(commands: Iterable[str], named: Iterable[str], read: ReadBase) -> str:
    """Return why there is no report although coverage is configured, or an empty string. `read` is called once at
    most."""
    if paths := ", ".join(named):
        return f"the policy names {paths}, and no check wrote it"
    measures = "|".join(one.measures for one in ecosystems() if one.measures)
    if any(re.search(rf"(?<![\w-])(?:{measures})(?![\w])", command) for command in commands):
        return "a check asks for coverage, and left no report that is read here"
    settings = {path: words for one in ecosystems() for path, words in one.measured.items()}
    texts = read(list(settings))
    for path, words in settings.items():
        if path in texts and re.search(words, texts[path]):
            return f"{path} configures coverage, and no check left a report of it"
    return ""
