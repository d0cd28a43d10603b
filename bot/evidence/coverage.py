"""Merge coverage reports of the changed lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.contracts.evidence import Coverage, CoveredFile

MOST_FILES = 200
_MOST_MISSED = 500
_NOTE_LIMIT = 500

Lines = Mapping[int, bool]
"""The executable changed lines of a file, and whether each was run."""


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
