"""Start threads and processes, again and again while the machine is at its limit, for example during a fork bomb."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from bot.contracts.errors import AgentError

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds. An over-limit process group is killed within a few."""

_PAUSE = 0.1
_NO_THREAD = "can't start new thread"


class CapacityError(AgentError, OSError):
    """The machine has too little disk space, memory, open files or processes."""


def retry_at_capacity(start: Callable[[], T], patience: float = PATIENCE) -> T:
    """Return what `start` returns, which starts one thread or process. Retry for `patience` seconds while the system
    refuses it for lack of capacity, then raise `CapacityError`."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return start()
        except BlockingIOError as error:
            refusal: Exception = error
        except RuntimeError as error:
            if str(error) != _NO_THREAD:
                raise
            refusal = error
        if time.monotonic() >= deadline:
            raise CapacityError(
                f"This machine refused another process or thread for {patience:g} s: it is at its limit of processes. "
                "Raise it (ulimit -u; a container's limit), or find what else is running."
            ) from refusal
        time.sleep(_PAUSE)


def in_background(task: Callable[[], T], name: str) -> Future[T]:
    """Start `task` on a thread of this name, and return its result to come. Raises `CapacityError` if no thread can be
    started."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:  # noqa: BLE001 - raised again on the thread that asks
            future.set_exception(error)

    retry_at_capacity(threading.Thread(target=run, name=name, daemon=True).start)
    return future
