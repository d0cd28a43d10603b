"""Detect encoded secrets, which cannot be masked in place: such a text is withheld whole.

Base64, hexadecimal and percent signs are decoded, and the text is read backwards, up to two levels deep. Nothing in the
workspace has a secret to hide, so no other encoding is searched for.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from bot.gate.redact import Redactor
from bot.gate.secrets import credential_kind, without_credentials


class Detector:
    """Detects the secrets of a redactor and anything that looks like a credential, also if it is encoded. Immutable
    except for the redactor's memory."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def hidden(self, text: str) -> str | None:
        """Return the name of a secret, or the kind of a credential, that is encoded in `text`."""
        for reading in readings(text.encode("utf-8", "surrogatepass")):
            if name := self.redactor.holds_secret(reading):
                self.redactor.add_hit(name)
                return name
            if kind := credential_kind(reading):
                return kind
        return None

    def prepare(self) -> None:
        """Compile the patterns in advance, from any thread."""
        self.withhold("-" * _SHORTEST)

    def masked(self, text: str) -> str:
        """Return `text` for storage and display, with known secrets and credentials masked. The whole text is withheld
        if a secret is encoded in it, or if the search failed."""
        try:
            redacted = without_credentials(self.redactor.text(text))
            what = self.hidden(redacted)
        except Exception as error:  # noqa: BLE001 - after any error the text is unchecked
            return f"({_not_searched(error)})"
        return redacted if what is None else f"(withheld: it holds {what} in a disguise)"

    def withhold(self, text: str) -> str | None:
        """Return why `text` must not leave, as one sentence, or `None`: it contains a known secret or a credential,
        encoded or not, or the search failed."""
        try:
            return self._withhold_reason(text)
        except Exception as error:  # noqa: BLE001 - as above
            return _not_searched(error)

    def _withhold_reason(self, text: str) -> str | None:
        data = text.encode("utf-8", "surrogatepass")
        if name := self.redactor.holds_secret(data):
            self.redactor.add_hit(name)
            return f"withheld: it holds the value of {name}"
        if kind := credential_kind(data):
            return f"withheld: it holds what looks like a credential ({kind})"
        if what := self.hidden(text):
            return f"withheld: it holds {what} in a disguise"
        return None


def _not_searched(error: Exception) -> str:
    return f"withheld: it could not be looked through for secrets ({type(error).__name__})"


_DEPTH = 2
_MOST_BYTES = 1 << 22
"""Bytes of all readings of a text together; the rest is not searched."""
_SHORTEST = 12

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
            if len(reading) < _SHORTEST or reading in seen:
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
    yield b"\n".join(_from_hex(text))
    yield b"\n".join(_from_base64(text))


def _from_hex(text: bytes) -> Iterator[bytes]:
    for run in _HEX.findall(text):
        digits = _NOT_HEX.sub(b"", run)
        for start in (0, 1):
            yield binascii.a2b_hex(digits[start : start + (len(digits) - start) // 2 * 2])


def _from_base64(text: bytes) -> Iterator[bytes]:
    """Decode at each of four offsets. The last group is filled up, else its bytes would be lost."""
    for run in _BASE64.findall(text):
        plain = _NOT_BASE64.sub(b"", run).translate(_TO_PLAIN) + b"AAA"
        for start in range(4):
            yield binascii.a2b_base64(plain[start : start + (len(plain) - start) // 4 * 4])
