"""Mask secrets whose values are known, in every form of `bot.gate.secret_encodings` and in pieces of ten characters.

A last resort: nothing in the workspace has a secret. google-re2 searches for pieces in time linear in the text; it is
imported, and the pieces are compiled, at the first text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.gate.secret_encodings import Pieces


MAX_MATCHES = 2_000
"""Matches in one text that are masked one by one. A text with more is likely an attack on our time: the rest of it
is masked as a whole."""
REST = b"[redacted: the rest, with more than 2,000 finds]"


class Redactor:
    """Knows secrets by name and value. Thread-safe: immutable, except for the names of the secrets it has masked."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = dict(secrets)
        self._pieces: Pieces | None = None
        self._lock = threading.Lock()
        self._hits: set[str] = set()

    @property
    def secrets(self) -> Mapping[str, str]:
        """The secrets by name, to derive further values from. Do not display them."""
        return self._secrets

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were masked so far, sorted."""
        return tuple(sorted(self._hits))

    @property
    def pieces(self) -> Pieces:
        with self._lock:
            if self._pieces is None:
                from bot.gate.secret_encodings import pieces_of

                self._pieces = pieces_of(frozenset(self._secrets.items()))
            return self._pieces

    def text(self, text: str) -> str:
        """Return `text` with every known value, and every piece of one, replaced by `[redacted NAME]`."""
        if not self._secrets:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self.mask(data)
        return text if masked is data else masked.decode("utf-8", "surrogatepass")

    def mask(self, data: bytes) -> bytes:
        """Like `text`, for bytes. Returns the same object if there is nothing to mask."""
        if not self._secrets or self.pieces.first(data, 0) is None:
            return data
        stream = StreamRedactor(self)
        return stream.feed(data) + stream.flush()

    def holds_secret(self, data: bytes) -> str | None:
        """Return the name of a secret in `data`, or `None`; for data that must be withheld instead of masked."""
        match = next(self.pieces.all(data), None) if self._secrets else None
        return match.name if match else None

    def stream(self) -> StreamRedactor:
        """Return a redactor for text that comes in chunks."""
        return StreamRedactor(self)

    def add_hit(self, name: str) -> None:
        """Note that the secret called `name` was masked."""
        self._hits.add(name)


class StreamRedactor:
    """Mask text that comes in chunks, with the same result for any chunks. Not thread-safe.

    The end of the text is buffered until it is known whether a secret continues there. Call `flush` only at the end of
    the text: after a pause, it would return half a secret.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._buffer = b""
        self._from = 0
        self._last = ""
        self._matches = 0

    def feed(self, chunk: bytes) -> bytes:
        """Return the masked text, without the end that is still buffered."""
        if not self._redactor.secrets:
            return chunk
        if self._matches > MAX_MATCHES:
            return b""
        self._buffer += chunk
        return b"".join(self._ready(final=False))

    def flush(self) -> bytes:
        """Return the rest, at the end of the text."""
        rest = b"".join(self._ready(final=True)) if self._matches <= MAX_MATCHES else b""
        self._last, self._matches = "", 0
        return rest

    def _ready(self, *, final: bool) -> Iterator[bytes]:
        """Yield the decided parts of the buffered text. `_from` is where the search for pieces continues; the text
        before it contains none, but its end may be the beginning of one."""
        pieces, data = self._redactor.pieces, self._buffer
        floor = 0
        while True:
            hit = pieces.first(data, self._from)
            decided = len(data) if final else len(data) - pieces.longest
            if hit is None or hit > decided:
                break
            match = pieces.judge(data, hit, floor)
            if match.start > floor:
                yield data[floor : match.start]
                self._last = ""
            if match.name != self._last:
                yield f"[redacted {match.name}]".encode()
            self._redactor.add_hit(match.name)
            self._last = match.name
            self._matches += 1
            if self._matches > MAX_MATCHES:
                self._buffer = b""
                yield REST
                return
            floor = self._from = match.end
        searched = len(data) if final else max(len(data) - pieces.longest_start + 1, self._from)
        # A longer piece, not complete yet, may begin before a complete one.
        self._from = searched if hit is None else min(searched, hit)
        keep = len(data) if final else max(self._from - pieces.reach_back, floor)
        if keep > floor:
            yield data[floor:keep]
            self._last = ""
        self._buffer = data[keep:]
        self._from -= keep
