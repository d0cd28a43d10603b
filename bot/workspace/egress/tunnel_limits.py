"""The limits of tunnels, and the counts of one proxy."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.sandbox import Tunnel

_MIB = 1024 * 1024
_MOST_REFUSED = 1000


@dataclass(frozen=True, slots=True)
class TunnelLimits:
    """In bytes for one tunnel, except `up_total`, which is for all; times are in seconds.

    `up` is small: package managers send requests only, and more would be an upload of data.
    """

    up: int = 1 * _MIB
    up_total: int = 32 * _MIB
    down: int = 2048 * _MIB
    request_time: float = 10.0
    connect_time: float = 15.0
    idle_time: float = 60.0
    time: float = 900.0
    goodbye: float = 2.0
    parallel: int = 32
    tunnels: int = 5000


class Ledger:
    """The counts of all tunnels of one proxy, and those that the report lists."""

    def __init__(self, limits: TunnelLimits) -> None:
        self.limits = limits
        self.open = 0
        self.begun = 0
        self.up = 0
        self.noted: list[Tunnel] = []
        self.left_out = 0
        self._refused = 0

    def refusal(self) -> str:
        """Why no further tunnel may be opened; empty if one may."""
        if self.open > self.limits.parallel:
            return f"more than {self.limits.parallel} tunnels at once"
        if self.begun > self.limits.tunnels:
            return f"more than {self.limits.tunnels} tunnels in one sandbox"
        if self.up >= self.limits.up_total:
            return "the sandbox has sent as much as it may"
        return ""

    def note(self, tunnel: Tunnel) -> None:
        """Add `tunnel` to the report. Of refused ones only the first 1,000 are listed; allowed ones always, of which
        there are at most `limits.tunnels`."""
        if not tunnel.allowed:
            self._refused += 1
        if tunnel.allowed or self._refused <= _MOST_REFUSED:
            self.noted.append(tunnel)
        else:
            self.left_out += 1
