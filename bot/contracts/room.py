"""Room for one more thread or process of ours, on a machine that what runs in the sandbox may have filled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from bot.contracts.errors import AgentError

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds. A command that multiplies is ended within a few."""

_PAUSE = 0.1
_NO_THREAD = "can't start new thread"


class NoRoomError(AgentError, OSError):
    """There was none for all that time."""


def when_there_is_room(start: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `start` returns, which starts one thread or process. Where the system has no room for it now, it is called
    again for `patience` seconds; then `NoRoomError` is raised."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return start()
        except BlockingIOError as error:
            refused: Exception = error
        except RuntimeError as error:
            if str(error) != _NO_THREAD:
                raise
            refused = error
        if time.monotonic() >= deadline:
            raise NoRoomError(
                f"This machine refused us another process or thread for {patience:g} s: as many run as it allows. "
                "Allow more (ulimit -u; a container's limit of processes), or find what else runs here."
            ) from refused
        time.sleep(_PAUSE)
