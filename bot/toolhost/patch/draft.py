"""The lines of one file while a patch is applied: unchanged lines keep their line ends, added ones get the file's."""

from __future__ import annotations

from collections.abc import Sequence

from bot.toolhost.patch.locate import Placement
from bot.toolhost.text import line_ends


class Draft:
    """`lines` have no ends; `ends` has one for each, empty for a last line without. `ending` is the file's one line
    end, `None` if they are mixed."""

    def __init__(self, lines: list[str], ends: list[str], ending: str | None = "\n") -> None:
        self.lines = lines
        self.ends = ends
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
        return cls(lines, ends, kinds.uniform if ends and ends[0] else "\n")

    @classmethod
    def new(cls, lines: Sequence[str]) -> Draft:
        return cls(list(lines), ["\n"] * len(lines))

    @property
    def content(self) -> str:
        return "".join(map(str.__add__, self.lines, self.ends))

    def apply(self, placements: Sequence[Placement]) -> None:
        """Replace the lines of each placement. Placements do not overlap."""
        lines: list[str] = []
        ends: list[str] = []
        at = 0
        for placement in sorted(placements, key=lambda one: one.start):
            lines += self.lines[at : placement.start]
            ends += self.ends[at : placement.start]
            at = placement.start
            for sign, text in placement.section.body:
                if sign == "+":
                    lines.append(text)
                    ends.append(self.ending or self._near(at, placement.start))
                    continue
                if sign == " ":
                    lines.append(self.lines[at])
                    ends.append(self.ends[at])
                at += 1
        lines += self.lines[at:]
        ends += self.ends[at:]
        for number, end in enumerate(ends[:-1]):
            if not end:  # no longer the last one
                ends[number] = self.ending or "\n"
        self.lines, self.ends = lines, ends

    def _near(self, at: int, start: int) -> str:
        """The line end for an added line if the ends are mixed: that of the line before it in the section, else that of
        the old line."""
        near = [at - 1, at] if at > start else [at, at - 1]
        ends = (self.ends[number] for number in near if 0 <= number < len(self.ends))
        return next(filter(None, ends), "\n")
