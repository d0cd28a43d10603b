"""A check: a command of the repository whose exit code is evidence."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class Check:
    """A command whose exit code is evidence. `timeout` is in seconds. `junit` and `coverage` are where it leaves its
    reports, paths or patterns in the tree, where policy says so."""

    name: str
    command: str
    timeout: float = DEFAULT_TIMEOUT
    detected: bool = False
    junit: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()
