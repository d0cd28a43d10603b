"""Lines of a diff as places where a review comment can stand, and where they are after a push."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bot.forge.diffs import ChangedFile, changed_files
from bot.forge.git import BareRepository

Side = Literal["LEFT", "RIGHT"]

_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file's diff. `position` counts from 1 below the file's first hunk header."""

    hunk: int
    position: int
    old: int | None
    new: int | None

    def line(self, side: Side) -> int | None:
        """LEFT is for what was removed alone: an unchanged line is the new file's."""
        if side == "RIGHT":
            return self.new
        return self.old if self.new is None else None


class FileDiff:
    """The hunks of one file, for finding rows and for quoting them."""

    def __init__(self, patch: str) -> None:
        self._text = patch.split("\n")
        self.rows = list(_rows(self._text))
        self._found = {
            (side, line): row for row in self.rows for side in _SIDES if (line := row.line(side)) is not None
        }
        self._at = {row.position: row for row in self.rows}

    def find(self, side: Side, line: int) -> Row | None:
        return self._found.get((side, line))

    def at(self, position: int) -> Row | None:
        return self._at.get(position)

    def quote(self, row: Row) -> str:
        """`diff_hunk`: from the hunk's header to the row."""
        start = row.position
        while not _HEADER.match(self._text[start]):
            start -= 1
        return "\n".join(self._text[start : row.position + 1])


_SIDES: tuple[Side, ...] = ("LEFT", "RIGHT")


def _rows(lines: list[str]) -> Iterator[Row]:
    hunk = -1
    old = new = 0
    for position, text in enumerate(lines):
        header = _HEADER.match(text)
        if header:
            hunk, old, new = hunk + 1, int(header[1]), int(header[2])
        elif text.startswith("+"):
            yield Row(hunk, position, None, new)
            new += 1
        elif text.startswith("-"):
            yield Row(hunk, position, old, None)
            old += 1
        elif not text.startswith("\\"):
            yield Row(hunk, position, old, new)
            old, new = old + 1, new + 1


def file_diff(git: BareRepository, base: str, head: str, path: str) -> FileDiff | None:
    """The file's diff between two commits; None where it has none, or none that is shown."""
    file = _by_path(git, base, head).get(path)
    if file is None or file.patch is None:
        return None
    patch = file.patch
    return git.remembered(("file-diff", base, head, path), lambda: FileDiff(patch))


def is_changed(git: BareRepository, base: str, head: str, path: str) -> bool:
    return path in _by_path(git, base, head)


def _by_path(git: BareRepository, base: str, head: str) -> Mapping[str, ChangedFile]:
    def ask() -> Mapping[str, ChangedFile]:
        return {file.path: file for file in changed_files(git, base, head)}

    return git.remembered(("changed-by-path", base, head), ask)


def moved(git: BareRepository, before: str, after: str, path: str, line: int) -> int | None:
    """Where line `line` of a file at one commit is at another; None where it was changed or is gone."""
    if before == after or not _touched(git, before, after, path):
        return line
    diff = file_diff(git, before, after, path)
    if diff is None:
        return None
    shift = 0
    # Linear in the rows of one file's diff, of which a file under review has few.
    for row in diff.rows:
        if row.old is not None and row.old >= line:
            if row.old == line:
                return row.new
            break
        shift += (row.old is None) - (row.new is None)
    return line + shift


def _touched(git: BareRepository, before: str, after: str, path: str) -> bool:
    def ask() -> frozenset[str]:
        changed = changed_files(git, before, after)
        return frozenset(name for file in changed for name in (file.path, file.previous) if name)

    return path in git.remembered(("touched", before, after), ask)
