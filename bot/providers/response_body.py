"""The bytes of a response: a limit on them, and their end after the last event, so that the connection serves again."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx2

from bot.providers.failures import AnswerTooLong

MAX_RESPONSE = 128 * 2**20
"""Bytes of one response, with what the format adds to the answer: the longest answers take 40 MB of events."""

_LINGER = 0.5
"""Seconds that a server may take to end its response after `[DONE]`, where the openai package stops to read."""


class ResponseBody(httpx2.SyncByteStream):
    def __init__(self, stream: Any, cut: Callable[[], None]) -> None:
        self._stream, self._cut = stream, cut
        self._pieces = self._limited()
        self._last = b""

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def _limited(self) -> Iterator[bytes]:
        left = MAX_RESPONSE
        for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise AnswerTooLong
            self._last = piece
            yield piece

    def close(self) -> None:
        if self._last.rstrip().endswith(b"[DONE]"):
            limit = threading.Timer(_LINGER, self._cut)
            limit.start()
            with suppress(httpx2.HTTPError, AnswerTooLong):
                next(self._pieces, None)
            limit.cancel()
        self._stream.close()
