"""Decode a text for the search for encoded secrets, which cannot be masked in place: such a text is withheld whole.

Base64, hexadecimal and percent signs are decoded, and the text is read backwards, up to two levels deep. Nothing in the
workspace has a secret to hide, so no other encoding is searched for.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

_DEPTH = 2
_MOST_BYTES = 1 << 22
"""Bytes of all readings of a text together; the rest is not searched."""
SHORTEST_READING = 12

# Encoders wrap long lines, and a string in JSON has its line ends escaped.
_GAP = rb"(?:\s|\\{1,8}+[nrt])"
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}+(?:=*+%s++[A-Za-z0-9+/_-]++)*+" % _GAP)
_NOT_BASE64 = re.compile(rb"=|%s" % _GAP)
_HEX = re.compile(
    rb"(?<![0-9a-fA-F])(?:(?:\\{1,8}+x|0x|%%)?+[0-9a-fA-F]{2}(?:[,;:.-]|%s){0,3}+){10,}+" % _GAP
)
_NOT_HEX = re.compile(rb"0x|\\++[xnrt]|[^0-9a-fA-F]")
_TO_PLAIN = bytes.maketrans(b"-_", b"+/")
# Decoding at a wrong offset yields noise; only printable text may hide more.
_PRINTED = re.compile(rb"[\t\n\r -~]{16,}")


def readings(data: bytes) -> Iterator[bytes]:
    """Yield the other readings of `data`, each once, at most `_MOST_BYTES` together."""
    seen = {data}
    left = _MOST_BYTES
    texts = [data]
    for _ in range(_DEPTH):
        level, texts = texts, []
        for reading in (reading for text in level for reading in _decoded(text)):
            if len(reading) < SHORTEST_READING or reading in seen:
                continue
            left -= len(reading)
            if left < 0:
                return
            seen.add(reading)
            yield reading
            texts.append(b"\n".join(_PRINTED.findall(reading)))


def _decoded(text: bytes) -> Iterator[bytes]:
    """Yield one reading for each encoding, with all of `text` that may be in it."""
    yield text[::-1]
    if b"%" in text:
        yield unquote_to_bytes(text)
    digits = [_NOT_HEX.sub(b"", run) for run in _HEX.findall(text)]
    yield b"\n".join(map(binascii.a2b_hex, _groups(digits, 2)))
    # The last group is filled up, else its bytes would be lost.
    letters = [_NOT_BASE64.sub(b"", run).translate(_TO_PLAIN) + b"AAA" for run in _BASE64.findall(text)]
    yield b"\n".join(map(binascii.a2b_base64, _groups(letters, 4)))


def _groups(runs: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield each run from each offset, cut to whole groups of `size` characters."""
    for run in runs:
        for start in range(size):
            yield run[start : start + (len(run) - start) // size * size]
