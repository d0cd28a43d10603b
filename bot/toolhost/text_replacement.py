"""Find a text in a file and replace it; if it does not occur, find the closest lines; cut an excerpt for a result.

Lines are compared with line feeds as their ends, as a view shows them. Only the replaced spans change; every other
character stays, mixed line ends included.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import islice, zip_longest
from typing import NamedTuple

from bot.toolhost.encoding import split_lines, to_lf, usual_line_end

Span = tuple[int, int]
"""Offsets [start, end) into a text."""

_LINE_END = r"(?:\r\n|(?<!\r)\n)"


class Replacement(NamedTuple):
    """The new text and the number of replaced spans. `first_line` and `last_line` enclose the inserted text in the new
    text; after a deletion they are the line at which it was."""

    content: str
    spans: int
    first_line: int
    last_line: int


def find(content: str, old: str) -> tuple[Span, ...]:
    """Where `old` occurs in `content`, whatever the line ends of either. Overlapping places count: "aa" is twice in
    "aaa"."""
    wanted = re.compile(_LINE_END.join(map(re.escape, to_lf(old).split("\n"))))
    spans: list[Span] = []
    match = wanted.search(content) if old else None
    while match:
        spans.append(match.span())
        match = wanted.search(content, match.start() + 1)
    return tuple(spans)


def line_of(content: str, offset: int) -> int:
    """The line of an offset, 1-based."""
    return content.count("\n", 0, offset) + 1


def replace(content: str, spans: Sequence[Span], new: str, *, everywhere: bool = False) -> Replacement:
    """`content` with the first of `spans` replaced, or with `everywhere` each that does not overlap the one before it.
    The inserted text gets the usual line ends of `content`."""
    replaced = list(spans[:1])
    for span in spans[1:] if everywhere else ():
        if span[0] >= replaced[-1][1]:
            replaced.append(span)
    new = to_lf(new).replace("\n", usual_line_end(content))
    pieces: list[str] = []
    at = 0
    for start, end in replaced:
        pieces += [content[at:start], new]
        at = end
    after = "".join([*pieces, content[at:]])
    inserted_until = len(after) - (len(content) - at) - (1 if new.endswith("\n") else 0)
    return Replacement(after, len(replaced), line_of(content, replaced[0][0]), line_of(after, inserted_until))


ALIKE = 0.6
"""The lowest similarity of a near miss that is shown."""

_COMPARED = 3000
"""Lines, and characters, that are compared: that takes quadratic time."""


def find_near_miss(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, str] | None:
    """The number of the first of the lines that are most similar to `wanted`, and their text with the first difference;
    `None` if none are similar. They are around the longest run of lines that differ in white space and case alone, or
    else around the line that is most like the longest."""
    flat, target = [_flat(line) for line in lines], [_flat(line) for line in wanted]
    run = SequenceMatcher(None, flat[:_COMPARED], target[:_COMPARED], autojunk=False).find_longest_match()
    at, offset = run.a, run.b
    if not any(target[offset : offset + run.size]):
        offset = max(range(len(target)), key=lambda number: len(target[number]), default=0)
        close = get_close_matches(target[offset], flat[:_COMPARED], n=1, cutoff=ALIKE) if target else []
        if not close:
            return None
        at = flat.index(close[0])
    first = max(0, at - offset)
    there, sought = "\n".join(flat[first : first + len(target)]), "\n".join(target)
    if SequenceMatcher(None, there[:_COMPARED], sought[:_COMPARED], autojunk=False).ratio() < ALIKE:
        return None
    return first + 1, _comparison(lines, wanted, first + 1)


def _comparison(lines: Sequence[str], wanted: Sequence[str], first: int) -> str:
    last = first - 1 + len(wanted)
    text = excerpt(lines, first, last)
    for number, (there, sent) in enumerate(zip_longest(lines[first - 1 : last], wanted), first):
        if there != sent:
            return (
                f"{text}\nFirst difference, line {number} of the file (· space, → tab):\n"
                f"file: {_visible(there)}\nsent: {_visible(sent)}"
            )
    return text


def _flat(line: str) -> str:
    return "".join(unicodedata.normalize("NFKC", line).split()).casefold()


def _visible(line: str | None) -> str:
    if line is None:
        return "(no line)"
    visible = line.translate(str.maketrans(" \t\r", "·→␍"))
    return visible if len(visible) <= 200 else visible[:200] + "…"


_AROUND = 2
"""Unchanged lines that an edit's result shows on each side of the change."""

_MAX_LINES, _MAX_WIDTH = 40, 200
_MOST_EXCERPTS = 5
_MAX_ECHO, _ECHO_WIDTH = 7, 100
"""Of an edit's result: the model has just sent most of it."""


def excerpt(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last` (1-based, cut to what exists), numbered as a view numbers them; a long piece keeps
    its two ends."""
    return _both_ends(lines, first, last, _MAX_LINES, _MAX_WIDTH)


def excerpts(lines: Sequence[str], numbers: Iterable[int]) -> str:
    """The lines with these numbers, the first few, each with the line above and below it."""
    return "\n--\n".join(excerpt(lines, n - 1, n + 1) for n in islice(dict.fromkeys(numbers), _MOST_EXCERPTS))


def changed_part(lf: str, first: int, last: int) -> str:
    """The lines that changed, with a few around them, so that the next edit needs no view."""
    part = _both_ends(split_lines(lf), first - _AROUND, last + _AROUND, _MAX_ECHO, _ECHO_WIDTH)
    return part or "[the file is empty now]"


def _both_ends(lines: Sequence[str], first: int, last: int, most: int, width: int) -> str:
    def numbered(numbers: Sequence[int]) -> list[str]:
        texts = ((number, lines[number - 1]) for number in numbers)
        return [
            f"{n}|{line}" if len(line) <= width else f"{n}|{line[:width]}[line goes on]" for n, line in texts
        ]

    numbers, half = range(max(1, first), min(last, len(lines)) + 1), most // 2
    if len(numbers) <= most:
        return "\n".join(numbered(numbers))
    left_out = f"[{len(numbers) - 2 * half} lines]"
    return "\n".join([*numbered(numbers[:half]), left_out, *numbered(numbers[-half:])])
