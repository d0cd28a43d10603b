"""Mask secrets whose values are known: plain, in base64, hexadecimal and JSON, with percent signs and backwards, and in
pieces of ten characters. A last resort, since nothing in the workspace has a secret.

A value is cut into pieces at each of its characters; an encoded form is found as a whole. google-re2 searches in time
linear in the text; the pieces are compiled at the first text.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote_to_bytes

import re2

from bot.gate.secrets import (
    MOST,
    SHORTEST,
    Span,
    credential_kind,
    replaced,
    search_options,
    withhold_if_secret,
    without_credentials,
)


class Redactor:
    """Masks secrets, known by name and value, and detects them and anything that looks like a credential, also if it is
    encoded. Thread-safe: immutable, except for the names of the secrets that it has found."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = frozenset(secrets.items())
        self._hits: set[str] = set()

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were masked so far, sorted."""
        return tuple(sorted(self._hits))

    def text(self, text: str) -> str:
        """Return `text` with every known value, and every piece of one, replaced by `[redacted NAME]`."""
        if not self._secrets:
            return text
        data = _raw(text)
        masked = self.mask(data)
        return text if masked is data else masked.decode("utf-8", "surrogatepass")

    def mask(self, data: bytes) -> bytes:
        """Like `text`, for bytes. Returns the same object if there is nothing to mask."""
        matches = list(islice(self._matches(data), MOST + 1))
        self._hits.update(match.kind for match in matches)
        return replaced(data, matches, "[redacted {}]")

    def holds_secret(self, data: bytes) -> str | None:
        """Return the name of a secret in `data`, or `None`; for data that must be withheld instead of masked."""
        match = next(self._matches(data), None)
        return match.kind if match else None

    def hidden(self, text: str) -> str | None:
        """Return the name of a secret, or the kind of a credential, that is encoded in `text`."""
        for reading in readings(_raw(text)):
            if name := self.holds_secret(reading):
                self._hits.add(name)
                return name
            if kind := credential_kind(reading):
                return kind
        return None

    def prepare(self) -> None:
        """Compile the patterns in advance, from any thread."""
        self.withhold("-" * _SHORTEST_READING)

    def masked(self, text: str) -> str:
        """Return `text` for storage and display, with known secrets and credentials masked. The whole text is withheld
        if a secret is encoded in it, or if the search failed."""
        try:
            redacted = without_credentials(self.text(text))
            what = self.hidden(redacted)
        except Exception as error:  # noqa: BLE001 - after any error the text is unchecked
            return f"({_not_searched(error)})"
        return redacted if what is None else f"(withheld: it contains {what} in encoded form)"

    def withhold(self, text: str) -> str | None:
        """Return why `text` must not leave, as one sentence, or `None`: it contains a known secret or a credential,
        encoded or not, or the search failed."""
        try:
            if name := self.holds_secret(_raw(text)):
                self._hits.add(name)
                return f"withheld: it holds the value of {name}"
            if reason := withhold_if_secret(text):
                return reason
            what = self.hidden(text)
        except Exception as error:  # noqa: BLE001 - as above
            return _not_searched(error)
        return what and f"withheld: it contains {what} in encoded form"

    def _matches(self, data: bytes) -> Iterator[Span]:
        """Yield every match in `data`, in order."""
        search, origins = _compiled(self._secrets)
        end = 0
        while origins and (hit := search(data, end)):
            match = max(_extended(data, hit.start(), hit.end(), origin) for origin in origins[hit.group()])
            yield match
            end = match.end


def _not_searched(error: Exception) -> str:
    return f"withheld: it could not be looked through for secrets ({type(error).__name__})"


_SHORTEST_LINE = 16


def forms(value: str) -> Iterator[bytes]:
    """Yield every form of `value`, itself first; none if it is too short to be distinguished from other words."""
    whole = value.strip()
    lines = [line.strip() for line in whole.split("\n")]
    if any(line.startswith("-----") for line in lines):
        # The header and footer are the same for all keys.
        lines = [line for line in lines if not line.startswith("-----")]
        whole = "\n".join(lines)
    if len(whole) < SHORTEST:
        return
    yield from _encoded(whole)
    # A key of several lines is often printed line by line.
    for line in lines:
        if line != whole and len(line) >= _SHORTEST_LINE:
            yield from _encoded(line)


def base64_forms(value: str) -> tuple[str, ...]:
    """Return the base64 forms of `value` for each offset in the encoded text."""
    return tuple(map(bytes.decode, _base64(_raw(value.strip()))))


def _encoded(text: str) -> Iterator[bytes]:
    raw = _raw(text)
    yield from (raw, _raw(text[::-1]), raw.hex().encode(), raw.hex().upper().encode())
    yield from (_raw(json.dumps(text, ensure_ascii=ascii)[1:-1]) for ascii in (True, False))
    yield from (quote(raw, safe="").encode(), quote(raw).encode(), quote_plus(raw).encode())
    for once in _base64(raw):
        yield from (once, *_base64(once))


def _base64(raw: bytes) -> Iterator[bytes]:
    """Yield the part of a base64 text that depends on `raw` only, for each of the three offsets."""
    for shift in range(3):
        padded = b"\0" * shift + raw
        skip = -(-shift * 8 // 6)
        keep = len(padded) * 8 // 6
        written = base64.b64encode(padded)[skip:keep]
        yield written
        if b"+" in written or b"/" in written:
            yield written.translate(bytes.maketrans(b"+/", b"-_"))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_RUN = 10
_TWO_CLASSES = re.compile(rb"[a-z][^a-z]*[A-Z0-9]|[A-Z][^A-Z]*[a-z0-9]|[0-9][^0-9]*[A-Za-z]")
# What anybody may write: the beginnings that vendors give to all of their keys.
_PUBLIC = re.compile(
    rb"(?:gh[pousr]_|github_pat_|sk-(?:ant-(?:api|admin|sid)\d\d-|or-v1-|proj-|svcacct-|admin-)?|gsk_|xai-|AIza|hf_"
    rb"|A(?:KIA|SIA)|xox[a-z]-|[sr]k_(?:live|test)_|npm_|pypi-AgEIcHlwaS5vcmc|gl[a-z]{2,4}-|SG\.|eyJ[\w-]{0,200}\.?"
    rb"|MII[A-Za-z0-9+/]{13}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{52})"
)


class _Origin(NamedTuple):
    """Where in a form of a secret a piece of it begins."""

    form: bytes
    offset: int
    name: str


@lru_cache(maxsize=8)  # a run has several redactors for the same secrets
def _compiled(secrets: frozenset[tuple[str, str]]):  # type: ignore[no-untyped-def]  # google-re2 has no types
    """Return the search for all forms of some secrets and all pieces of their values, and the origins of each."""
    origins: dict[bytes, list[_Origin]] = {}
    for name, secret in sorted(secrets):
        for form in forms(secret):
            origins.setdefault(form, []).append(_Origin(form, 0, name))
        value = next(forms(secret), b"")
        for offset in _beginnings(value):
            origins.setdefault(value[offset : offset + _RUN], []).append(_Origin(value, offset, name))
    union = b"|".join(piece if piece.isalnum() else re2.escape(piece) for piece in sorted(origins))
    return re2.compile(union, search_options()).search, origins


def _extended(data: bytes, start: int, end: int, origin: _Origin) -> Span:
    """Return the match of a piece, as far as the form continues after it."""
    form, at = origin.form, origin.offset + end - start
    while data[end : end + 1] == form[at : at + 1] != b"":
        end, at = end + 1, at + 1
    return Span(start, end, origin.name)


def _beginnings(value: bytes) -> Iterator[int]:
    """Yield where the pieces of a value begin that are random enough to be masked by themselves: `internal/` is not,
    nor is what anybody may write. Text that is not ASCII would not be text any more if it were cut anywhere."""
    public = _PUBLIC.match(value)
    for at in range(public.end() if public else 0, len(value) - _RUN + 1 if value.isascii() else 0):
        if _TWO_CLASSES.search(value[at : at + _RUN]):
            yield at


_DEPTH = 2
_MOST_READ = 1 << 22
"""Bytes of all readings of a text together; the rest is not searched."""
_SHORTEST_READING = 12

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
    """Yield the other readings of `data`, each once, at most `_MOST_READ` together."""
    seen = {data}
    left = _MOST_READ
    texts = [data]
    for _ in range(_DEPTH):
        level, texts = texts, []
        for reading in (reading for text in level for reading in _decoded(text)):
            if len(reading) < _SHORTEST_READING or reading in seen:
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


def mask_all(secrets: Mapping[str, str], mask: Callable[[str], None]) -> None:
    """Register each of `secrets` and its base64 forms with `mask`: the runner masks exact strings only."""
    for value in secrets.values():
        if len(value) >= SHORTEST:
            for form in dict.fromkeys((value, *base64_forms(value))):
                mask(form)
