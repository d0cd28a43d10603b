"""Masks secrets whose values are known, plain and in the encodings a program would print them in.

The last net, not the plan: nothing in the workshop has a secret to begin with.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

# Shorter values are words that any text holds.
_SHORTEST = 8
_SHORTEST_LINE = 16


class Redactor:
    """Knows secrets by name and value. Thread-safe: apart from the names it has met, it never changes."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}
        for name, value in secrets.items():
            for form in _forms(value):
                self._names.setdefault(form, name)
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._met: set[str] = set()

    @property
    def names_hit(self) -> tuple[str, ...]:
        """The names of the secrets that were masked so far, sorted."""
        return tuple(sorted(self._met))

    def text(self, text: str) -> str:
        """`text` with every known value replaced by `[redacted NAME]`."""
        if self._pattern is None:
            return text
        return self._pattern.sub(self._mask, text)

    def holds_secret(self, data: bytes) -> str | None:
        """The name of a secret that `data` holds, or `None`; for what must be withheld instead of changed."""
        found = self._pattern.search(data.decode("utf-8", "replace")) if self._pattern else None
        return self._names[found.group()] if found else None

    def _mask(self, match: re.Match[str]) -> str:
        name = self._names[match.group()]
        self._met.add(name)
        return f"[redacted {name}]"


def _forms(value: str) -> Iterator[str]:
    whole = value.strip()
    if len(whole) < _SHORTEST:
        return
    # A key of several lines is often seen one line at a time.
    lines = [line.strip() for line in whole.splitlines()]
    pieces = {
        whole,
        *(line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")),
    }
    for piece in pieces:
        raw = piece.encode("utf-8", "surrogateescape")
        yield from (piece, piece[::-1], json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1])
        yield from (quote(piece, safe="", errors="replace"), quote_plus(piece, errors="replace"))
        yield from (raw.hex(), raw.hex().upper())
        yield from _base64_forms(raw)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """The part of a base64 text that `raw` alone decides, at each of the three places it can begin."""
    for shift in range(3):
        padded = b"\0" * shift + raw
        skip = -(-shift * 8 // 6)
        keep = len(padded) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode()[skip:keep]
