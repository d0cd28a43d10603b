"""`Background`: a task on a thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from bot.contracts.capacity import retry_at_capacity

T = TypeVar("T")


class Background(Generic[T]):
    """A task on a thread. `result()` waits for it, and returns or raises what it did. Raises `CapacityError` if no
    thread can be started."""

    def __init__(self, task: Callable[[], T], name: str) -> None:
        self._task = task
        self._done: Future[T] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        retry_at_capacity(self._thread.start)

    def _run(self) -> None:
        try:
            self._done.set_result(self._task())
        except BaseException as error:  # noqa: BLE001 - raised again on the thread that asks
            self._done.set_exception(error)

    @property
    def under_way(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the task has ended, even with an error."""
        self._thread.join()

    def result(self) -> T:
        self._thread.join()
        return self._done.result()
