"""Find the lines of a file that a section of a patch replaces: by the lines it keeps and removes, and by its anchors.
Pure.

Lines are compared in passes, the strictest first. Sections may come in any order; one that fits at several places is
looked for after the section before it, and is refused if it fits there several times too.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from bot.toolhost.patch.grammar import Section
from bot.toolhost.text_replacement import excerpts, find_near_miss

_ALIKE = str.maketrans(
    dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
    | dict.fromkeys(range(0x2018, 0x201C), "'")
    | dict.fromkeys(range(0x201C, 0x2020), '"')
    | dict.fromkeys((0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000), " ")
)


class Placement(NamedTuple):
    """`section` replaces the lines [start, end), counted from 0."""

    start: int
    end: int
    section: Section


def _alike(line: str) -> str:
    return line.translate(_ALIKE).rstrip()


_PASSES: tuple[Callable[[str], str], ...] = (str, str.rstrip, _alike)


def locate(lines: Sequence[str], section: Section, taken: Sequence[Placement]) -> Placement | str:
    """The section's lines among `lines`, or the reason why they have no place, for the model. `taken` are the places of
    the sections before it."""
    result = _locate(lines, section, taken)
    if isinstance(result, str) and section.body[-1] == (" ", "") and len(section.body) > 1:
        # An empty line at the end is often meant as "here the file ends".
        shorter = _locate(lines, section._replace(body=section.body[:-1]), taken)
        return result if isinstance(shorter, str) else shorter
    return result


def is_once(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether these lines are in the file at one place, exactly as they are."""
    return bool(wanted) and len(_all(lines, wanted)) == 1


def _locate(lines: Sequence[str], section: Section, taken: Sequence[Placement]) -> Placement | str:
    ends, missing = _anchor_ends(lines, section.anchors)
    if missing and not is_once(lines, section.old):  # else the missing line does not matter
        return _no_anchor(missing, lines)
    cursor = taken[-1].end if taken else 0
    if not section.old:  # right after the anchor, without one at the end of the file
        starts = [end + 1 for end in ends]
        if not section.anchors:
            starts = [len(lines) if section.number is None else min(section.number, len(lines))]
        starts = [start for start in starts if start >= cursor] or starts
        return Placement(starts[0], starts[0], section) if len(starts) == 1 else _ambiguous(starts, lines)
    elsewhere: list[int] = []
    for flatten in _PASSES:
        wanted = [flatten(line) for line in section.old]
        fits = _all(lines if flatten is str else [flatten(line) for line in lines], wanted)
        if not any(wanted) and flatten is not str:
            continue
        size = len(wanted)
        free = [at for at in fits if not any(at < one.end and one.start < at + size for one in taken)]
        if section.at_end:
            free = [at for at in free if at + size == len(lines)]
        chosen = _nearest(section, free, ends, cursor)
        if len(chosen) > 1:
            return _ambiguous(chosen, lines)
        if chosen:
            return Placement(chosen[0], chosen[0] + size, section)
        elsewhere = elsewhere or fits
    if not elsewhere:
        return _not_there(section, lines)
    end = ', nor at the end of the file: leave "*** End of File" out' if section.at_end else ""
    return (
        f"its lines are at line {_numbers(elsewhere)}, but not below the line after @@ and apart from earlier "
        f"sections{end}\n{excerpts(lines, (at + 1 for at in elsewhere))}"
    )


def _nearest(section: Section, places: Sequence[int], ends: Sequence[int], cursor: int) -> list[int]:
    """Those of the places that the section may mean: after the section before it, else anywhere, and there the first
    below each place of its anchor or the one at its number."""
    for pool in ([at for at in places if at >= cursor], places):
        below = (next((at for at in pool if at >= end), -1) for end in ends)
        chosen = sorted({*below} - {-1}) if section.anchors and ends else list(pool)
        if len(chosen) > 1 and section.number is not None and section.number - 1 in chosen:
            return [section.number - 1]
        if chosen:
            return chosen
    return []


def _anchor_ends(lines: Sequence[str], anchors: Sequence[str]) -> tuple[list[int], str]:
    """The lines of the last anchor, one for each place of the first, with the others between; and an anchor that is not
    there."""
    ends = [-1]
    for anchor in anchors:
        following = [_anchor_places(lines, anchor, end + 1) for end in ends]
        ends = following[0] if ends == [-1] else [places[0] for places in following if places]
        if not ends:
            return [], anchor
    return (ends if anchors else []), ""


def _anchor_places(lines: Sequence[str], anchor: str, start: int) -> list[int]:
    """The lines from `start` on that are the anchor, else those that have it as a part."""
    bare = _alike(anchor).strip()
    numbered = list(enumerate(lines))[start:]
    return (
        [at for at, line in numbered if line == anchor]
        or [at for at, line in numbered if _alike(line).strip() == bare]
        or [at for at, line in numbered if bare in _alike(line)]
    )


def _all(flat: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The positions of `wanted` in `flat`, overlapping ones included."""
    size = len(wanted)
    return [
        at for at, line in enumerate(flat) if line == wanted[0] and list(flat[at : at + size]) == list(wanted)
    ]


_MAX_LINES = 5
_MOST_PLACES = 20


def _ambiguous(places: Sequence[int], lines: Sequence[str]) -> str:
    return (
        f"this section fits at several places (lines {_numbers(places)}). Add lines of context, or above it an anchor "
        f'that is there once, such as "@@ class Name"\n{excerpts(lines, (at + 1 for at in places))}'
    )


def _numbers(places: Sequence[int]) -> str:
    return ", ".join(str(at + 1) for at in places[:_MOST_PLACES])


def _no_anchor(anchor: str, lines: Sequence[str]) -> str:
    head = f'there is no line "{anchor}" after the places before it'
    close = get_close_matches(anchor.strip(), {line.strip() for line in lines if line.strip()}, n=3)
    if not close:
        return f"{head}. After @@ comes a line of the file, or a part of one that is there once"
    near = [f"{n}|{line}" for n, line in enumerate(lines, start=1) if line.strip() in close][:_MAX_LINES]
    return f"{head}. Alike are\n" + "\n".join(near)


def _not_there(section: Section, lines: Sequence[str]) -> str:
    old, new = section.old, section.new
    adds = any(sign == "+" for sign, _ in section.body)
    if adds and "".join(new).strip() and (there := _all(lines, new)):
        head = f"its lines are not there, but what it makes of them is, at line {there[0] + 1}"
        return f"{head}: it may be applied already"
    if len(old) > len(lines):
        return f"it wants {len(old)} lines and the file has {len(lines)}. View the file again"
    near = find_near_miss(lines, old)
    if near is None:
        wanted = "\n".join(old[:_MAX_LINES])
        return (
            f"its lines are not in the file, nor anything like them. View it and copy. Looked for:\n{wanted}"
        )
    return f"its lines are not in the file. Closest is line {near[0]}\n{near[1]}"
