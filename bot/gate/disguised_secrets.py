"""Detect disguised secrets, which cannot be masked: such a text is withheld whole.

Several readings of a text are searched: without terminal sequences, format characters and separators, and with base64,
hexadecimal, dumps, numbers, percent signs and compression decoded, nested to a depth of three. Sizes are limited, time
is linear. A value that was transformed character by character is not detected; nothing in the workspace has a secret to
transform.
"""

from __future__ import annotations

import binascii
import bz2
import html
import lzma
import re
import string
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from bot.gate.redact import Redactor
from bot.gate.secrets import Finder

_SHORT = 200
_MOST_KNOWN = 5000


class Detector:
    """Detects the secrets of a redactor and anything that looks like a credential, also in disguise. Immutable
    except for the redactor's memory and a cache of short texts without a secret: a journal repeats names and numbers
    in every line."""

    def __init__(self, redactor: Redactor, finder: Finder | None = None) -> None:
        self.redactor = redactor
        self._finder = finder or Finder()
        self._harmless: set[str] = set()

    def hidden(self, text: str) -> str | None:
        """Return the name of a secret, or the kind of a credential, that is disguised in `text`. The redactor masks
        undisguised ones."""
        data = text.encode("utf-8", "surrogatepass")
        for reading in readings(data):
            known = self._bare if reading.bare else self.redactor
            if name := known.holds_secret(reading.data):
                self.redactor.add_hit(name)
                return name
            if reading.decoded and (kind := self._finder.kind(reading.data)):
                return kind
        return None

    def prepare(self) -> None:
        """Compile the patterns in advance, from any thread."""
        self.redactor.text("-")
        self.hidden("-" * 99)

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were met so far, sorted."""
        return self.redactor.names_hit

    def masked(self, text: str) -> str:
        """Return `text` for storage and display, with known secrets and credentials masked. The whole text is withheld
        if a secret is disguised in it, or if it could not be searched."""
        if text in self._harmless:
            return text
        try:
            redacted = self._finder.masked(self.redactor.text(text))
            what = self.hidden(redacted)
        except Exception as error:  # noqa: BLE001 - after any error the text is unchecked
            return f"({_not_searched(error)})"
        if what is None and redacted == text and len(text) <= _SHORT and len(self._harmless) < _MOST_KNOWN:
            self._harmless.add(text)
        return redacted if what is None else f"(withheld: it holds {what} in a disguise)"

    def withhold(self, text: str) -> str | None:
        """Return why `text` must not leave, as one sentence, or `None`: it contains a known secret or a credential,
        disguised or not, or could not be searched."""
        try:
            return self._withhold_reason(text)
        except Exception as error:  # noqa: BLE001 - as above
            return _not_searched(error)

    def _withhold_reason(self, text: str) -> str | None:
        data = text.encode("utf-8", "surrogatepass")
        if name := self.redactor.holds_secret(data):
            self.redactor.add_hit(name)
            return f"withheld: it holds the value of {name}"
        if kind := self._finder.kind(data):
            return f"withheld: it holds what looks like a credential ({kind})"
        if what := self.hidden(text):
            return f"withheld: it holds {what} in a disguise"
        return None

    @cached_property
    def _bare(self) -> Redactor:
        """A redactor for the secrets without separators."""
        return Redactor(
            {
                name: words_only(value.encode("utf-8", "surrogatepass")).decode()
                for name, value in self.redactor.secrets.items()
            }
        )


def _not_searched(error: Exception) -> str:
    return f"withheld: it could not be looked through for secrets ({type(error).__name__})"


_DEPTH = 3
_MOST_BYTES = 1 << 22
"""Bytes of all readings of a text together; the rest is not searched."""
_INFLATED = 1 << 19
_SHORTEST = 12

_WORD = (string.ascii_letters + string.digits).encode()
_HEX_DIGITS = string.hexdigits.encode()
_TO_PLAIN = bytes.maketrans(b"-_", b"+/")
_EVERY = bytes(range(256))
_NOT_WORD = _EVERY.translate(None, _WORD)
_NOT_BASE64 = _EVERY.translate(None, _WORD + b"+/-_=")
_PLAIN = bytes(range(32, 127)) + b"\t\n"
_NOT_HEX = _EVERY.translate(None, _HEX_DIGITS)

_TERMINAL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
# Format characters and fillers that do not show, as UTF-8: soft hyphen, zero width, bidi, joiners, tags, variations.
_UNSEEN = re.compile(
    rb"(?:\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\x85[\x9f\xa0]|\xe1\xa0[\x8b-\x8f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xe3\x85\xa4|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xef\xbe\xa0|\xf3\xa0[\x80-\x87][\x80-\xbf]|[\x00-\x08\x0b-\x1f\x7f])+"
)
_BASE64 = r"[A-Za-z0-9+/_-]{16,}"
_HEX = r"(?:(?:\\x|0x|%|&#x)?[0-9a-fA-F]{2}[\s,;:.-]{0,3}){10,}"
_DUMP = r"(?m)^[0-9a-fA-F]{6,8}:?[ \t]+(?:[0-9a-fA-F]{2,4}[ \t]{1,2}){1,16}"
_NUMBERS = r"(?:[0-9]{1,3}[\s,;]{1,3}){10,}[0-9]{0,3}"
# Of a few fixed bytes each: no text makes these slow, and a find costs a tenth of what one of google-re2's does.
_TAG = re.compile(rb"\xf3\xa0[\x80\x81][\x80-\xbf]")
_ESCAPE = re.compile(rb"\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}")
# How JSON and most languages escape the end of a line, and other characters, in strings.
_ESCAPED_SPACE = re.compile(rb"(?<!\\)\\++[nrtfv]")
_BACKSLASHES = re.compile(rb"\\++")
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\U000[0-9a-fA-F]{5}"
)
_PRINTED = r"[\t\n\r -~]{16,}"
_DEFLATED = (b"x\x01", b"x^", b"x\x9c", b"x\xda")
_MOST_STARTS = 4
_STYLED = (
    range(0xAA, 0xBB),
    range(0x2B0, 0x2E5),
    range(0x1D2C, 0x1D6B),
    range(0x2070, 0x209D),
    range(0x2100, 0x2150),
    range(0x2460, 0x2500),
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
    range(0x1F100, 0x1F190),
)
"""The Unicode ranges of letters and digits in other styles."""


class Reading(NamedTuple):
    """One reading of a text. `decoded`: it was decoded, so that its content was hidden in the text. `bare`: it has
    letters and digits only."""

    data: bytes
    decoded: bool = False
    bare: bool = False


def readings(data: bytes) -> Iterator[Reading]:
    """Yield the other readings of `data`, the cheapest first, each once, at most `_MOST_BYTES` together."""
    seen = {data}
    left = _MOST_BYTES
    waiting = [(data, 0)]
    written_out = _written_out(data)
    for other in dict.fromkeys((written_out, _folded(written_out))):
        if other != data:
            waiting.append((other, 0))
    while waiting:
        text, depth = waiting.pop(0)
        for reading in _once(text):
            if len(reading.data) < _SHORTEST or reading.data in seen:
                continue
            left -= len(reading.data)
            if left < 0:
                return
            seen.add(reading.data)
            yield reading
            # Decoding at a wrong offset yields noise; only printable text may hide more.
            if (
                reading.decoded
                and depth + 1 < _DEPTH
                and (printable := b"\n".join(_find_all(_PRINTED, reading.data)))
            ):
                waiting.append((printable, depth + 1))


def words_only(data: bytes) -> bytes:
    """Return only the letters and digits, so that separators between them do not matter."""
    return data.translate(None, _NOT_WORD)


def _written_out(text: bytes) -> bytes:
    """Undo escapes of any depth, as in a tool's arguments in a journal."""
    return _CHARACTER.sub(
        lambda match: _character(match.group()), _BACKSLASHES.sub(rb"\\", _ESCAPED_SPACE.sub(b"\n", text))
    )


def _folded(text: bytes) -> bytes:
    """Replace letters in other styles (full width, mathematical, circled) by plain ones, one by one: normalising a
    whole text can take quadratic time."""
    if text.isascii():
        return text
    letters = text.decode("utf-8", "surrogateescape")
    return letters.translate(_plain_letters()).encode("utf-8", "surrogateescape")


@cache
def _plain_letters() -> dict[int, str]:
    normalized = ((code, unicodedata.normalize("NFKC", chr(code))) for codes in _STYLED for code in codes)
    return {code: plain for code, plain in normalized if plain.isascii()}


@lru_cache(4096)
def _character(escape: bytes) -> bytes:
    """Return the escaped character in UTF-8."""
    kind = escape[1:2]
    digits = bytes.fromhex(escape.replace(b"\\" + kind, b"").decode())
    character = (
        digits.decode("utf-16-be", "surrogatepass") if kind == b"u" else chr(int.from_bytes(digits, "big"))
    )
    return character.encode("utf-8", "surrogatepass")


def _once(text: bytes) -> Iterator[Reading]:
    yield Reading(b"".join(_tags(text)), decoded=True)
    visible = text if not text.translate(None, _PLAIN) else _UNSEEN.sub(b"", _TERMINAL.sub(b"", text))
    yield Reading(visible)
    yield Reading(words_only(visible), bare=True)
    packed = visible.translate(None, _NOT_BASE64)
    yield Reading(packed)
    runs = dict.fromkeys((*_find_all(_BASE64, visible), packed))
    undone = (
        _unescaped(visible),
        _from_hex(visible),
        _from_dump(visible),
        _from_numbers(visible),
        *map(_from_base64, runs),
    )
    for decoded in chain.from_iterable(undone):
        yield Reading(decoded, decoded=True)
        for inflated in _inflated(decoded):
            yield Reading(inflated, decoded=True)


def _from_base64(run: bytes) -> Iterator[bytes]:
    """Decode at each of four offsets. Padding may be anywhere, as in two joined texts."""
    plain = run.translate(_TO_PLAIN, b"=")
    for start in range(4):
        whole = plain[start : start + (len(plain) - start) // 4 * 4]
        if whole:
            yield binascii.a2b_base64(whole)


def _from_hex(text: bytes) -> Iterator[bytes]:
    for run in _find_all(_HEX, text):
        digits = run.replace(b"0x", b"").translate(None, _NOT_HEX)
        for start in (0, 1):
            yield binascii.a2b_hex(digits[start : start + (len(digits) - start) // 2 * 2])


def _from_dump(text: bytes) -> Iterator[bytes]:
    """`xxd`, `hexdump -C` and their like: an offset, then bytes."""
    rows = (row.split(None, 1)[1] for row in _find_all(_DUMP, text))
    digits = b"".join(rows).translate(None, _NOT_HEX)
    yield binascii.a2b_hex(digits[: len(digits) // 2 * 2])


def _from_numbers(text: bytes) -> Iterator[bytes]:
    for run in _find_all(_NUMBERS, text):
        numbers = map(int, run.replace(b",", b" ").replace(b";", b" ").split())
        yield bytes(number for number in numbers if number < 256)


def _unescaped(text: bytes) -> Iterator[bytes]:
    if b"%" in text:
        yield unquote_to_bytes(text)
    if b"&" in text and b";" in text:
        yield html.unescape(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogatepass")
    if b"\\" in text:
        yield bytes(
            int(escape[4:], 16) if escape[1] == 0x75 else int(escape[1:], 8)
            for escape in _ESCAPE.findall(text)
        )


def _tags(text: bytes) -> Iterator[bytes]:
    """Yield ASCII that is encoded as tag characters, U+E0020 to U+E007E."""
    return (bytes([(tag[2] - 0x80) * 64 + tag[3] - 0x80]) for tag in _TAG.findall(text))


def _inflated(data: bytes) -> Iterator[bytes]:
    """Decompress gzip, bzip2 and xz at any offset of `data`, and zlib, whose header is too short to search for, only at
    the start."""
    if data.startswith(_DEFLATED):
        yield from _unpacked(zlib.decompressobj().decompress, data)
    for start in _starts(data, b"\x1f\x8b\x08"):
        yield from _unpacked(zlib.decompressobj(31).decompress, data[start:])
    for start in _starts(data, b"BZh"):
        yield from _unpacked(bz2.BZ2Decompressor().decompress, data[start:])
    for start in _starts(data, b"\xfd7zXZ\0"):
        yield from _unpacked(lzma.LZMADecompressor(memlimit=1 << 26).decompress, data[start:])


def _starts(data: bytes, mark: bytes) -> Iterator[int]:
    at = -1
    for _ in range(_MOST_STARTS):
        at = data.find(mark, at + 1)
        if at < 0:
            return
        yield at


def _unpacked(unpack: Callable[[bytes, int], bytes], data: bytes) -> Iterator[bytes]:
    try:
        yield unpack(data, _INFLATED)
    except (zlib.error, lzma.LZMAError, OSError, EOFError):
        return


def _find_all(pattern: str, text: bytes) -> list[bytes]:
    matches: list[bytes] = _compiled(pattern).findall(text)
    return matches


@cache
def _compiled(pattern: str) -> Any:
    """By google-re2, which these texts cannot make slow."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    return re2.compile(pattern.encode(), options)
