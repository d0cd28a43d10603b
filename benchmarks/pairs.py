"""Measuring two things against each other on a machine that others use too.

One measurement of each makes a pair, taken back to back; pairs go ABBA, so that neither side always comes first.
The ratio is the median over the pairs' own ratios: a slow minute slows both halves of its pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Pairs:
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def our_median(self) -> float:
        return median(self.ours)

    @property
    def their_median(self) -> float:
        return median(self.theirs)

    @property
    def ratio(self) -> float:
        return median(our / their for our, their in zip(self.ours, self.theirs, strict=True))

    @property
    def difference(self) -> float:
        return median(our - their for our, their in zip(self.ours, self.theirs, strict=True))


def measure_pairs(
    measure: Callable[[Subject], float], ours: Subject, theirs: Subject, runs: int, *, warm_up: bool = True
) -> Pairs:
    """`runs` pairs, with `warm_up` after one of each that is not counted: caches are warm for both sides."""
    if warm_up:
        measure(ours)
        measure(theirs)
    pairs: list[tuple[float, float]] = []
    for number in range(runs):
        if number % 2 == 0:
            our = measure(ours)
            pairs.append((our, measure(theirs)))
        else:
            their = measure(theirs)
            pairs.append((measure(ours), their))
    return Pairs(tuple(our for our, _ in pairs), tuple(their for _, their in pairs))
