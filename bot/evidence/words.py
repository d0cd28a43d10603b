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
RECONFIGURED = "its configuration changed"
"""In the note of a checker's run."""

MOST_EXPLAINED = 10
_EDITED = ", all in test files that this change edits"
_TAIL_LINES = 20
_TAIL_WIDTH = 200
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
            yield Kind(field, words + (_EDITED if field == "mended" and tests.edited else ""), number, names)


def number_of(tests: TestChanges, field: str) -> int:
    """How many there are of a kind of change, of which the outcome holds only those that are shown."""
    return max(dict(tests.counts).get(field, 0), len(getattr(tests, field)))


def newly_failing(tests: TestChanges | None) -> tuple[list[tuple[str, str]], int]:
    """The first tests that fail with the change and did not before, each with the reason, empty if it is not known; and
    how many there are besides."""
    if tests is None:
        return [], 0
    reasons = dict(tests.reasons)
    names = list(dict.fromkeys((*tests.broken, *tests.new_failing)))[:MOST_EXPLAINED]
    number = number_of(tests, "broken") + number_of(tests, "new_failing")
    return [(name, reasons.get(name, "")) for name in names], max(number - len(names), 0)


def short_tail(output: str) -> str:
    """The last lines of a command's output, the long ones cut: a dump of one value is no reason."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    last = [_cut(line) for line in lines[-_TAIL_LINES:]]
    return "\n".join([*(["…"] if len(lines) > _TAIL_LINES else []), *last])


def _cut(line: str) -> str:
    """Both ends: the reason may stand at either."""
    half = _TAIL_WIDTH // 2
    return line if len(line) <= _TAIL_WIDTH else f"{line[:half]} … {line[-half:]}"


def no_figures(one: Compared) -> str:
    """What is said of a checker without an answer on both sides; empty where there are figures. One that did not end
    in time may have found anything."""
    if one.complete:
        return ""
    if Answer.TIMED_OUT in (one.before.answer, one.after.answer):
        return "not known"
    return f"not comparable: {RECONFIGURED}" if RECONFIGURED in one.after.note else "not compared"
