"""The pieces by which known secrets are found: for each form of each value, runs of ten characters and more.

A run of `10 + step` characters of a form always holds a piece, wherever it was cut off; `step` is 1 for the value
itself and grows with the length of the form, so that a private key does not make a million pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import re2

from bot.gate.forms import Form, forms
from bot.gate.redact import Found

_RUN = 10
_OF_ITSELF, _OF_A_FORM, _OF_A_LINE = 256, 16, 4
"""About how many pieces are made of a value itself, of one of its forms, and of one line of a long value."""
_LONG = 200
_MEMORY = 1 << 28
_TWO_CLASSES = re.compile(rb"[a-z][^a-z]*[A-Z0-9]|[A-Z][^A-Z]*[a-z0-9]|[0-9][^0-9]*[A-Za-z]")
# What anybody may write: the beginnings that vendors give to all of their keys.
_PUBLIC = re.compile(
    rb"(?:gh[pousr]_|github_pat_|sk-(?:ant-(?:api|admin|sid)\d\d-|or-v1-|proj-|svcacct-|admin-)?|gsk_|xai-|AIza|hf_"
    rb"|A(?:KIA|SIA)|xox[a-z]-|[sr]k_(?:live|test)_|npm_|pypi-AgEIcHlwaS5vcmc|gl[a-z]{2,4}-|SG\.|eyJ[\w-]{0,200}\.?"
    rb"|MII[A-Za-z0-9+/]{13}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{52})"
)


class Place(NamedTuple):
    """Where in a form a piece stands."""

    form: bytes
    offset: int
    step: int
    name: str


class Pieces:
    """All pieces of all forms of the secrets given. Immutable.

    `longest` bounds how far a find may go on after a piece's start, `reach_back` how far before it a find may begin,
    `longest_start` is the length of the longest piece.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        places: dict[bytes, list[Place]] = {}
        seen: set[bytes] = set()
        for name, value in secrets.items():
            several = len(value) > _LONG and "\n" in value.strip()
            for number, form in enumerate(forms(value)):
                if form.data in seen:
                    continue
                seen.add(form.data)
                most = _OF_A_LINE if several else _OF_A_FORM
                public = _PUBLIC.match(form.data)
                skipped = public.end() if public and form.unit == 1 else 0
                for piece, place in _cut(form, name, skipped, most if number else _OF_ITSELF):
                    places.setdefault(piece, []).append(place)
        self._places = places
        options = re2.Options()
        options.max_mem = _MEMORY
        options.encoding = re2.Options.Encoding.LATIN1
        options.longest_match = True
        options.never_capture = True
        union = b"|".join(piece if piece.isalnum() else re2.escape(piece) for piece in sorted(places))
        self._search = re2.compile(union, options).search if places else None
        self.longest = max(map(len, seen), default=0)
        self.reach_back = max((place.step for found in places.values() for place in found), default=1) - 1
        self.longest_start = max(map(len, places), default=0)

    def first(self, data: bytes, start: int) -> int | None:
        """Where the first piece at or after `start` begins."""
        match = self._search(data, start) if self._search else None
        return match.start() if match else None

    def judge(self, data: bytes, start: int, floor: int) -> Found:
        """What the piece at `start` belongs to, nothing before `floor`."""
        assert self._search is not None
        piece = self._search(data, start).group()
        found = (_grown(data, start, floor, len(piece), place) for place in self._places[piece])
        return min(found, key=lambda one: (one.start, -one.end))

    def all(self, data: bytes) -> Iterator[Found]:
        """Every find in `data`, in order."""
        at = floor = 0
        while (hit := self.first(data, at)) is not None:
            found = self.judge(data, hit, floor)
            yield found
            at = floor = found.end


@lru_cache(maxsize=8)
def pieces_of(secrets: frozenset[tuple[str, str]]) -> Pieces:
    """The pieces of `secrets`, made once: the same few secrets have several redactors in a run."""
    return Pieces(dict(sorted(secrets)))


def _grown(data: bytes, start: int, floor: int, length: int, place: Place) -> Found:
    """The find around a piece: as much of the form as stands there."""
    form, offset = place.form, place.offset
    end, of_form = start + length, offset + length
    while of_form < len(form) and end < len(data) and form[of_form] == data[end]:
        end += 1
        of_form += 1
    begin, least = start, max(floor, start - place.step + 1)
    while offset and begin > least and form[offset - 1] == data[begin - 1]:
        begin -= 1
        offset -= 1
    return Found(begin, end, place.name)


def _cut(form: Form, name: str, skipped: int, most: int) -> Iterator[tuple[bytes, Place]]:
    """About `most` pieces of one form; `skipped` is how much of its beginning is no secret."""
    data, run = form.data, _RUN * form.unit
    if len(data) <= run or not data.isascii():
        # Cut anywhere, text that is not ASCII would no longer be text.
        yield data, Place(data, 0, 1, name)
        return
    step = 1 + (len(data) - run) // most
    if not _tells(data[:run], form.unit) or skipped:
        # Its beginning is anybody's to write, so only the whole form counts, and only that is looked for: each place
        # where a text has the beginning would cost a look of its own.
        yield data, Place(data, 0, 1, name)
    for offset in range(skipped, len(data) - run + 1, step):
        piece = data[offset : offset + run]
        if _tells(piece, form.unit):
            yield piece, Place(data, offset, step, name)


def _tells(piece: bytes, unit: int) -> bool:
    """Whether a piece is random enough to be masked by itself: `internal/` is not, wherever it was taken from."""
    return unit > 1 or bool(_TWO_CLASSES.search(piece))
