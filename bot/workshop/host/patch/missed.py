"""Why a section of a patch has no place, in words that let the next try succeed."""

from __future__ import annotations

from collections.abc import Sequence

from bot.workshop.host.near_miss import first_difference, look
from bot.workshop.host.patch.grammar import Section
from bot.workshop.host.patch.locate import Lines, Missed, place
from bot.workshop.host.snippet import excerpt

_SHOWN = 5


def why(missed: Missed, section: Section, lines: Sequence[str], cursor: int) -> str:
    """`lines` are the file's as the section met them; `cursor` is where it was looked for from."""
    if missed.kind == "anchor":
        return _anchor(missed, lines)
    numbers = ", ".join(map(str, missed.places))
    if missed.kind == "ambiguous":
        return (
            f"this section fits at several places (lines {numbers}). Add lines of context, or above it an anchor that "
            'is there once, such as "@@ class Name"\n' + _places(missed, lines)
        )
    if missed.kind == "order":
        return (
            f"its lines are at line {numbers}, which an earlier section has passed (it ended at line {cursor}). Put "
            "sections in the order of the file, and repeat no line in two of them"
        )
    if missed.kind == "end":
        return f'its lines are at line {numbers} and not at the end of the file. Leave "*** End of File" out'
    if missed.kind == "indent":
        return (
            f"its lines are at line {numbers} with another indentation (score {missed.score}). Copy them as they are\n"
            + _difference(section, lines, missed.places[0], len(section.old))
        )
    return _block(section, lines)


def _anchor(missed: Missed, lines: Sequence[str]) -> str:
    from difflib import get_close_matches

    head = f'there is no line "{missed.anchor}" after the places before it'
    close = get_close_matches(missed.anchor.strip(), {line.strip() for line in lines if line.strip()}, n=3)
    if not close:
        return f"{head}. After @@ comes a whole line of the file"
    near = [f"{n}|{line}" for n, line in enumerate(lines, start=1) if line.strip() in close][:_SHOWN]
    return f"{head}. Alike are\n" + "\n".join(near)


def _places(missed: Missed, lines: Sequence[str]) -> str:
    return "\n--\n".join(excerpt(lines, n - 1, n + 1) for n in missed.places[:_SHOWN])


def _block(section: Section, lines: Sequence[str]) -> str:
    old, new = section.old, section.new
    if any(sign == "+" for sign, _ in section.body) and (there := _already(section, new, lines)):
        return f"its lines are not there, but what it makes of them is, at line {there}: it may be applied already"
    if len(old) > len(lines):
        return f"it wants {len(old)} lines and the file has {len(lines)}. View the file again"
    near = look("\n".join(lines), "\n".join(old))
    if near is None:
        wanted = "\n".join(old[:_SHOWN])
        return (
            f"its lines are not in the file, nor anything like them. View it and copy. Looked for:\n{wanted}"
        )
    return f"its lines are not in the file. Closest is line {near.first}: {near.cause}\n" + _difference(
        section, lines, near.first, near.last - near.first + 1
    )


def _already(section: Section, new: Sequence[str], lines: Sequence[str]) -> int:
    body = tuple((" ", text) for text in new)
    if not "".join(new).strip():
        return 0
    found = place(Lines(lines), Section(section.line, (), body), 0)
    places = found.places if isinstance(found, Missed) and found.kind == "ambiguous" else ()
    return (places[0] if places else 0) if isinstance(found, Missed) else found.start + 1


def _difference(section: Section, lines: Sequence[str], first: int, count: int) -> str:
    there = list(lines[first - 1 : first - 1 + count])
    shown = excerpt(lines, first, first + count - 1)
    different = first_difference(there, section.old)
    if different is None:
        return shown
    index, in_file, in_patch = different
    return (
        f"{shown}\nFirst difference, line {first + index} of the file (· space, → tab):\n"
        f"file:  {in_file}\npatch: {in_patch}"
    )
