"""SIGINT and SIGTERM become a cancelled run, so that what it has is still gated, bundled and reported."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from bot.contracts.cancel import CancelToken


@contextmanager
def cancelled_by_signals(cancel: CancelToken, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Fire `cancel` at the first SIGINT or SIGTERM; a second SIGINT interrupts as Python would.

    The handler takes no lock, for the code it interrupts may hold it: it writes a byte to a pipe,
    and a thread that waits there fires the token. `say` is told before, on that thread; without it the handler writes
    to standard error itself.
    """
    woken, wake = os.pipe()

    def fire_when_woken() -> None:
        number = os.read(woken, 1)
        os.close(woken)
        if number:
            if say is not None:
                say(_stopping(number[0]))
            cancel.fire("signal")

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        if say is None:
            with suppress(OSError):  # nobody reads stderr any more: the run is stopped all the same
                os.write(2, f"{_stopping(signum)}\n".encode())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(BrokenPipeError):  # the thread has read the first, and this is one more
            os.write(wake, bytes([signum]))

    threading.Thread(target=fire_when_woken, name="signals", daemon=True).start()
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake)


def _stopping(signum: int) -> str:
    return f"{signal.Signals(signum).name}: stopping; what there is so far is kept"


@contextmanager
def cancelled_after(cancel: CancelToken, minutes: float) -> Iterator[None]:
    """Fire `cancel` with the reason "time" when `minutes` of wall time are over."""
    timer = threading.Timer(minutes * 60, cancel.fire, args=("time",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
