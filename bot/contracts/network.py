"""What a workshop's one way out was used for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tunnel:
    """One request of a workshop for a host, as text that is safe to show; empty where nothing could be made out of it.

    `why` says why it was refused or cut off, and is empty where it was neither. `up` and `down` are bytes, `seconds`
    how long it was open.
    """

    host: str
    allowed: bool
    why: str = ""
    up: int = 0
    down: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HostUse:
    """All that a run's workshops asked of one host and that ended the same way; see `Tunnel`."""

    host: str
    allowed: bool
    why: str = ""
    tunnels: int = 0
    up: int = 0
    down: int = 0
