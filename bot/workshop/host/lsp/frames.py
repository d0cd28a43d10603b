"""Messages of the language server protocol, as they go over a pipe: encoded, and taken apart as from a stranger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

Message = dict[str, Any]

_MOST_HEAD = 4096
_HEAD_END = b"\r\n\r\n"
_LONGEST_NUMBER = 10


class Talk(Protocol):
    """How messages are put into bytes for a server, and taken from its own."""

    def encode(self, message: Message) -> bytes: ...

    def feed(self, data: bytes) -> Iterator[Message]:
        """Raises `FrameError`."""


class FrameError(Exception):
    """What came is no message of the protocol, or larger than any may be. Nothing after it can be believed."""


def encode(message: Message) -> bytes:
    """One message in one piece: some servers read a head that comes alone as the whole."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Takes bytes as they come. Holds no more than one message and a head."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._length: int | None = None

    def encode(self, message: Message) -> bytes:
        return encode(message)

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are now complete. Raises `FrameError`."""
        self._held += data
        while (body := self._next()) is not None:
            yield _decode(body)

    def _next(self) -> bytes | None:
        if self._length is None:
            end = self._held.find(_HEAD_END, 0, _MOST_HEAD)
            if end < 0:
                if len(self._held) >= _MOST_HEAD:
                    raise FrameError("a message whose head does not end")
                return None
            self._length = self._checked(_length(bytes(self._held[:end])))
            del self._held[: end + len(_HEAD_END)]
        if len(self._held) < self._length:
            return None
        body = bytes(self._held[: self._length])
        del self._held[: self._length]
        self._length = None
        return body

    def _checked(self, length: int) -> int:
        if length > self._most:
            raise FrameError(f"a message of {length:,} bytes; {self._most:,} are allowed")
        return length


def _length(head: bytes) -> int:
    found: set[bytes] = set()
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise FrameError("something else than messages on its standard output")
        if name.strip().lower() == b"content-length":
            found.add(value.strip())
    value = found.pop() if len(found) == 1 else b""
    if not value.isdigit() or len(value) > _LONGEST_NUMBER:
        raise FrameError("a message that does not say its length")
    return int(value)


def _decode(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise FrameError("a message that is no JSON object")
    return message


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
