"""The words for what was compared, the same in the pull request, on the page and at a terminal: the kinds of tests, and
what is said of a checker in place of figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.contracts.problems import Answer, Compared
from bot.contracts.tested import TestChanges

# The fields of `TestChanges`, the worst first, and the words for them after a number.
_KINDS = (
    ("broken", "broken"),
    ("new_failing", "new and failing"),
    ("vanished", "did not run"),
    ("flaky", "flaky"),
    ("mended", "fixed"),
    ("appeared", "appeared"),
)
_GRAVE = frozenset({"broken", "new_failing"})


class Kind(NamedTuple):
    """What became of `number` tests, of which `names` are shown. The grave ones speak against the change."""

    field: str
    words: str
    number: int
    names: Sequence[str]

    @property
    def grave(self) -> bool:
        return self.field in _GRAVE

    @property
    def more(self) -> int:
        return max(self.number - len(self.names), 0)


def kinds_of(tests: TestChanges | None) -> Iterator[Kind]:
    """Those that there are any of, each test in one of them: what is new and fails is not among those that appeared."""
    if tests is None:
        return
    for field, words in _KINDS:
        names, number = getattr(tests, field), number_of(tests, field)
        if field == "appeared":
            names = [name for name in names if name not in tests.new_failing]
            counted = field in dict(tests.counts)  # of more than are named
            number = max(number - number_of(tests, "new_failing"), 0) if counted else len(names)
            names = names[:number]
        if number:
            yield Kind(field, words, number, names)


def number_of(tests: TestChanges, field: str) -> int:
    """How many there are of a kind of change, of which the outcome holds only those that are shown."""
    return max(dict(tests.counts).get(field, 0), len(getattr(tests, field)))


def no_figures(one: Compared) -> str:
    """What is said of a checker without an answer on both sides; empty where there are figures. One that did not end
    in time may have found anything."""
    if one.complete:
        return ""
    late = Answer.TIMED_OUT in (one.before.answer, one.after.answer)
    return "not known" if late else "not compared"
