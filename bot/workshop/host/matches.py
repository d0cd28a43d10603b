"""How matching lines are shown: grouped by file, with lines around them, long ones cut around the match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from bot.workshop.host.paths import shown
from bot.workshop.host.place import Place
from bot.workshop.host.search import Hit, searched_lines

MAX_LINE = 500
MAX_CONTEXT = 20


@dataclass(frozen=True, slots=True)
class InFile:
    """What is shown of one file: its matches and the lines around them, by their numbers. `text` is as printed."""

    path: Path
    name: str
    numbers: Mapping[int, str]
    text: Sequence[str]

    @property
    def whole(self) -> dict[int, str]:
        """The lines that are shown in full."""
        return {number: line for number, line in self.numbers.items() if len(line) <= MAX_LINE}


def render(place: Place, hits: Sequence[Hit], around: int) -> Iterator[InFile]:
    """A line with the file's name, then its matches as `12:text` and the lines around them as `11-text`, `--`
    where lines are left out between them. The name is never on the line of a match, so it may hold anything."""
    for path, group in groupby(hits, key=lambda hit: hit.path):
        name = shown(path if place.in_tree else str(place.root / path))
        found = {hit.line: hit for hit in group}
        lines = searched_lines(place.root / path) if around else ()
        near = {n for line in found for n in range(line - around, line + around + 1) if 1 <= n <= len(lines)}
        numbers = {n: found[n].text if n in found else lines[n - 1] for n in sorted(near | found.keys())}
        yield InFile(place.root / path, name, numbers, (name, *_block(found, numbers, around)))


def _block(found: Mapping[int, Hit], numbers: Mapping[int, str], around: int) -> Iterator[str]:
    previous = 0
    for number, line in numbers.items():
        if around and previous and number > previous + 1:
            yield "--"
        previous = number
        hit = found.get(number)
        yield f"{number}:{_short(hit.text, hit.column)}" if hit else f"{number}-{_short(line, 1)}"


def _short(line: str, column: int) -> str:
    """At most `MAX_LINE` characters of the line, around the match. `column` counts bytes from 1."""
    if len(line) <= MAX_LINE:
        return line
    at = len(line.encode()[: column - 1].decode("utf-8", "ignore"))
    start = max(0, min(at - MAX_LINE // 4, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
