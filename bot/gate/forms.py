"""How a secret may be written down: some sixty encodings of one value, each as the bytes that it alone decides.

Pure. What is looked for in a text, and how, is the business of `bot.gate.redact`.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""Shorter values are words that any text holds."""
_SHORTEST_LINE = 16
_SHORT = 12
_JOINTS = (" ", "-", ".", ",", "\n", "_", "\0")


class Form(NamedTuple):
    """`unit` is how many bytes stand for one of the value: twenty hexadecimal digits say no more than ten letters."""

    data: bytes
    unit: int = 1


def forms(value: str) -> Iterator[Form]:
    """Every form of `value`; none where it is too short to be told from other words."""
    whole = value.strip()
    lines = [line.strip() for line in whole.split("\n")]
    if any(line.startswith("-----") for line in lines):
        # What frames a key is the same for all keys.
        lines = [line for line in lines if not line.startswith("-----")]
        whole = "\n".join(lines)
    if len(whole) < SHORTEST:
        return
    yield from _all(whole) if len(whole) >= _SHORT else _usual(whole)
    # A key of several lines is often seen one line at a time.
    for line in lines:
        if line != whole and len(line) >= _SHORTEST_LINE:
            yield from _usual(line)


def base64_forms(value: str) -> tuple[str, ...]:
    """What base64 makes of `value` wherever in the encoded text it begins."""
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
    """Byte by byte, as programs that dump bytes print them."""
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
        # xxd: two bytes a group, from either of the two places where a group may begin.
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
    """The part of a base64 text that `raw` alone decides, at each of the three places it can begin."""
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
