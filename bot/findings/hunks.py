"""A diff as values: files, hunks, and what each side of a hunk says. `bot/findings/parse.py` reads git's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from bot.contracts.pulls import Side


class FileStatus(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"
    RETYPED = "retyped"


class Row(NamedTuple):
    """One line of a hunk. `kind` is a space, `-` or `+`; a number is 0 on the side that lacks the line."""

    kind: str
    old: int
    new: int
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """`kinds` has one character a line: a space, `-` or `+`. Each side is a run of lines without a gap."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    kinds: str
    texts: tuple[str, ...]

    def start(self, side: Side) -> int:
        return self.new_start if side is Side.RIGHT else self.old_start

    def count(self, side: Side) -> int:
        return self.new_count if side is Side.RIGHT else self.old_count

    def holds(self, side: Side, line: int) -> bool:
        """Whether the side shows this line, as context or changed."""
        return self.start(side) <= line < self.start(side) + self.count(side)

    def side(self, side: Side) -> list[str]:
        """What the side says, its first line being number `start(side)`."""
        absent = "-" if side is Side.RIGHT else "+"
        return [text for kind, text in zip(self.kinds, self.texts, strict=True) if kind != absent]

    def changed(self, side: Side) -> frozenset[int]:
        """The numbers of the lines that this side alone has."""
        wanted, absent = ("+", "-") if side is Side.RIGHT else ("-", "+")
        kinds = self.kinds.replace(absent, "")
        return frozenset(number for number, kind in enumerate(kinds, self.start(side)) if kind == wanted)

    def rows(self) -> Iterator[Row]:
        """Every line in order, with its numbers on both sides."""
        old, new = self.old_start, self.new_start
        for kind, text in zip(self.kinds, self.texts, strict=True):
            yield Row(kind, 0 if kind == "+" else old, 0 if kind == "-" else new, text)
            old += kind != "+"
            new += kind != "-"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. `path` is its name now, or its last one where it was removed; a name that is no UTF-8
    holds surrogates. `size` is the length of its part of the diff."""

    path: str
    old_path: str
    status: FileStatus
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Diff:
    """All files in the diff's order. `find` knows a renamed file by its old name too."""

    files: tuple[FileDiff, ...]
    _by_path: Mapping[str, FileDiff] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        old_names = {file.old_path: file for file in self.files if file.status is FileStatus.RENAMED}
        names = old_names | {file.path: file for file in self.files}
        object.__setattr__(self, "_by_path", names)

    def find(self, path: str) -> FileDiff | None:
        return self._by_path.get(path)
