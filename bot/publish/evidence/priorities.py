"""List what a reviewer should check first, the most severe first, and the state of each step of an approved plan.

Pure. Only a few lines of each kind are shown, the others are counted, so that one kind cannot hide another. The gate
decides which files are sensitive and why (`ChangedFile.sensitive`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.evidence import Answer
from bot.contracts.formatting import count_of
from bot.contracts.outcome import ChangedFile, CheckResult, CheckState, Outcome, TestsAsTheyWere, WithheldFile
from bot.contracts.plan import MAX_STEPS, PlanStep
from bot.evidence.labels import (
    AS_THEY_WERE,
    check_title,
    kinds_as_they_were,
    no_result_as_they_were,
    number_of,
)
from bot.gate.sensitive_files import CAN_CHANGE
from bot.publish.evidence.problems import count_new, new_problems, problem_line
from bot.publish.markdown import safe_code, safe_line

_MOST = 12
_OF_A_KIND = 4
_NAMED = 3
# A phrase for several files, and the beginnings of the gate's notes on one of them, the most severe first.
_KINDS = (
    (f"that {CAN_CHANGE}", (CAN_CHANGE,)),
    (
        "with what is not seen, or looks like a credential",
        ("GitHub shows no lines", "adds characters", "adds what looks like"),
    ),
    ("whose tests prove less", ("removes ", "skips ", "has ", "could not be read", "deletes a test")),
    ("that run by themselves or set up tools", ("symbolic link", "CI", "configuration")),
    ("that set up or silence checkers", ("sets up", "adds a suppression", " suppressions")),
    ("with dependencies or builds", ("",)),
)


def priorities(outcome: Outcome, files: Sequence[ChangedFile], scale: float = 1.0) -> list[str]:
    """Return lines of Markdown, without list markers. Each kind has at least one line."""
    first, *others = _sensitive(files)
    groups = [
        first,  # with one of these, test results are not reliable
        ("more about tests", list(_tests(outcome))),
        *others,
        ("more steps of the plan", list(_plan(outcome, files))),
        ("more new problems", list(_problems(outcome))),
        ("more on checkers", list(_not_known(outcome))),
        ("more {} that no test runs", list(_not_covered(outcome))),
    ]
    return _folded(groups, scale)


def file_priorities(files: Sequence[ChangedFile]) -> list[str]:
    """Return only the lines about files."""
    return _folded(_sensitive(files), 1.0)


def _folded(groups: Sequence[tuple[str, list[str]]], scale: float) -> list[str]:
    lines_shown: list[str] = []
    for words, lines in groups:
        most = max(int(_OF_A_KIND * scale), 1) if len(lines_shown) < _MOST * scale else 1
        lines_shown += lines[:most]
        if (more := len(lines) - most) > 0:
            lines_shown.append(f"and {more:,} {words.format('file' if more == 1 else 'files')}")
    return lines_shown


def _tests(outcome: Outcome) -> Iterator[str]:
    for check in outcome.checks:
        if (
            check.flaky
            and check.before.state is CheckState.PASSED
            and not (check.tests and check.tests.flaky)
        ):
            yield f"{safe_code(check_title(check), 80)} passed before and is flaky now"
        if check.as_they_were is not None:
            yield from _as_they_were(check, check.as_they_were)
        if check.tests is None:
            continue
        kinds = (
            ("broken", "passed before and {} now", "fails", "fail"),
            ("new_failing", "did not run before and {}", "fails", "fail"),
            ("vanished", "ran before and {} not any more", "does", "do"),
            ("newly_flaky", "passed before and {} flaky now", "is", "are"),
        )
        for field, words, one, many in kinds:
            if number := number_of(check.tests, field):
                names = _names(getattr(check.tests, field), number)
                verb = words.format(one if number == 1 else many)
                yield f"{count_of(number, 'test')} of {safe_code(check_title(check), 80)} {verb}{names}"


def _as_they_were(check: CheckResult, result: TestsAsTheyWere) -> Iterator[str]:
    command = safe_code(check_title(check), 80)
    for kind in kinds_as_they_were(result):
        yield f"{command} {AS_THEY_WERE}: {kind.words}{_names(kind.names, kind.number)}"
    if result.note:
        yield f"{command} {AS_THEY_WERE}: {no_result_as_they_were(result)}, {safe_line(result.note, 200)}"
    elif result.inside:
        yield f"{command} {AS_THEY_WERE}: not comparable in {named(result.inside)}, whose own tests are edited"


def _plan(outcome: Outcome, files: Sequence[ChangedFile]) -> Iterator[str]:
    for number, paths in untouched(outcome, files):
        yield f"step {number} of the plan names {named(paths)}, which this change does not touch"


def _names(names: Sequence[str], number: int) -> str:
    if not names:
        return ""
    named = ", ".join(safe_code(name, 120) for name in names[:_NAMED])
    more = number - len(names[:_NAMED])
    return f": {named}{f' and {more:,} more' if more > 0 else ''}"


def _sensitive(files: Sequence[ChangedFile]) -> list[tuple[str, list[str]]]:
    """Return the phrase for further files of each kind, and a line for each file."""
    kinds: dict[str, list[str]] = {f"more {{}} {words}": [] for words, _ in _KINDS}
    for file in files:
        if file.sensitive:
            kinds[_kind(file.sensitive)].append(f"{safe_code(file.path)}: {safe_line(file.sensitive)}")
    return list(kinds.items())


def _kind(note: str) -> str:
    first = note.partition(":")[0]
    return next(
        f"more {{}} {words}"
        for words, begins in _KINDS
        if first.startswith(begins) or first.endswith(begins[-1])
    )


def _problems(outcome: Outcome) -> Iterator[str]:
    problems = new_problems(outcome)
    for problem in problems[:_NAMED]:
        yield f"New: {problem_line(problem)}"
    if (more := count_new(outcome) - len(problems[:_NAMED])) > 0:
        yield f"{count_of(more, 'more new problem' if problems else 'new problem')}"


def _not_known(outcome: Outcome) -> Iterator[str]:
    """Report checkers that timed out: without a line they would look like checkers without new problems."""
    for one in outcome.diagnostics:
        sides = (("before", one.before.answer), ("with", one.after.answer))
        if late := next((side for side, answer in sides if answer is Answer.TIMED_OUT), ""):
            name = safe_code(one.tool, 60)
            yield f"Whether {name} finds new problems is not known: it timed out {late} the change"


def _not_covered(outcome: Outcome) -> Iterator[str]:
    """Report files of which no changed line was run. Others are only in the table."""
    for file in outcome.coverage.files if outcome.coverage else ():
        if file.measured > 0 and not file.covered:
            lines = count_of(file.measured, "changed line")
            yield f"{safe_code(file.path)}: no test runs {'it' if file.measured == 1 else 'any'} of its {lines}"


_STEP_LIMIT = 1_000
_PATHS_SHOWN = 5


def steps(
    outcome: Outcome, files: Sequence[ChangedFile], withheld: Sequence[WithheldFile], scale: float
) -> list[str]:
    """Return one line of Markdown for each step."""
    plan = outcome.request.plan
    if plan is None:
        return []
    changed, held = [file.path for file in files], [file.path for file in withheld]
    lines = [
        _step_line(step, changed, held, int(_STEP_LIMIT * scale))
        for step in plan.steps[: int(MAX_STEPS * scale)]
    ]
    left = len(plan.steps) - len(lines)
    return [*lines, *([f"and {left} more"] if left else [])]


def untouched(outcome: Outcome, files: Sequence[ChangedFile]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each step that names files which the change does not touch, and those files."""
    changed = [file.path for file in files]
    for number, step in enumerate(outcome.request.plan.steps if outcome.request.plan else (), 1):
        if missing := [path for path in step.paths if not _touched(path, changed)]:
            yield number, missing


def named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _PATHS_SHOWN} more" if len(paths) > _PATHS_SHOWN else ""
    return ", ".join(safe_code(path, 120) for path in paths[:_PATHS_SHOWN]) + more


def _step_line(step: PlanStep, changed: Sequence[str], held: Sequence[str], limit: int) -> str:
    text = safe_line(step.text, limit)
    if not step.paths:
        return f"{text} (names no file)"
    parts = {
        "changed": [path for path in step.paths if _touched(path, changed)],
        "held back": [path for path in step.paths if not _touched(path, changed) and _touched(path, held)],
    }
    parts["not touched"] = [path for path in step.paths if path not in parts["changed"] + parts["held back"]]
    text_of_parts = "; ".join(f"{word}: {named(paths)}" for word, paths in parts.items() if paths)
    mark = "✅" if len(parts["changed"]) == len(step.paths) else "⚠️"
    return f"{mark} {text} ({text_of_parts})"


def _touched(path: str, paths: Sequence[str]) -> bool:
    """Whether one of `paths` is `path` or in that folder."""
    return any(one == path or one.startswith(f"{path.rstrip('/')}/") for one in paths)
