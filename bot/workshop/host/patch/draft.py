"""One file's lines while a patch goes over them: untouched lines keep their own ends, added ones get the file's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.workshop.host.diff import Block
from bot.workshop.host.patch.locate import Placed
from bot.workshop.host.text import line_ends


@dataclass(slots=True)
class Draft:
    """`lines` have no ends; `ends` has one for each, empty for a last line without. `origins` says which line of the
    file each was, counted from 0; -1 for one that was added."""

    lines: list[str]
    ends: list[str]
    origins: list[int]
    ending: str | None = "\n"
    """The file's one line end; `None` where they are mixed."""

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
        return cls(lines, ends, list(range(len(lines))), kinds.uniform if ends and ends[0] else "\n")

    @classmethod
    def new(cls, lines: Sequence[str]) -> Draft:
        return cls(list(lines), ["\n"] * len(lines), [-1] * len(lines))

    @property
    def content(self) -> str:
        return "".join(map(str.__add__, self.lines, self.ends))

    def apply(self, places: Sequence[Placed]) -> None:
        """Put all sections in at their places, which are in order and do not overlap."""
        made = Draft([], [], [], self.ending)
        at = 0
        for placed in places:
            made._take(self, at, placed.start)
            at = self._section(placed, made)
        made._take(self, at, len(self.lines))
        ends = made.ends
        for number in [number for number, end in enumerate(ends[:-1]) if not end]:
            ends[number] = self.ending or "\n"
            made.origins[number] = -1  # with an end it is another line
        self.lines, self.ends, self.origins = made.lines, ends, made.origins

    def changes(self, count: int) -> tuple[Block, ...]:
        """What differs from the file's `count` lines: old lines [a, b) became new ones [c, d)."""
        found: list[Block] = []
        old = new = 0
        for at, origin in enumerate(self.origins):
            if origin < 0:
                continue
            if origin > old or at > new:
                found.append((old, origin, new, at))
            old, new = origin + 1, at + 1
        if old < count or new < len(self.lines):
            found.append((old, count, new, len(self.lines)))
        return tuple(found)

    def shown_as(self, first: int, last: int) -> tuple[int, int]:
        """Which lines of the file, from 1, the lines [first, last) here were; an empty range where all were added."""
        known = [origin + 1 for origin in self.origins[first:last] if origin >= 0]
        return (known[0], known[-1]) if known else (1, 0)

    def _take(self, other: Draft, first: int, last: int) -> None:
        self.lines += other.lines[first:last]
        self.ends += other.ends[first:last]
        self.origins += other.origins[first:last]

    def _section(self, placed: Placed, made: Draft) -> int:
        at = placed.start
        for sign, text in placed.section.body:
            if sign == "+":
                made.lines.append(text)
                made.ends.append(self.ending or self._near(at, placed.start))
                made.origins.append(-1)
                continue
            if sign == " ":
                made._take(self, at, at + 1)
            at += 1
        return at

    def _near(self, at: int, start: int) -> str:
        """Where the ends are mixed: that of the line before in the section, else of the one that was here."""
        near = [at - 1, at] if at > start else [at, at - 1]
        found = (self.ends[number] for number in near if 0 <= number < len(self.ends))
        return next(filter(None, found), "\n")
