"""A patch as numbered lines with the changed words of a line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from slash_forge.diffs import HUNK_HEADER

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
# Comparing is quadratic in the number of words.
_MAX_WORDS = 300
_MIN_SIMILARITY = 0.5

Parts = tuple[tuple[str, bool], ...]
Kind = Literal["hunk", "context", "added", "removed", "note"]


@dataclass(frozen=True, slots=True)
class Line:
    """`parts` make up the text; a part is true if it differs from the paired line."""

    kind: Kind
    old: int | None
    new: int | None
    parts: Parts


def lines(patch: str) -> list[Line]:
    """All lines of the hunks, headers included."""
    return list(_paired(list(_numbered(patch))))


def _numbered(patch: str) -> Iterator[Line]:
    old = new = 0
    for text in patch.split("\n"):
        header = HUNK_HEADER.match(text)
        if header:
            old, new = int(header[1]), int(header[2])
            yield Line("hunk", None, None, _plain(text))
        elif text.startswith("+"):
            yield Line("added", None, new, _plain(text[1:]))
            new += 1
        elif text.startswith("-"):
            yield Line("removed", old, None, _plain(text[1:]))
            old += 1
        elif text.startswith("\\"):
            yield Line("note", None, None, _plain(text[2:]))
        else:
            yield Line("context", old, new, _plain(text[1:]))
            old, new = old + 1, new + 1


def _paired(numbered: Sequence[Line]) -> Iterator[Line]:
    """Pair the lines in a run of removals that is followed by as many additions."""
    index = 0
    while index < len(numbered):
        removed = _run(numbered, index, "removed")
        if not removed:
            yield numbered[index]
            index += 1
            continue
        added = _run(numbered, index + len(removed), "added")
        index += len(removed) + len(added)
        if len(removed) == len(added):
            marked = [_marked(one, other) for one, other in zip(removed, added, strict=True)]
            removed, added = [one for one, _ in marked], [other for _, other in marked]
        yield from removed
        yield from added


def _run(numbered: Sequence[Line], start: int, kind: Kind) -> list[Line]:
    end = start
    while end < len(numbered) and numbered[end].kind == kind:
        end += 1
    return list(numbered[start:end])


def _plain(text: str) -> Parts:
    return ((text, False),)


def _marked(removed: Line, added: Line) -> tuple[Line, Line]:
    one, other = (_WORDS.findall(line.parts[0][0]) for line in (removed, added))
    if max(len(one), len(other)) > _MAX_WORDS:
        return removed, added
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        # The lines have too little in common for marks to help.
        return removed, added
    ours, theirs = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        ours.append(("".join(one[a:b]), tag != "equal"))
        theirs.append(("".join(other[c:d]), tag != "equal"))
    return replace(removed, parts=_filled(ours)), replace(added, parts=_filled(theirs))


def _filled(parts: list[tuple[str, bool]]) -> Parts:
    return tuple(part for part in parts if part[0])
