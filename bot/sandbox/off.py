"""No wall at all, for a person at their own terminal who said so. The result of a run names it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.sandbox.confinement import Mounts
from bot.sandbox.handed import Give


class Off:
    """The tool host as an ordinary process: clean environment, no confinement."""

    name = "off"
    tier = "none"
    confines = False
    moves = False
    lets_through: frozenset[str] = frozenset()
    gives_way_out = True  # all of the network is open anyway

    def root(self, mounts: Mounts) -> str:
        return str(mounts.tree)

    def command(self, argv: Sequence[str], mounts: Mounts, give: Give) -> list[str]:
        return list(argv)
