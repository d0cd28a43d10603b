"""Responses that are kept for conditional requests: a 304 costs no quota."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

# Characters of JSON; the least recently used are removed first.
_CACHE_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class CachedResponse:
    tag: str
    headers: Mapping[str, str]
    text: str


class ETagCache:
    """Of one client, by media type, path and query. Not shared between clients, since tokens have different rights."""

    def __init__(self, capacity: int = _CACHE_LIMIT) -> None:
        self._capacity = capacity
        self._used = 0
        self._responses: OrderedDict[str, CachedResponse] = OrderedDict()

    def get(self, path: str) -> CachedResponse | None:
        if path in self._responses:
            self._responses.move_to_end(path)
        return self._responses.get(path)

    def put(self, path: str, headers: Mapping[str, str], text: str) -> None:
        """Store a response if it has an ETag. Names in `headers` are lower case."""
        old = self._responses.pop(path, None)
        self._used -= len(old.text) if old else 0
        tag = headers.get("etag", "")
        if not tag or len(text) > self._capacity:
            return
        self._responses[path] = CachedResponse(tag, dict(headers), text)
        self._used += len(text)
        while self._used > self._capacity:
            _, gone = self._responses.popitem(last=False)
            self._used -= len(gone.text)
