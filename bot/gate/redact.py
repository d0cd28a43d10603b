"""Mask secrets whose values are known, in every form of `bot.gate.secret_encodings` and in pieces of ten characters.

A last resort, since nothing in the workspace has a secret. google-re2 searches in time linear in the text; it is
imported, and the pieces are compiled, at the first text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bot.gate.secret_encodings import pieces_of

if TYPE_CHECKING:
    from bot.gate.secret_encodings import Pieces, SecretMatch


MAX_MATCHES = 2_000
"""Matches in one text that are masked one by one. A text with more is likely an attack on our time: the rest of it
is masked as a whole."""
REST = b"[redacted: the rest, with more than 2,000 finds]"


class Redactor:
    """Knows secrets by name and value. Thread-safe: immutable, except for the names of the secrets it has masked."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = frozenset(secrets.items())
        self._pieces: Pieces | None = None
        self._hits: set[str] = set()

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were masked so far, sorted."""
        return tuple(sorted(self._hits))

    def text(self, text: str) -> str:
        """Return `text` with every known value, and every piece of one, replaced by `[redacted NAME]`."""
        if not self._secrets:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self.mask(data)
        return text if masked is data else masked.decode("utf-8", "surrogatepass")

    def mask(self, data: bytes) -> bytes:
        """Like `text`, for bytes. Returns the same object if there is nothing to mask."""
        parts: list[bytes] = []
        end, last = 0, ""
        for number, match in enumerate(self._matches(data)):
            if number == MAX_MATCHES:
                return b"".join([*parts, data[end : match.start], REST])
            if match.start > end or match.name != last:
                parts += [data[end : match.start], f"[redacted {match.name}]".encode()]
            end, last = match.end, match.name
            self.add_hit(last)
        return b"".join([*parts, data[end:]]) if parts else data

    def holds_secret(self, data: bytes) -> str | None:
        """Return the name of a secret in `data`, or `None`; for data that must be withheld instead of masked."""
        match = next(self._matches(data), None)
        return match.name if match else None

    def add_hit(self, name: str) -> None:
        """Note that the secret called `name` was masked."""
        self._hits.add(name)

    def _matches(self, data: bytes) -> Iterator[SecretMatch]:
        if not self._secrets:
            return iter(())
        if self._pieces is None:
            self._pieces = pieces_of(self._secrets)
        return self._pieces.all(data)
