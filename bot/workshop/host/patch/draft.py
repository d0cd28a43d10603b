"""One file's lines while a patch goes over them: untouched lines keep their own ends, added ones get the file's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.workshop.host.patch.locate import Placed
from bot.workshop.host.text import line_ends


@dataclass(slots=True)
class Draft:
    """`lines` have no ends; `ends` has one for each, empty for a last line without."""

    lines: list[str]
    ends: list[str]
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
        return cls(lines, ends, kinds.uniform if ends and any(ends) else "\n")

    @classmethod
    def new(cls, lines: Sequence[str]) -> Draft:
        return cls(list(lines), ["\n"] * len(lines))

    @property
    def content(self) -> str:
        return "".join(map(str.__add__, self.lines, self.ends))

    def apply(self, places: Sequence[Placed]) -> None:
        """Put all sections in at their places, which are in order and do not overlap."""
        lines: list[str] = []
        ends: list[str] = []
        at = 0
        for placed in places:
            lines += self.lines[at : placed.start]
            ends += self.ends[at : placed.start]
            at = self._section(placed, lines, ends)
        lines += self.lines[at:]
        ends += self.ends[at:]
        for number in [number for number, end in enumerate(ends[:-1]) if not end]:
            ends[number] = self.ending or "\n"
        self.lines, self.ends = lines, ends

    def _section(self, placed: Placed, lines: list[str], ends: list[str]) -> int:
        at = placed.start
        for sign, text in placed.section.body:
            if sign == "+":
                lines.append(text)
                ends.append(self.ending or self._near(at, placed.start))
                continue
            if sign == " ":
                lines.append(self.lines[at])
                ends.append(self.ends[at])
            at += 1
        return at

    def _near(self, at: int, start: int) -> str:
        """Where the ends are mixed: that of the line before in the section, else of the one that was here."""
        near = [at - 1, at] if at > start else [at, at - 1]
        found = (self.ends[number] for number in near if 0 <= number < len(self.ends))
        return next(filter(None, found), "\n")
