"""Encode a known secret in all usual forms, and match pieces of the forms in a text.

Each form of each value is cut into pieces of at least ten characters. Any `10 + step` consecutive characters of a form
contain a piece. `step` is 1 for the value itself and grows with the length of the form, so that a private key does not
make a million pieces.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import re2

SHORTEST = 8
"""Shorter values occur in any text by chance."""
_SHORTEST_LINE = 16
_SHORT = 12
_JOINTS = (" ", "-", ".", ",", "\n", "_", "\0")


class SecretMatch(NamedTuple):
    """Bytes `start` to `end` of a text are (a piece of) the secret called `name`."""

    start: int
    end: int
    name: str


class Form(NamedTuple):
    """`unit` is how many bytes encode one byte of the value: twenty hexadecimal digits carry no more than ten
    letters."""

    data: bytes
    unit: int = 1


def forms(value: str) -> Iterator[Form]:
    """Yield every form of `value`; none if it is too short to be distinguished from other words."""
    whole = value.strip()
    lines = [line.strip() for line in whole.split("\n")]
    if any(line.startswith("-----") for line in lines):
        # The header and footer are the same for all keys.
        lines = [line for line in lines if not line.startswith("-----")]
        whole = "\n".join(lines)
    if len(whole) < SHORTEST:
        return
    yield from _all(whole) if len(whole) >= _SHORT else _usual(whole)
    # A key of several lines is often printed line by line.
    for line in lines:
        if line != whole and len(line) >= _SHORTEST_LINE:
            yield from _usual(line)


def base64_forms(value: str) -> tuple[str, ...]:
    """Return the base64 forms of `value` for each offset in the encoded text."""
    return tuple(form.data.decode() for form in _base64(_raw(value.strip())))


def _usual(text: str) -> Iterator[Form]:
    raw = _raw(text)
    yield Form(raw)
    yield Form(_raw(text[::-1]))
    yield from (Form(_raw(json.dumps(text, ensure_ascii=ascii)[1:-1])) for ascii in (True, False))
    yield from (Form(quote(raw, safe="").encode()), Form(quote(raw).encode()), Form(quote_plus(raw).encode()))
    yield from (Form(_raw(html.escape(text, quote=mark))) for mark in (True, False))
    yield from (Form(raw.hex().encode(), 2), Form(raw.hex().upper().encode(), 2))
    yield from _base64(raw)


def _all(text: str) -> Iterator[Form]:
    yield from _usual(text)
    yield from (Form(_raw(text.upper())), Form(_raw(text.lower())), Form(_raw(text.swapcase())))
    yield Form(_raw(codecs.encode(text, "rot13")))
    raw = _raw(text)
    yield from _numbers(raw)
    yield from (Form(joint.encode().join(_characters(text)), 2) for joint in _JOINTS)
    yield from _base32(raw)
    for once in _base64(raw, urlsafe=False):
        yield from _base64(once.data, urlsafe=False)
    yield from _base64(text.encode("utf-16-le", "surrogatepass"), urlsafe=False)
    yield Form(base64.b85encode(raw)[: len(raw) // 4 * 5])
    yield Form(base64.a85encode(raw)[: len(raw) // 4 * 5])


def _numbers(raw: bytes) -> Iterator[Form]:
    """Yield the forms in which programs print bytes."""
    for digits in ("%02x", "%02X"):
        for before, joint in (
            ("", " "),
            ("", ":"),
            ("", "-"),
            ("", ","),
            ("\\x", ""),
            ("0x", ", "),
            ("0x", ","),
            ("%", ""),
        ):
            written = joint.join(before + digits % byte for byte in raw)
            yield Form(written.encode(), 2 + len(before + joint))
        # xxd: groups of two bytes, for both offsets.
        for start in (0, 1):
            pairs = [raw[:start], *(raw[at : at + 2] for at in range(start, len(raw), 2))]
            yield Form(
                b" ".join("".join(digits % byte for byte in pair).encode() for pair in pairs if pair), 3
            )
    for joint in (" ", ",", ", "):
        yield Form(joint.join(str(byte) for byte in raw).encode(), 4)
    yield Form("".join(f"\\{byte:03o}" for byte in raw).encode(), 4)
    yield Form("".join(f"\\u{byte:04x}" for byte in raw).encode(), 6)
    yield Form("".join(f"&#{byte};" for byte in raw).encode(), 5)
    yield Form("".join(f"&#x{byte:x};" for byte in raw).encode(), 6)
    yield Form("".join(f"{byte:08b}" for byte in raw).encode(), 8)


def _base64(raw: bytes, *, urlsafe: bool = True) -> Iterator[Form]:
    """Yield the part of a base64 text that depends on `raw` only, for each of the three offsets."""
    for shift in range(3):
        padded = b"\0" * shift + raw
        skip = -(-shift * 8 // 6)
        keep = len(padded) * 8 // 6
        written = base64.b64encode(padded)[skip:keep]
        yield Form(written)
        if urlsafe and (b"+" in written or b"/" in written):
            yield Form(written.translate(bytes.maketrans(b"+/", b"-_")))


def _base32(raw: bytes) -> Iterator[Form]:
    for shift in range(5):
        padded = b"\0" * shift + raw
        written = base64.b32encode(padded)[-(-shift * 8 // 5) : len(padded) * 8 // 5]
        yield from (Form(written), Form(written.lower()))


def _characters(text: str) -> Iterator[bytes]:
    return (_raw(character) for character in text)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_RUN = 10
_OF_ITSELF, _OF_A_FORM, _OF_A_LINE = 256, 16, 4
"""The approximate number of pieces of a value itself, of one of its forms, and of one line of a long value."""
_LONG = 200
_MEMORY = 1 << 28
_TWO_CLASSES = re.compile(rb"[a-z][^a-z]*[A-Z0-9]|[A-Z][^A-Z]*[a-z0-9]|[0-9][^0-9]*[A-Za-z]")
# What anybody may write: the beginnings that vendors give to all of their keys.
_PUBLIC = re.compile(
    rb"(?:gh[pousr]_|github_pat_|sk-(?:ant-(?:api|admin|sid)\d\d-|or-v1-|proj-|svcacct-|admin-)?|gsk_|xai-|AIza|hf_"
    rb"|A(?:KIA|SIA)|xox[a-z]-|[sr]k_(?:live|test)_|npm_|pypi-AgEIcHlwaS5vcmc|gl[a-z]{2,4}-|SG\.|eyJ[\w-]{0,200}\.?"
    rb"|MII[A-Za-z0-9+/]{13}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{52})"
)


class PieceOrigin(NamedTuple):
    """The position of a piece in a form."""

    form: bytes
    offset: int
    step: int
    name: str


class Pieces:
    """All pieces of all forms of some secrets. Immutable.

    A match ends at most `longest` bytes after the start of its piece and begins at most `reach_back` bytes before it.
    `longest_start` is the length of the longest piece.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        origins: dict[bytes, list[PieceOrigin]] = {}
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
                for piece, origin in _cut(form, name, skipped, most if number else _OF_ITSELF):
                    origins.setdefault(piece, []).append(origin)
        self._origins = origins
        options = re2.Options()
        options.max_mem = _MEMORY
        options.encoding = re2.Options.Encoding.LATIN1
        options.longest_match = True
        options.never_capture = True
        union = b"|".join(piece if piece.isalnum() else re2.escape(piece) for piece in sorted(origins))
        self._search = re2.compile(union, options).search if origins else None
        self.longest = max(map(len, seen), default=0)
        self.reach_back = (
            max((origin.step for same_piece in origins.values() for origin in same_piece), default=1) - 1
        )
        self.longest_start = max(map(len, origins), default=0)

    def first(self, data: bytes, start: int) -> int | None:
        """Return the start of the first piece at or after `start`, or `None`."""
        match = self._search(data, start) if self._search else None
        return match.start() if match else None

    def judge(self, data: bytes, start: int, floor: int) -> SecretMatch:
        """Return the match around the piece at `start`, beginning at `floor` or later."""
        assert self._search is not None
        piece = self._search(data, start).group()
        matches = (_extend(data, start, floor, len(piece), origin) for origin in self._origins[piece])
        return min(matches, key=lambda one: (one.start, -one.end))

    def all(self, data: bytes) -> Iterator[SecretMatch]:
        """Yield every match in `data`, in order."""
        at = floor = 0
        while (hit := self.first(data, at)) is not None:
            match = self.judge(data, hit, floor)
            yield match
            at = floor = match.end


@lru_cache(maxsize=8)
def pieces_of(secrets: frozenset[tuple[str, str]]) -> Pieces:
    """Return the pieces of `secrets`, cached: a run has several redactors for the same secrets."""
    return Pieces(dict(sorted(secrets)))


def _extend(data: bytes, start: int, floor: int, length: int, origin: PieceOrigin) -> SecretMatch:
    """Extend the match of a piece in both directions as far as the form continues."""
    form, offset = origin.form, origin.offset
    end, of_form = start + length, offset + length
    while of_form < len(form) and end < len(data) and form[of_form] == data[end]:
        end += 1
        of_form += 1
    begin, least = start, max(floor, start - origin.step + 1)
    while offset and begin > least and form[offset - 1] == data[begin - 1]:
        begin -= 1
        offset -= 1
    return SecretMatch(begin, end, origin.name)


def _cut(form: Form, name: str, skipped: int, most: int) -> Iterator[tuple[bytes, PieceOrigin]]:
    """Yield about `most` pieces of one form. The first `skipped` bytes of it are public."""
    data, run = form.data, _RUN * form.unit
    if len(data) <= run or not data.isascii():
        # Cut anywhere, text that is not ASCII would no longer be text.
        yield data, PieceOrigin(data, 0, 1, name)
        return
    step = 1 + (len(data) - run) // most
    if not _is_random(data[:run], form.unit) or skipped:
        # Other texts may have its beginning, so that only the whole form matches there.
        yield data, PieceOrigin(data, 0, 1, name)
    for offset in range(skipped, len(data) - run + 1, step):
        piece = data[offset : offset + run]
        if _is_random(piece, form.unit):
            yield piece, PieceOrigin(data, offset, step, name)


def _is_random(piece: bytes, unit: int) -> bool:
    """Whether a piece is random enough to be masked by itself: `internal/` is not."""
    return unit > 1 or bool(_TWO_CLASSES.search(piece))
