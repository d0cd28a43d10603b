"""The cancel token of a run: signals, time limits and callers fire it, and waiting threads wake up."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.contracts.capacity import retry_at_capacity


class CancelToken:
    """Fires once, with a reason. Thread-safe. Callbacks run on the firing thread, at once if already fired.

    A signal handler must not fire it directly (a callback may want a lock the interrupted code holds):
    it starts a thread that does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fired = threading.Event()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self.reason = ""

    @property
    def fired(self) -> bool:
        return self._fired.is_set()

    def fire(self, reason: str) -> None:
        """`reason` is "signal", "time", or words for a log; the first one stays."""
        with self._lock:
            if self._fired.is_set():
                return
            self.reason = reason
            self._fired.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def on_fire(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the token fires. Returns a function that unregisters the callback."""
        with self._lock:
            if not self._fired.is_set():
                key = object()
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; returns true as soon as the token fires."""
        return self._fired.wait(seconds)

    @contextmanager
    def firing_after(self, seconds: float) -> Iterator[None]:
        """Fire with the reason "time" when `seconds` of wall time are over."""
        timer = threading.Timer(seconds, self.fire, args=("time",))
        timer.daemon = True
        retry_at_capacity(timer.start)
        try:
            yield
        finally:
            timer.cancel()
