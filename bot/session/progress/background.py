"""A task on a thread, whose result or exception is fetched later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from bot.contracts.capacity import retry_at_capacity

T = TypeVar("T")


class Background(Generic[T]):
    """`result()` gives what the work returned, or raises what it raised. Raises `CapacityError`."""

    def __init__(self, task: Callable[[], T], name: str) -> None:
        self._task = task
        self._value: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        retry_at_capacity(self._thread.start)

    def _run(self) -> None:
        try:
            self._value.append(self._task())
        except BaseException as error:  # noqa: BLE001 - raised again on the thread that asks
            self._error = error

    @property
    def under_way(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Until the work is over, however it ended."""
        self._thread.join()

    def result(self) -> T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value[0]
