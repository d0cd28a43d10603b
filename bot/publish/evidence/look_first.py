"""What a reviewer should look at before anything else, the gravest first: a line each, and never more than a few.

Pure. The gate says which files matter and why (`ChangedFile.sensitive`: what runs or builds more than itself, tests
that prove less, new dependencies); the rest is what the evidence shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from bot.contracts.outcome import ChangedFile, CheckState, Outcome
from bot.contracts.problems import Answer
from bot.contracts.wording import count_of
from bot.evidence.words import number_of
from bot.publish.evidence.counted import count_new, new_problems
from bot.publish.evidence.lines import problem_line
from bot.publish.evidence.steps import named, untouched
from bot.publish.text.shown import shown_code, shown_line

_MOST = 8
_NAMED = 3


def look_first(outcome: Outcome, files: Sequence[ChangedFile], room: float = 1.0) -> list[str]:
    """Lines of Markdown, without a list's mark; at most nine of them."""
    found = chain(
        _tests(outcome),
        _plan(outcome, files),
        _sensitive(files),
        _problems(outcome),
        _not_known(outcome),
        _not_covered(outcome),
    )
    most = max(int(_MOST * room), 1)
    shown = list(islice(found, most + 1))
    return [*shown[:most], "and more, in the lists below"] if len(shown) > most else shown


def _tests(outcome: Outcome) -> Iterator[str]:
    for check in outcome.checks:
        if (
            check.flaky
            and check.before.state is CheckState.PASSED
            and not (check.tests and check.tests.flaky)
        ):
            yield f"{shown_code(check.command, 80)} passed before and is flaky now"
        if check.tests is None:
            continue
        told = (
            ("broken", "passed before and {} now", "fails", "fail"),
            ("new_failing", "did not run before and {}", "fails", "fail"),
            ("vanished", "ran before and {} not any more", "does", "do"),
            ("newly_flaky", "passed before and {} flaky now", "is", "are"),
        )
        for field, words, one, many in told:
            if number := number_of(check.tests, field):
                names = _names(getattr(check.tests, field), number)
                said = words.format(one if number == 1 else many)
                yield f"{count_of(number, 'test')} of {shown_code(check.command, 80)} {said}{names}"


def _plan(outcome: Outcome, files: Sequence[ChangedFile]) -> Iterator[str]:
    for number, paths in untouched(outcome, files):
        yield f"step {number} of the plan names {named(paths)}, which this change does not touch"


def _names(shown: Sequence[str], number: int) -> str:
    if not shown:
        return ""
    named = ", ".join(shown_code(name, 120) for name in shown[:_NAMED])
    more = number - len(shown[:_NAMED])
    return f": {named}{f' and {more:,} more' if more > 0 else ''}"


def _sensitive(files: Sequence[ChangedFile]) -> Iterator[str]:
    for file in files:
        if file.sensitive:
            yield f"{shown_code(file.path)}: {shown_line(file.sensitive)}"


def _problems(outcome: Outcome) -> Iterator[str]:
    shown = new_problems(outcome)
    for problem in shown[:_NAMED]:
        yield f"New: {problem_line(problem)}"
    more = count_new(outcome) - len(shown[:_NAMED])
    if more > 0:
        yield f"{count_of(more, 'more new problem' if shown else 'new problem')}"


def _not_known(outcome: Outcome) -> Iterator[str]:
    """A change that keeps a checker from ending would otherwise look as good as one without a problem."""
    for one in outcome.diagnostics:
        sides = (("before", one.before.answer), ("with", one.after.answer))
        if late := next((side for side, answer in sides if answer is Answer.TIMED_OUT), ""):
            name = shown_code(one.tool, 60)
            yield f"Whether {name} finds new problems is not known: it timed out {late} the change"


def _not_covered(outcome: Outcome) -> Iterator[str]:
    """Only where not one changed line of a file was run: a line here and there is in the table."""
    for file in outcome.coverage.files if outcome.coverage else ():
        if file.measured > 0 and not file.covered:
            lines = count_of(file.measured, "changed line")
            yield f"{shown_code(file.path)}: no test runs {'it' if file.measured == 1 else 'any'} of its {lines}"
