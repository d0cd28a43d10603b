"""The limits of tunnels, and the counts of one proxy."""

from collections.abc import Iterable
from typing import NamedTuple

from bot.contracts.sandbox import HostUse

_MIB = 1024 * 1024
_MOST_REFUSED = 1000
"""Kinds of refused requests."""

NOT_LISTED = "too many to be noted one by one"


class TunnelLimits(NamedTuple):
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


Uses = dict[tuple[str, bool, str], HostUse]


def add_uses(uses: Uses, more: Iterable[HostUse]) -> None:
    """Add up those of the same host with the same result."""
    for use in more:
        key = (use.host, use.allowed, use.why)
        known = uses.get(key, HostUse(*key))
        uses[key] = HostUse(*key, known.tunnels + use.tunnels, known.up + use.up, known.down + use.down)


class Ledger:
    """The counts of all tunnels of one proxy, and their uses."""

    def __init__(self, limits: TunnelLimits) -> None:
        self.limits = limits
        self.open = 0
        self.begun = 0
        self.up = 0
        self.uses: Uses = {}

    def refusal(self) -> str:
        """Why no further tunnel may be opened; empty if one may."""
        if self.open > self.limits.parallel:
            return f"more than {self.limits.parallel} tunnels at once"
        if self.begun > self.limits.tunnels:
            return f"more than {self.limits.tunnels} tunnels in one sandbox"
        if self.up >= self.limits.up_total:
            return "the sandbox has sent as much as it may"
        return ""

    def note(self, use: HostUse) -> None:
        """Add the use of one tunnel. Of refused ones only the first 1,000 kinds are listed, the others are counted."""
        full = len(self.uses) >= _MOST_REFUSED and (use.host, use.allowed, use.why) not in self.uses
        add_uses(self.uses, [HostUse("", False, NOT_LISTED, 1) if full and not use.allowed else use])
