"""Coverage of the changed lines: what several reports say of them together, and whether there should be one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bot.contracts.tested import Coverage, CoveredFile

MOST_FILES = 200
_MOST_MISSED = 500
_NOTE_LIMIT = 500

Lines = Mapping[int, bool]
"""Of a file's changed lines that can be run, whether each was."""

ReadBase = Callable[[str], str | None]

# Compiled where they are used, at the end of a run, and not at each start of the program.
_ASKS = r"(?<![\w-])(?:--cov(?!-)|-coverprofile|--coverage|coverage\s+run|--experimental-test-coverage|c8|nyc)(?![\w])"
_SETTINGS = (
    (".coveragerc", ""),
    ("pyproject.toml", r"(?m)^\s*\[tool\.coverage\b|--cov\b"),
    ("setup.cfg", r"(?m)^\[coverage:|--cov\b"),
    ("tox.ini", r"(?m)^\[coverage:|--cov\b"),
    ("pytest.ini", r"--cov\b"),
    ("package.json", r'"collectCoverage"\s*:\s*true|"nyc"\s*:|"c8"\s*:'),
)
CONFIGURED = tuple(place for place, _ in _SETTINGS)
"""The files by which a repository may say that it wants coverage."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one check's reports say of the changed lines. `database`: there is one that has to be converted first."""

    sources: tuple[str, ...] = ()
    files: Mapping[str, Lines] = field(default_factory=dict)
    note: str = ""
    database: bool = False


def together(measured: Iterable[Measured], missing: str = "") -> Coverage | None:
    """Of all checks: a line that one of them ran was run. `missing` is said where no report was left; `None` where
    there is nothing to say."""
    sources: dict[str, None] = {}
    files: dict[str, dict[int, bool]] = {}
    notes = []
    for one in measured:
        sources.update(dict.fromkeys(one.sources))
        notes += [one.note] if one.note else []
        for path, lines in one.files.items():
            known = files.setdefault(path, {})
            for line, ran in lines.items():
                known[line] = known.get(line, False) or ran
    if not sources and not notes:
        return Coverage("", note=missing) if missing else None
    covered = [_file(path, lines) for path, lines in sorted(files.items()) if lines]
    if len(covered) > MOST_FILES:
        notes.append(f"{len(covered) - MOST_FILES:,} more files are left out")
    if sources and not covered:
        notes.append("no changed line is one that it measures")
    return Coverage(", ".join(sources), tuple(covered[:MOST_FILES]), "; ".join(notes)[:_NOTE_LIMIT])


def _file(path: str, lines: Lines) -> CoveredFile:
    missed = sorted(line for line, ran in lines.items() if not ran)
    return CoveredFile(path, len(lines), len(lines) - len(missed), tuple(missed[:_MOST_MISSED]))


def why_missing(commands: Iterable[str], named: Iterable[str], read: ReadBase) -> str:
    """What is said where no check left a report; empty where nobody ever asked for coverage."""
    if places := ", ".join(named):
        return f"the policy names {places}, and no check wrote it"
    if any(re.search(_ASKS, command) for command in commands):
        return "a check asks for coverage, and left no report that is read here"
    for place, words in _SETTINGS:
        text = read(place)
        if text is not None and re.search(words, text):
            return f"{place} configures coverage, and no check left a report of it"
    return ""
