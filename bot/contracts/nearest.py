"""Find the known word that is nearest to a misspelt one."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, slips: int | None = None) -> str:
    """Return the word of `known` nearest to `word`, or "".

    With `slips`, at most so many letters may be added, dropped, changed, or swapped with a neighbour.
    """
    words = list(known)
    if slips is None:
        return next(iter(difflib.get_close_matches(word[:100], words, n=1)), "")
    candidates = [(distance(word, one), one) for one in words if abs(len(word) - len(one)) <= slips]
    best = min(candidates, default=(slips + 1, ""))
    return best[1] if best[0] <= slips else ""


def distance(left: str, right: str) -> int:
    """Return the optimal string alignment distance: Damerau's, without editing a substring twice."""
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        current = [row]
        for column, b in enumerate(right, 1):
            cost = min(above[column] + 1, current[-1] + 1, above[column - 1] + (a != b))
            if row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, above = above, current
    return above[-1]
