"""SIGINT and SIGTERM become a cancelled run, so that what it has is still gated, bundled and reported."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from bot.contracts.cancel import CancelToken


@contextmanager
def cancelled_by_signals(cancel: CancelToken) -> Iterator[None]:
    """Fire `cancel` at the first SIGINT or SIGTERM; a second SIGINT interrupts as Python would.

    The handler takes no lock, for the code it interrupts may hold it: it writes a byte to a pipe,
    and a thread that waits there fires the token.
    """
    woken, wake = os.pipe()

    def fire_when_woken() -> None:
        woken_by_signal = os.read(woken, 1) != b""
        os.close(woken)
        if woken_by_signal:
            cancel.fire("signal")

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        name = signal.Signals(signum).name
        with suppress(OSError):  # nobody reads stderr any more: the run is stopped all the same
            os.write(2, f"{name}: stopping; what there is so far is kept\n".encode())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(wake, b"!")

    threading.Thread(target=fire_when_woken, name="signals", daemon=True).start()
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake)


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
