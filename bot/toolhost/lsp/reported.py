"""The problems that were reported to the model, so that each is reported once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bot.contracts.evidence import Problem
from bot.toolhost.lsp.report import count_fitting


class ReportedProblems:
    """`compared` has the tool and path of each comparison since the last report."""

    def __init__(self) -> None:
        self.compared: set[tuple[str, str]] = set()
        self._counts: Counter[Problem] = Counter()

    def select_new(self, new: Sequence[Problem]) -> tuple[Problem, ...]:
        """Those that were not reported before. A reported one that disappeared from a compared file counts as new
        again."""
        now = Counter(map(_without_line, new))
        for key, times in list(self._counts.items()):
            if (key.tool, key.path) in self.compared:
                self._counts[key] = min(times, now[key])
        self.compared.clear()
        counts = Counter(self._counts)
        unreported: list[Problem] = []
        for problem in new:
            if counts[key := _without_line(problem)]:
                counts[key] -= 1
            else:
                unreported.append(problem)
        self._counts.update(map(_without_line, unreported[: count_fitting(unreported)]))
        return tuple(unreported)


def _without_line(problem: Problem) -> Problem:
    """The same for any position in its file."""
    return replace(problem, line=0, column=0, end_line=0, end_column=0, snippet="")
