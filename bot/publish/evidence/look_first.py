"""What a reviewer should look at before anything else, the gravest first. Of each kind a few lines are shown and the
others counted, so that many of one kind hide nothing of another.

Pure. The gate says which files matter and why (`ChangedFile.sensitive`); the rest is what the evidence shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.outcome import ChangedFile, CheckState, Outcome
from bot.contracts.problems import Answer
from bot.contracts.wording import count_of
from bot.evidence.words import number_of
from bot.gate.runners import CAN_CHANGE
from bot.publish.evidence.counted import count_new, new_problems
from bot.publish.evidence.lines import problem_line
from bot.publish.evidence.steps import named, untouched
from bot.publish.text.shown import shown_code, shown_line

_MOST = 12
_OF_A_KIND = 4
_NAMED = 3
# What several files are called together, and how the notes of the gate on one of them begin, the gravest first.
_KINDS = (
    (f"that {CAN_CHANGE}", (CAN_CHANGE,)),
    ("with what is not seen, or looks like a credential", ("adds characters", "adds what looks like")),
    ("whose tests prove less", ("removes ", "skips ", "has ", "could not be read", "deletes a test")),
    ("that run by themselves", ("symbolic link", "runs on its own", "CI")),
    (
        "that set up or silence checkers",
        ("settings of checks", "sets up", "adds a suppression", " suppressions"),
    ),
    ("with dependencies or builds", ("",)),
)


def look_first(outcome: Outcome, files: Sequence[ChangedFile], room: float = 1.0) -> list[str]:
    """Lines of Markdown, without a list's mark. Each kind has a line at least."""
    first, *others = _sensitive(files)
    groups = [
        first,  # if there is one, what tests report says little
        ("more about tests", list(_tests(outcome))),
        *others,
        ("more steps of the plan", list(_plan(outcome, files))),
        ("more new problems", list(_problems(outcome))),
        ("more on checkers", list(_not_known(outcome))),
        ("more {} that no test runs", list(_not_covered(outcome))),
    ]
    return _folded(groups, room)


def look_at_files(files: Sequence[ChangedFile]) -> list[str]:
    """Those of the lines that are about files."""
    return _folded(_sensitive(files), 1.0)


def _folded(groups: Sequence[tuple[str, list[str]]], room: float) -> list[str]:
    shown: list[str] = []
    for words, lines in groups:
        most = max(int(_OF_A_KIND * room), 1) if len(shown) < _MOST * room else 1
        shown += lines[:most]
        if (more := len(lines) - most) > 0:
            shown.append(f"and {more:,} {words.format('file' if more == 1 else 'files')}")
    return shown


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


def _sensitive(files: Sequence[ChangedFile]) -> list[tuple[str, list[str]]]:
    """The files of each kind, after what more of them are called."""
    kinds: dict[str, list[str]] = {f"more {{}} {words}": [] for words, _ in _KINDS}
    for file in files:
        if file.sensitive:
            kinds[_kind(file.sensitive)].append(f"{shown_code(file.path)}: {shown_line(file.sensitive)}")
    return list(kinds.items())


def _kind(note: str) -> str:
    first = note.partition(":")[0]
    return next(
        f"more {{}} {words}"
        for words, begins in _KINDS
        if first.startswith(begins) or first.endswith(begins[-1])
    )


def _problems(outcome: Outcome) -> Iterator[str]:
    shown = new_problems(outcome)
    for problem in shown[:_NAMED]:
        yield f"New: {problem_line(problem)}"
    if (more := count_new(outcome) - len(shown[:_NAMED])) > 0:
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
