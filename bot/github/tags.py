"""Answers kept with their ETag, for conditional requests: a 304 costs nothing of the hourly quota."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

# Characters of JSON kept in all; the longest unused go first.
_ROOM = 8 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """One answer as it came."""

    tag: str
    headers: Mapping[str, str]
    text: str


class Tags:
    """By path with query, of one client: tokens see different things, so nothing is shared between clients."""

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._used = 0
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def get(self, path: str) -> Kept | None:
        if path in self._kept:
            self._kept.move_to_end(path)
        return self._kept.get(path)

    def put(self, path: str, headers: Mapping[str, str], text: str) -> None:
        """Keep an answer, if it has a tag. Names in `headers` are lower case."""
        old = self._kept.pop(path, None)
        self._used -= len(old.text) if old else 0
        tag = headers.get("etag", "")
        if not tag or len(text) > self._room:
            return
        self._kept[path] = Kept(tag, dict(headers), text)
        self._used += len(text)
        while self._used > self._room:
            _, gone = self._kept.popitem(last=False)
            self._used -= len(gone.text)
