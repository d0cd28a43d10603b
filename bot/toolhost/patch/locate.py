"""Find the lines of a file that a section of a patch replaces: by its anchors, then by the lines it keeps and removes.
Pure.

Lines are compared in passes, the strictest first, and each pass has a score; a patch with a score over `THRESHOLD` does
not match. If two places fit equally, the section is ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from bot.toolhost.patch.grammar import Section

THRESHOLD = 3
MOST_PLACES = 20

_CLOSE = 1
_MISSED_END = 10_000
_ALIKE = str.maketrans(
    dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
    | dict.fromkeys(range(0x2018, 0x201C), "'")
    | dict.fromkeys(range(0x201C, 0x2020), '"')
    | dict.fromkeys((0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000), " ")
)


class Placement(NamedTuple):
    """`section` replaces the lines [start, end), counted from 0. `note` says what was adjusted, in a clause."""

    start: int
    end: int
    score: int
    section: Section
    note: str = ""


class NoPlacement(NamedTuple):
    """Why a section has no place. `kind` is "anchor" (with `anchor`), "block", "ambiguous" (with `places`), "indent",
    "end" or "order" (both with the one place where it is). Places are lines of the file, from 1."""

    kind: str
    anchor: str = ""
    places: tuple[int, ...] = ()
    score: int = 0


class Lines:
    """A file's lines, and their normalised forms for the passes."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.plain = list(lines)

    @cached_property
    def right(self) -> list[str]:
        return [line.rstrip() for line in self.plain]

    @cached_property
    def alike(self) -> list[str]:
        return [_alike(line) for line in self.plain]

    @cached_property
    def trimmed(self) -> list[str]:
        return [line.strip() for line in self.plain]

    @cached_property
    def bare(self) -> list[str]:
        return [line.strip() for line in self.alike]


def _alike(line: str) -> str:
    return line.translate(_ALIKE).rstrip()


def _bare(line: str) -> str:
    return _alike(line).strip()


# The last two ignore the indentation: good only if it is off by the same amount in every line.
_PASSES: tuple[tuple[Callable[[Lines], list[str]], Callable[[str], str], int], ...] = (
    (lambda lines: lines.plain, str, 0),
    (lambda lines: lines.right, str.rstrip, _CLOSE),
    (lambda lines: lines.alike, _alike, _CLOSE),
)
_LOOSE: tuple[tuple[Callable[[Lines], list[str]], Callable[[str], str]], ...] = (
    (lambda lines: lines.trimmed, str.strip),
    (lambda lines: lines.bare, _bare),
)


def locate(
    lines: Lines, section: Section, cursor: int, passed: Sequence[str] = ()
) -> Placement | NoPlacement:
    """The section's lines at or after line `cursor` (from 0). `passed` are the anchors of the previous section, which
    end before `cursor`: this section may repeat them without a second occurrence."""
    result = _locate(lines, section, cursor, passed)
    retry = isinstance(result, NoPlacement) and result.kind in ("block", "end", "indent")
    if retry and section.body[-1] == (" ", "") and len(section.body) > 1:
        # An empty line at the end is often meant as "here the file ends".
        again = _locate(lines, section._replace(body=section.body[:-1]), cursor, passed)
        if isinstance(again, Placement):
            return again
    return result


def is_once(lines: Lines, wanted: Sequence[str]) -> bool:
    """Whether these lines are in the file at one place, exactly as they are."""
    return bool(wanted) and len(_all(lines.plain, wanted, 0)) == 1


def _locate(lines: Lines, section: Section, cursor: int, passed: Sequence[str]) -> Placement | NoPlacement:
    starts: list[tuple[int, int]] = [(cursor, 0)]
    continued: list[Placement | NoPlacement] = []
    if section.anchors:
        continued = list(_continued(lines, section, cursor, passed))
        anchored = _anchored(lines, section.anchors, cursor)
        if isinstance(anchored, NoPlacement) and not continued:
            return _under_earlier(lines, section, cursor) or anchored
        starts = [] if isinstance(anchored, NoPlacement) else anchored
    if not section.old:
        return _insertion(lines, section, starts)
    result = [*(_block(lines, section, start, score) for start, score in starts), *continued]
    placements = {one.start: one for one in reversed(result) if isinstance(one, Placement)}
    if len(placements) > 1:
        return NoPlacement("ambiguous", places=tuple(start + 1 for start in sorted(placements)))
    if placements:
        return next(iter(placements.values()))
    first = result[0]
    assert isinstance(first, NoPlacement)
    if first.kind == "block" and cursor:
        before = _block(lines, section._replace(anchors=(), at_end=False), 0, 0)
        if isinstance(before, Placement):
            return NoPlacement("order", places=(before.start + 1,))
    return first


def _continued(
    lines: Lines, section: Section, cursor: int, passed: Sequence[str]
) -> Iterator[Placement | NoPlacement]:
    """The place after the previous section, if this one repeats its first anchors."""
    pairs = zip(section.anchors, passed, strict=False)
    same = len(list(takewhile(lambda pair: pair[0].strip() == pair[1].strip(), pairs)))
    if not same or not section.old:
        return
    start, score = cursor, 0
    if rest := section.anchors[same:]:
        anchored = _anchored(lines, rest, cursor)
        if isinstance(anchored, NoPlacement):
            return
        start, score = anchored[0]
    yield _block_from(lines, section, section.old, start, score)


def _under_earlier(lines: Lines, section: Section, cursor: int) -> Placement | None:
    """The only place after the previous section, if the last anchor is a line above it that was passed already: a
    git diff names the function around a hunk, and the previous hunk may have contained that line."""
    earlier = _anchor_places(lines, section.anchors[-1], 0)
    if not section.old or not earlier or earlier[0][0] >= cursor:
        return None
    result = _block_from(lines, section._replace(anchors=()), section.old, cursor, earlier[0][1])
    return result if isinstance(result, Placement) else None


def _anchored(lines: Lines, anchors: Sequence[str], cursor: int) -> list[tuple[int, int]] | NoPlacement:
    """The lines to search from, and the score of each: after the last anchor, once for each place of the first one."""
    starts: list[tuple[int, int]] = []
    missing = anchors[0]
    for at, score in _anchor_places(lines, anchors[0], cursor):
        start = at + 1
        for anchor in anchors[1:]:
            places = _anchor_places(lines, anchor, start)
            if not places:
                missing = anchor
                break
            start, score = places[0][0] + 1, score + places[0][1]
        else:
            starts.append((start, score))
    return starts or NoPlacement("anchor", anchor=missing)


def _anchor_places(lines: Lines, anchor: str, start: int) -> list[tuple[int, int]]:
    for flat, wanted, score in (
        (lines.plain, anchor, 0),
        (lines.trimmed, anchor.strip(), _CLOSE),
        (lines.bare, _bare(anchor), _CLOSE),
    ):
        if places := _all(flat, [wanted], start):
            return [(position, score) for position in places]
    return []


def _insertion(lines: Lines, section: Section, starts: Sequence[tuple[int, int]]) -> Placement | NoPlacement:
    """Lines to add with none around them: right after the anchor, without one at the end of the file."""
    if not section.anchors:
        end = len(lines.plain)
        return Placement(end, end, 0, section)
    if len(starts) > 1:
        return NoPlacement("ambiguous", places=tuple(start for start, _ in starts))
    start, score = starts[0]
    return Placement(start, start, score, section)


def _block(lines: Lines, section: Section, start: int, score: int) -> Placement | NoPlacement:
    old = section.old
    if section.anchors and start:
        result = _block_from(lines, section, old, start, score)
        if isinstance(result, NoPlacement) and result.kind == "block":
            # The anchor may be repeated as the first line of context.
            return _block_from(lines, section, old, start - 1, score)
        return result
    return _block_from(lines, section, old, start, score)


def _block_from(
    lines: Lines, section: Section, old: Sequence[str], start: int, score: int
) -> Placement | NoPlacement:
    end_at = len(lines.plain) - len(old)
    if end_at < start:
        return NoPlacement("block")
    for flat_of, flatten, price in _PASSES:
        flat, wanted = flat_of(lines), [flatten(line) for line in old]
        if places := _all(flat, wanted, end_at if section.at_end else start):
            return _one_of(places, section, len(old), score + price)
    if section.at_end:
        elsewhere = _block_from(lines, section._replace(at_end=False), old, start, score)
        if isinstance(elsewhere, Placement) and elsewhere.start != end_at:
            return NoPlacement("end", places=(elsewhere.start + 1,), score=_MISSED_END)
        return elsewhere
    return _loose(lines, section, old, start, score)


def _one_of(places: Sequence[int], section: Section, size: int, score: int) -> Placement | NoPlacement:
    if len(places) > 1 and not section.anchors:
        return NoPlacement("ambiguous", places=tuple(position + 1 for position in places))
    return Placement(places[0], places[0] + size, score, section)


def _loose(
    lines: Lines, section: Section, old: Sequence[str], start: int, score: int
) -> Placement | NoPlacement:
    """A place where only the indentation differs, all of it by the same amount: then so do the added lines."""
    for flat_of, flatten in _LOOSE:
        wanted = [flatten(line) for line in old]
        if not any(wanted) or not (places := _all(flat_of(lines), wanted, start)):
            continue
        result = _one_of(places, section, len(old), score + _CLOSE)
        if isinstance(result, NoPlacement):
            return result
        moved = _reindented(section, lines.plain[result.start : result.end])
        if moved is None:
            return NoPlacement("indent", places=(result.start + 1,), score=100)
        body, note = moved
        return result._replace(section=section._replace(body=body), note=note)
    return NoPlacement("block")


def _reindented(section: Section, there: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], str] | None:
    pairs = [
        (old, line) for old, line in zip(section.old, there, strict=True) if old.strip() and line.strip()
    ]
    inside = [_indent(line) for _, line in pairs]
    old_indents = [_indent(old) for old, _ in pairs]
    more = inside[0].removesuffix(old_indents[0]) if inside[0].endswith(old_indents[0]) else ""
    less = old_indents[0].removesuffix(inside[0]) if old_indents[0].endswith(inside[0]) else ""
    if more and all(there == more + here for here, there in zip(old_indents, inside, strict=True)):
        return _with_added(section, lambda text: more + text), f"indented by {_named(more)} more"
    if less and all(here == less + there for here, there in zip(old_indents, inside, strict=True)):
        added = [text for sign, text in section.body if sign == "+" and text.strip()]
        if all(text.startswith(less) for text in added):
            return _with_added(
                section, lambda text: text.removeprefix(less)
            ), f"indented by {_named(less)} less"
    return None


def _with_added(section: Section, move: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    return tuple((sign, move(text) if sign == "+" and text.strip() else text) for sign, text in section.body)


def _indent(line: str) -> str:
    match = re.match(r"[ \t]*", line)
    return match.group() if match else ""


def _named(space: str) -> str:
    word = "tab" if set(space) == {"\t"} else "space" if set(space) == {" "} else "character"
    return f"{len(space)} {word}{'s' if len(space) > 1 else ''}"


def _all(flat: Sequence[str], wanted: Sequence[str], start: int) -> list[int]:
    """The positions of `wanted` in `flat` from `start` on, overlapping ones included; at most as many as are
    reported."""
    places: list[int] = []
    size, at = len(wanted), start - 1
    try:
        while len(places) <= MOST_PLACES:
            at = flat.index(wanted[0], at + 1)
            if flat[at : at + size] == wanted:
                places.append(at)
    except ValueError:
        pass
    return places
