"""The lines of one file while a patch is applied: unchanged lines keep their line ends, added ones get the file's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from bot.toolhost.diff import Block, KnownChange
from bot.toolhost.patch.locate import Placement
from bot.toolhost.text import line_ends

_ADDED = -1

Run = tuple[int, int, int]
"""Consecutive lines: the number of the first one in the draft and in the file, both from 0 (`_ADDED` for lines that
are not in the file), and their count."""


class Draft:
    """`lines` have no ends; `ends` has one for each, empty for a last line without. `runs` map them to lines of the
    file; a long file with a few changes has few. `file` are the lines of the file, `ending` is its one line end, `None`
    if they are mixed."""

    def __init__(
        self,
        lines: list[str],
        ends: list[str],
        runs: list[Run],
        file: Sequence[str] = (),
        ending: str | None = "\n",
    ) -> None:
        self.lines = lines
        self.ends = ends
        self.runs = runs
        self.file = file
        self.ending = ending

    @classmethod
    def of(cls, content: str) -> Draft:
        kinds = line_ends(content)
        separator = "\r" if kinds.cr else "\n"
        lines = content.split(separator)
        ends = [separator] * (len(lines) - 1)
        if lines[-1]:
            ends.append("")
        else:
            lines.pop()
        if kinds.crlf:
            for number, line in enumerate(lines):
                if line.endswith("\r") and ends[number]:
                    lines[number], ends[number] = line[:-1], "\r\n"
        runs = [(0, 0, len(lines))] if lines else []
        return cls(lines, ends, runs, lines, kinds.uniform if ends and ends[0] else "\n")

    @classmethod
    def new(cls, lines: Sequence[str]) -> Draft:
        return cls(list(lines), ["\n"] * len(lines), [(0, _ADDED, len(lines))] if lines else [])

    @property
    def content(self) -> str:
        if self.ending and self.ends.count(self.ending) >= len(self.ends) - 1:
            return self.ending.join(self.lines) + "".join(self.ends[-1:])
        return "".join(map(str.__add__, self.lines, self.ends))

    def apply(self, placements: Sequence[Placement]) -> None:
        """Replace the lines of each placement. Placements are in order and do not overlap."""
        result = Draft([], [], [], ending=self.ending)
        at = 0
        for placement in placements:
            result._take(self, at, placement.start)
            at = self._section(placement, result)
        result._take(self, at, len(self.lines))
        result._end_lines()
        self.lines, self.ends, self.runs = result.lines, result.ends, result.runs

    def known(self) -> KnownChange:
        """How this differs from the file."""
        if self.ending == "\n":
            return KnownChange(self._changes(), self.file, self.lines)
        return KnownChange(self._changes())

    def _changes(self) -> list[Block]:
        blocks: list[Block] = []
        old = new = 0
        for at, origin, size in self.runs:
            if origin == _ADDED:
                continue
            if origin > old or at > new:
                blocks.append((old, origin, new, at))
            old, new = origin + size, at + size
        if old < len(self.file) or new < len(self.lines):
            blocks.append((old, len(self.file), new, len(self.lines)))
        return blocks

    def file_lines(self, first: int, last: int) -> tuple[int, int]:
        """The first and last line of the file, from 1, that the lines [first, last) stand for; an empty range if all
        were added."""
        known = [(origin, size) for origin, size in self._origins(first, last) if origin != _ADDED]
        return (known[0][0] + 1, sum(known[-1])) if known else (1, 0)

    def _origins(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs in the lines [first, last): the number of the first line in the file, and the count."""
        for index in range(max(0, bisect_right(self.runs, first, key=itemgetter(0)) - 1), len(self.runs)):
            at, origin, size = self.runs[index]
            if at >= last:
                return
            low, high = max(first, at), min(last, at + size)
            if low < high:
                yield (origin if origin == _ADDED else origin + low - at), high - low

    def _take(self, other: Draft, first: int, last: int) -> None:
        for origin, size in other._origins(first, last):
            self._note(origin, size)
        self.lines += other.lines[first:last]
        self.ends += other.ends[first:last]

    def _note(self, origin: int, size: int) -> None:
        """Append `size` lines that begin at line `origin` of the file, to the last run if they continue it."""
        if self.runs:
            at, before, length = self.runs[-1]
            if origin == (_ADDED if before == _ADDED else before + length):
                self.runs[-1] = at, before, length + size
                return
        last = self.runs[-1] if self.runs else (0, 0, 0)
        self.runs.append((last[0] + last[2], origin, size))

    def _section(self, placement: Placement, result: Draft) -> int:
        at = placement.start
        for sign, text in placement.section.body:
            if sign == "+":
                result._note(_ADDED, 1)
                result.lines.append(text)
                result.ends.append(self.ending or self._near(at, placement.start))
                continue
            if sign == " ":
                result._take(self, at, at + 1)
            at += 1
        return at

    def _near(self, at: int, start: int) -> str:
        """The line end for an added line if the ends are mixed: that of the line before it in the section, else that of
        the old line."""
        near = [at - 1, at] if at > start else [at, at - 1]
        ends = (self.ends[number] for number in near if 0 <= number < len(self.ends))
        return next(filter(None, ends), "\n")

    def _end_lines(self) -> None:
        """Add an end to a line that is no longer the last one; it then counts as a changed line."""
        number = self.ends.index("") if "" in self.ends else len(self.ends)
        while number < len(self.ends) - 1:
            self.ends[number] = self.ending or "\n"
            rest = [*self._origins(0, number), (_ADDED, 1), *self._origins(number + 1, len(self.lines))]
            self.runs = []
            for origin, size in rest:
                self._note(origin, size)
            number = self.ends.index("", number + 1) if "" in self.ends[number + 1 :] else len(self.ends)
