"""Labels for compared tests and checkers, the same in the pull request, on the page and in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.contracts.evidence import Answer, CheckerComparison, TestChanges

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
    """A kind of change of `number` tests, some of them in `names`. Grave kinds count against the change."""

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
    """Yield the kinds that occur. Each test is in one: new failing tests are not among those that appeared."""
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
    """Return the number of tests of a kind; the outcome has only some of the names."""
    return max(dict(tests.counts).get(field, 0), len(getattr(tests, field)))


def newly_failing(tests: TestChanges | None) -> tuple[list[tuple[str, str]], int]:
    """Return the first tests that fail with the change and did not before, each with its reason or an empty string, and
    the number of further ones."""
    if tests is None:
        return [], 0
    reasons = dict(tests.reasons)
    names = list(dict.fromkeys((*tests.broken, *tests.new_failing)))[:MOST_EXPLAINED]
    number = number_of(tests, "broken") + number_of(tests, "new_failing")
    return [(name, reasons.get(name, "")) for name in names], max(number - len(names), 0)


def short_tail(output: str) -> str:
    """Return the last lines of a command's output, with long lines cut."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    last = [_cut(line) for line in lines[-_TAIL_LINES:]]
    return "\n".join([*(["…"] if len(lines) > _TAIL_LINES else []), *last])


def _cut(line: str) -> str:
    """Keep both ends: either may have the reason."""
    half = _TAIL_WIDTH // 2
    return line if len(line) <= _TAIL_WIDTH else f"{line[:half]} … {line[-half:]}"


def no_figures(result: CheckerComparison) -> str:
    """Return the label of a checker without an answer on both sides; empty if there are figures."""
    if result.complete:
        return ""
    if Answer.TIMED_OUT in (result.before.answer, result.after.answer):
        return "not known"
    return f"not comparable: {RECONFIGURED}" if RECONFIGURED in result.after.note else "not compared"
