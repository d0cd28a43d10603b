"""Labels for compared tests and checkers, the same in the pull request, on the page and in the terminal."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from bot.contracts.evidence import Answer, CheckerComparison, TestChanges
from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckState, TestsAsTheyWere

# The fields of `TestChanges`, the worst first, and the words for them after a number; and those of `TestsAsTheyWere`,
# with the number.
_KINDS = {
    "broken": "broken",
    "new_failing": "new and failing",
    "vanished": "did not run",
    "flaky": "flaky",
    "mended": "fixed",
    "appeared": "appeared",
}
_AS_THEY_WERE = {
    "failed": "{} {}",
    "expectation_changed": "expectation changed in {}",
    "unconfirmed": "{} {} as before",
    "not_comparable": "{} not comparable",
}
RECONFIGURED = "its configuration changed"

_LONGEST_COMMAND = 80
_TAIL_LINES = 20
_TAIL_WIDTH = 200
_GRAVE = frozenset({"broken", "new_failing"})


class Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def command(self) -> str: ...


def check_title(check: Named) -> str:
    """Return what people read of a check: its command if that is one short line, else its name."""
    is_short = len(check.command) <= _LONGEST_COMMAND and "\n" not in check.command
    return check.command if is_short else check.name


class Kind(NamedTuple):
    """A kind of `number` tests, some of them in `names`. Grave kinds count against the change."""

    field: str
    words: str
    number: int
    names: Sequence[str]

    @property
    def grave(self) -> bool:
        return self.field in _GRAVE

    @property
    def counted(self) -> str:
        """The number and the words, for a kind of change."""
        return f"{self.number:,} {self.words}"


def kinds_of(tests: TestChanges | TestsAsTheyWere | None) -> Iterator[Kind]:
    """Yield the kinds that occur: of change, or among the base's tests on the changed source."""
    kinds = _AS_THEY_WERE if isinstance(tests, TestsAsTheyWere) else _KINDS
    for field, words in kinds.items():
        if number := number_of(tests, field):
            worded = words.format(f"{number:,}", "fails" if number == 1 else "fail")
            yield Kind(field, worded, number, getattr(tests, field))


def number_of(tests: TestChanges | TestsAsTheyWere | None, field: str) -> int:
    """Return the number of tests of a kind; the outcome has only some of the names."""
    return max(dict(tests.counts).get(field, 0), len(getattr(tests, field))) if tests else 0


AS_THEY_WERE = "with the tests as they were"


def confirms(result: TestsAsTheyWere | None) -> bool:
    """Whether the tests as they were say the same as the change's own; also if the change touches none."""
    if result is None:
        return True
    if result.note or result.inside or next(kinds_of(result), None):
        return False
    return result.tests is not None or result.run.state is CheckState.PASSED


def as_they_were(result: TestsAsTheyWere) -> str:
    """Return the result as a clause."""
    if result.note:
        return f"{AS_THEY_WERE}: {no_result_as_they_were(result)}, {result.note}"
    if result.tests is None:
        parts = [f"the check {'passes' if result.run.state is CheckState.PASSED else 'fails'}"]
    else:
        parts = [f"{result.tests.passed:,} {'passes' if result.tests.passed == 1 else 'pass'}"]
    parts += [kind.words for kind in kinds_of(result)]
    if result.inside:
        parts.append(f"not comparable in {count_of(result.inside, 'source file')} with tests inside")
    return f"{AS_THEY_WERE} {', '.join(parts)}"


def no_result_as_they_were(result: TestsAsTheyWere) -> str:
    """Return why there are no figures, in two words; empty if there are some."""
    if not result.note:
        return ""
    return "not run" if result.run.state is CheckState.NOT_RUN and not result.inside else "not comparable"


def short_tail(output: str) -> str:
    """Return the last lines of a command's output, with long lines cut."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    half = _TAIL_WIDTH // 2
    # Both ends are kept: either may have the reason.
    last = lines[-_TAIL_LINES:]
    last = [one if len(one) <= _TAIL_WIDTH else f"{one[:half]} … {one[-half:]}" for one in last]
    return "\n".join([*(["…"] if len(lines) > _TAIL_LINES else []), *last])


def no_figures(result: CheckerComparison) -> str:
    """Return the label of a checker without an answer on both sides; empty if there are figures."""
    if result.complete:
        return ""
    if Answer.TIMED_OUT in (result.before.answer, result.after.answer):
        return "not known"
    return f"not comparable: {RECONFIGURED}" if RECONFIGURED in result.after.note else "not compared"
