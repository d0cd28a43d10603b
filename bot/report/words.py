"""Figures and long texts in the words of the page."""

from __future__ import annotations

from collections.abc import Iterable

from bot.contracts.wording import duration, money

LONGEST = 24_000
"""Characters of one text that a page shows at most."""

_BUDGET = 12_000_000
_LENGTHS = (LONGEST, 16_000, 10_000, 6_000, 4_000, 2_000, 1_000)


def longest_for(sizes: Iterable[int]) -> int:
    """How much of each of so many texts a page can show without becoming slow to open."""
    known = list(sizes)
    fitting = (length for length in _LENGTHS if sum(min(size, length) for size in known) <= _BUDGET)
    return next(fitting, _LENGTHS[-1])


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text that may be very long, with its middle left out and the number of characters said."""
    if len(text) <= longest:
        return text
    head, tail = text[: longest * 2 // 3], text[-longest // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n… {missing:,} characters are left out here; the rest is in the journal …\n{tail}"


def usd(amount: float) -> str:
    return money(amount, 4 if amount < 0.1 else 2)


def tokens(many: float) -> str:
    """Short enough for an axis: `950`, `12k`, `1.5M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if many >= size:
            return f"{many / size:.3g}{letter}"
    return f"{many:.3g}"


def seconds_on_axis(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 100 else duration(seconds)


def plain_word(value: str) -> str:
    """`not_runnable` as people write it."""
    return value.replace("_", " ")
