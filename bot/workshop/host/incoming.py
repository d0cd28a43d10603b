"""What the supervisor sends, and who takes it: the worker itself, for each thread between is one to be woken; or, while
that is busy for long, a thread that does nothing else. So a `cancel` arrives while a tool runs, and so does the end.
"""

from __future__ import annotations

import queue
import select
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from bot.contracts import wire

Message = Mapping[str, Any]


class Incoming:
    """Of the pipe `fd`. `at_once` is given each message first, on either thread, and says whether it dealt with it;
    `gone` is called on the thread when the pipe ends while the worker is busy."""

    def __init__(self, fd: int, at_once: Callable[[Message], bool], gone: Callable[[], None]) -> None:
        self._fd = fd
        self._at_once = at_once
        self._gone = gone
        self._waiting: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._reading = threading.Lock()
        self._busy = threading.Event()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def start(self) -> None:
        threading.Thread(target=self._listen, name="frames", daemon=True).start()

    def next(self) -> Message | None:
        """For the worker: the next message that is its work, in the order in which they came; `None` at the end of the
        pipe. Raises `WireError`."""
        self._busy.clear()
        with self._reading:
            while True:
                message = self._waiting.get() if not self._waiting.empty() else wire.receive(self._fd)
                if message is None or not self._at_once(message):
                    return message

    def busy(self) -> None:
        """Until it asks for the `next`, the worker may be busy for long. May be called again."""
        self._busy.set()

    def _listen(self) -> None:
        try:
            with suppress(wire.WireError):  # half a frame is the end, too
                while self._take():
                    continue
        finally:
            self._waiting.put(None)
            self._gone()

    def _take(self) -> bool:
        """False at the end of the pipe."""
        self._busy.wait()
        self._poll.poll()
        with self._reading:
            if not self._poll.poll(0):
                return True  # the worker, which is busy no more, took it
            message = wire.receive(self._fd)
            if message is not None and not self._at_once(message):
                self._waiting.put(message)
            return message is not None
