"""Find the lines of a file that a section of a patch replaces: by the lines it keeps and removes, and by its anchors.
Pure.

Lines are compared in passes, the strictest first. Sections may come in any order; one that fits at several places is
looked for after the section before it, and is refused if it fits there several times too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from bot.toolhost.patch.grammar import Section

_ALIKE = str.maketrans(
    dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
    | dict.fromkeys(range(0x2018, 0x201C), "'")
    | dict.fromkeys(range(0x201C, 0x2020), '"')
    | dict.fromkeys((0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000), " ")
)


class Placement(NamedTuple):
    """`section` replaces the lines [start, end), counted from 0. `exact`: its lines and anchors are there as
    written."""

    start: int
    end: int
    section: Section
    exact: bool = True


class NoPlacement(NamedTuple):
    """Why a section has no place. `kind` is "anchor" (with `anchor`), "block", or, with `places` where its lines are
    (from 1), "ambiguous", "end", "above" (its anchor is not above them) or "taken" (by another section)."""

    kind: str
    anchor: str = ""
    places: tuple[int, ...] = ()


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
    def bare(self) -> list[str]:
        return [line.strip() for line in self.alike]


def _alike(line: str) -> str:
    return line.translate(_ALIKE).rstrip()


def _bare(line: str) -> str:
    return _alike(line).strip()


_Forms = Callable[[Lines], list[str]]

_PASSES: tuple[tuple[_Forms, Callable[[str], str]], ...] = (
    (lambda lines: lines.plain, str),
    (lambda lines: lines.right, str.rstrip),
    (lambda lines: lines.alike, _alike),
)


def locate(lines: Lines, section: Section, taken: Sequence[Placement] = ()) -> Placement | NoPlacement:
    """The section's lines. `taken` are the places of the sections before it."""
    result = _locate(lines, section, taken)
    if isinstance(result, NoPlacement) and section.body[-1] == (" ", "") and len(section.body) > 1:
        # An empty line at the end is often meant as "here the file ends".
        again = _locate(lines, section._replace(body=section.body[:-1]), taken)
        if isinstance(again, Placement):
            return again
    return result


def is_once(lines: Lines, wanted: Sequence[str]) -> bool:
    """Whether these lines are in the file at one place, exactly as they are."""
    return bool(wanted) and len(_all(lines.plain, wanted)) == 1


class _Anchored(NamedTuple):
    """Where a section may begin to look: the lines of its last anchor, from 0, and whether they are as written."""

    ends: tuple[int, ...]
    exact: bool


def _locate(lines: Lines, section: Section, taken: Sequence[Placement]) -> Placement | NoPlacement:
    anchored = _anchored(lines, section.anchors)
    if isinstance(anchored, NoPlacement):
        if not is_once(lines, section.old):
            return anchored
        anchored = _Anchored((0,), exact=True)  # a line that does not exist cannot contradict
    if not section.old:
        return _insertion(lines, section, anchored, taken)
    missed: NoPlacement | None = None
    for forms, flatten in _PASSES:
        wanted = [flatten(line) for line in section.old]
        fits = _all(forms(lines), wanted) if any(wanted) or flatten is str else []
        places = [start for start in fits if not _overlaps(start, start + len(wanted), taken)]
        if section.at_end:
            places = [start for start in places if start + len(wanted) == len(lines.plain)]
        chosen = _chosen(section, places, anchored.ends, taken)
        if len(chosen) > 1:
            return NoPlacement("ambiguous", places=tuple(start + 1 for start in chosen))
        if chosen:
            exact = flatten is str and anchored.exact
            return Placement(chosen[0], chosen[0] + len(wanted), section, exact)
        missed = missed or _why_not(section, lines, fits, places)
    return missed or NoPlacement("block")


def _why_not(
    section: Section, lines: Lines, fits: Sequence[int], places: Sequence[int]
) -> NoPlacement | None:
    """The reason why none of the `fits` will do, `places` being those that are free and at the end if that is meant."""
    if not fits:
        return None
    at_end = fits[-1] + len(section.old) == len(lines.plain)
    kind = "above" if places else "end" if section.at_end and not at_end else "taken"
    return NoPlacement(kind, places=tuple(start + 1 for start in fits))


def _chosen(
    section: Section, places: Sequence[int], ends: Sequence[int], taken: Sequence[Placement]
) -> list[int]:
    """Those of the places that the section may mean: after its anchor, after the section before it, at its number."""
    cursor = taken[-1].end if taken else 0
    later = [start for start in places if start >= cursor]
    for nearer, low in ((later, cursor), (places, 0)):
        chosen = nearer if not section.anchors else sorted(set(_below(section, nearer, ends, low, taken)))
        if len(chosen) > 1 and section.number - 1 in chosen:
            return [section.number - 1]
        if chosen:
            return list(chosen)
    return []


def _below(
    section: Section, places: Sequence[int], ends: Sequence[int], low: int, taken: Sequence[Placement]
) -> Iterator[int]:
    """The first place below each anchor, which may be the first line of context itself. Below an anchor that an earlier
    section passed, each place counts, unless that section had the anchor too."""
    again = bool(taken) and taken[-1].section.anchors[:1] == section.anchors[:1]
    for end in ends:
        below = [start for start in places if start >= end]
        yield from below if end < low and not again else below[:1]


def _anchored(lines: Lines, anchors: Sequence[str]) -> _Anchored | NoPlacement:
    """The places of the last anchor: one for each place of the first, with the others between."""
    if not anchors:
        return _Anchored((), exact=True)
    ends, exact = _anchor_places(lines, anchors[0], 0)
    missing = anchors[0]
    for anchor in anchors[1:] if ends else ():
        following = [_anchor_places(lines, anchor, end + 1) for end in ends]
        exact = exact and all(same for _, same in following)
        ends, missing = [found[0] for found, _ in following if found], anchor
    return _Anchored(tuple(ends), exact) if ends else NoPlacement("anchor", anchor=missing)


def _anchor_places(lines: Lines, anchor: str, start: int) -> tuple[list[int], bool]:
    """The lines from `start` on that are the anchor, else those that have it as a part; and whether they are exact."""
    for flat, wanted in ((lines.plain, anchor), (lines.bare, _bare(anchor))):
        if places := [at for at in _all(flat, [wanted]) if at >= start]:
            return places, flat is lines.plain
    parts = [at for at, line in enumerate(lines.alike) if at >= start and _bare(anchor) in line]
    return parts, len(parts) == 1


def _insertion(
    lines: Lines, section: Section, anchored: _Anchored, taken: Sequence[Placement]
) -> Placement | NoPlacement:
    """Lines to add with none around them: right after the anchor, without one at the end of the file."""
    cursor = taken[-1].end if taken else 0
    starts = [end + 1 for end in anchored.ends]
    if not section.anchors:
        starts = [min(section.number, len(lines.plain)) if section.number else len(lines.plain)]
    starts = [start for start in starts if start >= cursor] or starts
    if len(starts) > 1:
        return NoPlacement("ambiguous", places=tuple(starts))
    return Placement(starts[0], starts[0], section, anchored.exact)


def _overlaps(start: int, end: int, taken: Sequence[Placement]) -> bool:
    return any(start < other.end and other.start < end for other in taken)


def _all(flat: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The positions of `wanted` in `flat`, overlapping ones included."""
    places: list[int] = []
    size, at = len(wanted), -1
    try:
        while True:
            at = flat.index(wanted[0], at + 1)
            if flat[at : at + size] == wanted:
                places.append(at)
    except ValueError:
        return places
