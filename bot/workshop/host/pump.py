"""A program's output, from its pipe to a sink, without ever waiting for more."""

from __future__ import annotations

import os
from collections.abc import Callable

_CHUNK = 1 << 16
_ROUNDS = 16

Sink = Callable[[bytes], bool]
"""Takes a piece of output; true when it has enough and the program may be stopped."""


class Buffer:
    """A sink that keeps the first `cap` bytes and then asks to stop, or goes on dropping (`keep_going`)."""

    def __init__(self, cap: int, *, keep_going: bool = False) -> None:
        self.data = bytearray()
        self.full = False
        self._cap = cap
        self._keep_going = keep_going

    def __call__(self, piece: bytes) -> bool:
        room = self._cap - len(self.data)
        self.full = self.full or len(piece) > room
        self.data += piece[: max(room, 0)]
        return self.full and not self._keep_going


def pump(fd: int, sink: Sink) -> tuple[bool, bool]:
    """Move what is in the pipe to the sink. Returns whether the pipe is still open and whether to stop.

    One turn is bounded, so that a command that writes without end cannot keep its deadline from us.
    """
    for _ in range(_ROUNDS):
        try:
            piece = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True, False
        if not piece:
            return False, False
        if sink(piece):
            return True, True
    return True, False
