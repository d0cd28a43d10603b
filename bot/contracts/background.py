"""Run a task on a thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from bot.contracts.capacity import retry_at_capacity

T = TypeVar("T")


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
