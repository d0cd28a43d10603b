"""The units of time that have a fixed length, largest first."""

from typing import NamedTuple


class Unit(NamedTuple):
    name: str
    symbol: str
    seconds: int
    aliases: tuple

    def label(self, count, style):
        """`3h` in the short style, `3 hours` in the long one."""
        if style == "short":
            return f"{count}{self.symbol}"
        return f"{count} {self.name}" if count == 1 else f"{count} {self.name}s"


UNITS = (
    Unit("week", "w", 7 * 24 * 3600, ("wk", "wks")),
    Unit("day", "d", 24 * 3600, ()),
    Unit("hour", "h", 3600, ("hr", "hrs")),
    Unit("minute", "m", 60, ("min", "mins")),
    Unit("second", "s", 1, ("sec", "secs")),
)


def find(word):
    """The unit a word means, in any spelling, or None."""
    word = word.lower()
    for unit in UNITS:
        if word in (unit.symbol, unit.name, unit.name + "s", *unit.aliases):
            return unit
    return None
