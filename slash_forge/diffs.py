"""The changes between two commits by file, and the lines of a diff that a review comment can anchor to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from slash_forge.git import NULL_SHA, BareRepository

_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
# GitHub omits the patch of a file above this size (bytes).
_PATCH_LIMIT = 400_000


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """`patch` is the hunks alone: None for a binary file, a pure rename, a huge one. `sha` names the blob."""

    path: str
    previous: str | None
    status: str
    additions: int
    deletions: int
    patch: str | None
    sha: str


def changed_files(git: BareRepository, base: str, head: str) -> list[ChangedFile]:
    """Every changed file, in git's order. `base` is usually the merge base; both are full ids."""
    return git.cached(("changed-files", base, head), lambda: _compared(git, base, head))


def _compared(git: BareRepository, base: str, head: str) -> list[ChangedFile]:
    output = git.run(
        *("diff-tree", "-r", "-M", "-z", "--raw", "--numstat", "-p", "--no-abbrev", "--no-ext-diff"),
        base,
        head,
    )
    changes, rest = _raw(output)
    counts, patch = _counts(rest)
    patches = iter(_SECTION.split(patch)[1:])
    files = []
    for status, previous, path, sha in changes:
        section = next(patches)
        if status == "T":
            # Git writes a change of type as a removal and an addition.
            section += next(patches)
        additions, deletions = counts[path]
        files.append(ChangedFile(path, previous, _STATUS[status], additions, deletions, _hunks(section), sha))
    return files


def empty_tree(git: BareRepository) -> str:
    """The tree to compare a first commit with."""
    return git.run("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()


def _raw(output: bytes) -> tuple[list[tuple[str, str | None, str, str]], bytes]:
    """Status, previous path, path and blob of each changed file, and the rest of the output."""
    changes = []
    while output.startswith(b":"):
        meta, first, output = output.split(b"\0", 2)
        _, _, old, new, letter = meta.decode().lstrip(":").split(" ")
        status = letter[0]
        previous, path = None, _decoded(first)
        if status in "RC":
            second, output = output.split(b"\0", 1)
            previous, path = path, _decoded(second)
        changes.append((status, previous, path, old if new == NULL_SHA else new))
    return changes, output


def _counts(output: bytes) -> tuple[dict[str, tuple[int, int]], bytes]:
    """Added and removed lines by path, and the patch that follows behind an empty field."""
    counts = {}
    while output and not output.startswith(b"\0"):
        line, output = output.split(b"\0", 1)
        added, removed, name = line.split(b"\t", 2)
        if not name:
            # A rename: the names follow as fields of their own.
            _, name, output = output.split(b"\0", 2)
        counts[_decoded(name)] = (0, 0) if added == b"-" else (int(added), int(removed))
    return counts, output.removeprefix(b"\0")


def _decoded(path: bytes) -> str:
    return path.decode(errors="replace")


def _hunks(section: bytes) -> str | None:
    start = section.find(b"\n@@ ")
    if start < 0 or len(section) > _PATCH_LIMIT:
        return None
    return section[start + 1 :].decode(errors="replace").rstrip("\n")


Side = Literal["LEFT", "RIGHT"]

HUNK_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file's diff. `position` counts from 1 below the file's first hunk header."""

    hunk: int
    position: int
    old: int | None
    new: int | None

    def line(self, side: Side) -> int | None:
        """LEFT has only removed lines: an unchanged line counts as RIGHT."""
        if side == "RIGHT":
            return self.new
        return self.old if self.new is None else None


class FileDiff:
    """The hunks of one file, for finding rows and for quoting them."""

    def __init__(self, patch: str) -> None:
        self._text = patch.split("\n")
        self.rows = list(_rows(self._text))
        self._by_line = {
            (side, line): row for row in self.rows for side in _SIDES if (line := row.line(side)) is not None
        }
        self._by_position = {row.position: row for row in self.rows}

    def find(self, side: Side, line: int) -> Row | None:
        return self._by_line.get((side, line))

    def at(self, position: int) -> Row | None:
        return self._by_position.get(position)

    def quote(self, row: Row) -> str:
        """`diff_hunk`: from the hunk's header to the row."""
        start = row.position
        while not HUNK_HEADER.match(self._text[start]):
            start -= 1
        return "\n".join(self._text[start : row.position + 1])


_SIDES: tuple[Side, ...] = ("LEFT", "RIGHT")


def _rows(lines: list[str]) -> Iterator[Row]:
    hunk = -1
    old = new = 0
    for position, text in enumerate(lines):
        header = HUNK_HEADER.match(text)
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
    """The file's diff between two commits; None if it is unchanged, binary or too large."""
    file = _by_path(git, base, head).get(path)
    if file is None or file.patch is None:
        return None
    patch = file.patch
    return git.cached(("file-diff", base, head, path), lambda: FileDiff(patch))


def is_changed(git: BareRepository, base: str, head: str, path: str) -> bool:
    return path in _by_path(git, base, head)


def _by_path(git: BareRepository, base: str, head: str) -> Mapping[str, ChangedFile]:
    def compute() -> Mapping[str, ChangedFile]:
        return {file.path: file for file in changed_files(git, base, head)}

    return git.cached(("changed-by-path", base, head), compute)


def moved_line(git: BareRepository, before: str, after: str, path: str, line: int) -> int | None:
    """The number of line `line` at another commit; None if it was changed or removed."""
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
    def compute() -> frozenset[str]:
        changed = changed_files(git, before, after)
        return frozenset(name for file in changed for name in (file.path, file.previous) if name)

    return path in git.cached(("touched", before, after), compute)
