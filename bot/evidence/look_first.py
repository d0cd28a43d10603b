"""What a reviewer should look at first, the most severe first; and what was held back or denied in a run. Pure.

Only a few lines of each kind are shown, the others are counted, so that one kind cannot hide another. The gate decides
which files are sensitive and why (`ChangedFile.sensitive`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.contracts.formatting import count_of
from bot.contracts.outcome import (
    CAN_CHANGE_TESTS,
    ChangedFile,
    CheckState,
    Denial,
    Outcome,
    TestsAsTheyWere,
    WithheldFile,
)
from bot.ecosystems.checker import is_in
from bot.evidence.labels import AS_THEY_WERE, check_title, kinds_of, no_result_as_they_were, number_of
from bot.evidence.problems import count_problems, problem_line, problems_of
from bot.evidence.styled_line import Line, Piece, code, line, names, quote

_MOST = 12
_OF_A_KIND = 4
_NAMED = 3
_PATHS_NAMED = 5
# A phrase for several files, and the beginnings of the gate's notes on one of them, the most severe first.
_KINDS = (
    (f"that {CAN_CHANGE_TESTS}", (CAN_CHANGE_TESTS,)),
    ("with what is not seen, or looks like a credential", ("adds characters", "adds what looks like")),
    ("whose tests prove less", ("removes ", "skips ", "has ", "could not be read", "deletes a test")),
    ("that run by themselves or set up tools", ("symbolic link", "CI", "configuration")),
    ("that set up or silence checkers", ("sets up", "adds a suppression", " suppressions")),
    ("with dependencies or builds", ("",)),
)
# Fields of `TestChanges`, and the words for one test and for several.
_TESTS = (
    ("broken", "passed before and {} now", "fails", "fail"),
    ("new_failing", "did not run before and {}", "fails", "fail"),
    ("vanished", "ran before and no longer {}", "runs", "run"),
    ("newly_flaky", "passed before and {} flaky now", "is", "are"),
)


def look_first(outcome: Outcome, files: Sequence[ChangedFile], scale: float = 1.0) -> tuple[Line, ...]:
    """Return the lines; `scale` below 1 shortens the list. Each kind has at least one line."""
    kinds = [(f"more {{}} {words}", begins, list[Line]()) for words, begins in _KINDS]
    for file in filter(lambda one: one.sensitive, files):
        note = file.sensitive.partition(":")[0]
        fitting = (of for _, begins, of in kinds if note.startswith(begins) or note.endswith(begins[-1]))
        next(fitting).append(line(code(file.path), ": ", quote(file.sensitive)))
    first, *others = ((words, lines) for words, _, lines in kinds)
    groups = [
        first,  # with one of these, test results are not reliable
        ("more about tests", list(_tests(outcome))),
        *others,
        ("more steps of the plan", list(_plan(outcome, [file.path for file in files]))),
        ("more new problems", list(_problems(outcome))),
    ]
    selected: list[Line] = []
    for words, lines in groups:
        most = max(int(_OF_A_KIND * scale), 1) if len(selected) < _MOST * scale else 1
        selected += lines[:most]
        if (more := len(lines) - most) > 0:
            selected.append(line(f"and {more:,} {words.format('file' if more == 1 else 'files')}"))
    return tuple(selected)


def _tests(outcome: Outcome) -> Iterator[Line]:
    for check in outcome.checks:
        title, tests = code(check_title(check)), check.tests
        if check.flaky and check.before.state is CheckState.PASSED and not (tests and tests.flaky):
            yield line(title, " passed before and is flaky now")
        if check.as_they_were:
            yield from _as_they_were(check.as_they_were, title)
        for field, words, one, many in _TESTS:
            if number := number_of(tests, field):
                verb = words.format(one if number == 1 else many)
                listed = _names(getattr(tests, field), number)
                yield line(f"{count_of(number, 'test')} of ", title, f" {verb}", listed)


def _as_they_were(result: TestsAsTheyWere, title: Piece) -> Iterator[Line]:
    begin = line(title, f" {AS_THEY_WERE}: ")
    for kind in kinds_of(result):
        yield line(begin, kind.words, _names(kind.names, kind.number))
    if result.note:
        yield line(begin, f"{no_result_as_they_were(result)}, ", quote(result.note))
    elif result.inside:
        inside = names(result.inside, _PATHS_NAMED)
        yield line(begin, "not comparable in ", inside, ", whose own tests are edited")


def _names(listed: Sequence[str], number: int) -> Line:
    return line(": ", names(listed, _NAMED, number)) if listed else ()


def _plan(outcome: Outcome, changed: Sequence[str]) -> Iterator[Line]:
    for number, step in enumerate(outcome.request.plan.steps if outcome.request.plan else (), 1):
        folders = [path.rstrip("/") for path in step.paths]
        if missing := [folder for folder in folders if not any(is_in(path, folder) for path in changed)]:
            listed = names(missing, _PATHS_NAMED)
            yield line(f"step {number} of the plan names ", listed, ", which this change does not touch")


def _problems(outcome: Outcome) -> Iterator[Line]:
    problems = problems_of(outcome, "new")
    for problem in problems[:_NAMED]:
        yield line("New: ", problem_line(problem))
    if (more := count_problems(outcome, "new") - len(problems[:_NAMED])) > 0:
        yield line(count_of(more, "more new problem" if problems else "new problem"))


def held_back(files: Sequence[WithheldFile]) -> Iterator[Line]:
    """Yield a line for each reason, with the first files that it holds back: they may be thousands."""
    paths: dict[str, list[str]] = {}
    for file in files:
        paths.setdefault(file.reason, []).append(file.path)
    for reason, alike in paths.items():
        yield line(names(alike, _PATHS_NAMED), ": ", quote(reason))


def denied(denials: Sequence[Denial]) -> Iterator[Line]:
    """Yield each denied call once, with the rule and the number of tries."""
    for denial, times in Counter(denials).items():
        why = line(": ", quote(denial.reason)) if denial.reason else ()
        # The name of a built-in rule is a phrase of its own: "the built-in rule git-push".
        own = denial.rule.startswith("the ")
        rule = line(quote(denial.rule)) if own else line("rule ", code(denial.rule))
        often = f", {times} times" if times > 1 else ""
        yield line(code(denial.tool), " ", code(denial.subject), why, " (", rule, f"{often})")
