"""A checker before and after the change, over all the projects that it looks at: one comparison of those in which it
answered on both sides, and a row of its own for each kind of those in which it did not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from bot.contracts.problems import Answer, Compared, ToolRun
from bot.contracts.wording import count_of
from bot.evidence.together import STOPPED, Change, Looked, Side, Together, has_code, problems_of

SHOWN = 100
"""Problems of each kind that are kept of one tool."""

UNCOVERED = "{} in what could not be read before, on lines that the change left alone"
UNBUILT = "some import a project that is not built, so how they use it is not known: build it in `setup:`"
_NAMED = 5
_VERSIONS = 3


def compared(
    projects: Sequence[Looked], change: Change, left_out: Sequence[str] = ()
) -> tuple[Compared, ...]:
    """Of one tool. `left_out` are the projects that it was not to look at, for want of time."""
    if change.untouched is None:
        projects = [_as_it_was_stopped(one) for one in projects]
    whole = [one for one in projects if _is_complete(one)]
    rows = [_as_one(whole, change)] if whole else []
    rest = sorted((one for one in projects if not _is_complete(one)), key=_why)
    rows += [_row(list(some)) for _, some in groupby(rest, key=_why)]
    if rows and left_out:
        note = f"{count_of(len(left_out), 'more project')} not looked at: {listed(left_out)}"
        rows[0] = replace(rows[0], before=_noted(rows[0].before, note))
    return tuple(rows)


def listed(folders: Sequence[str]) -> str:
    more = f" and {len(folders) - _NAMED} more" if len(folders) > _NAMED else ""
    return ", ".join(folder or "the top" for folder in folders[:_NAMED]) + more


def _is_complete(one: Looked) -> bool:
    sides = [side for side in (one.before, one.after) if side]
    return all(side.run.answer is Answer.COMPLETE for side in sides)


def _as_it_was_stopped(one: Looked) -> Looked:
    """What a tool that stopped on the base alone says with the change is nothing to compare, as long as it is not known
    which lines are new."""
    stopped = [has_code(problems_of(side), one.checker.stops_at) for side in (one.before, one.after)]
    if one.before is None or stopped != [True, False]:
        return one
    run = replace(one.before.run, answer=Answer.UNAVAILABLE, note=STOPPED)
    return replace(one, before=replace(one.before, run=run))


def _as_one(projects: Sequence[Looked], change: Change) -> Compared:
    delta = Together(projects, change)
    found = delta.whole()
    made = _row(projects)
    notes = {
        "new with the change: {}": [one.checker.place for one in projects if not one.before],
        "gone with the change: {}": [one.checker.place for one in projects if not one.after],
    }
    said = [words.format(listed(folders)) for words, folders in notes.items() if folders]
    if delta.uncovered:
        said.append(UNCOVERED.format(count_of(len(delta.uncovered), "problem")))
    unbuilt = projects[0].checker.unbuilt
    if unbuilt and any(problem.code == unbuilt for one in projects for problem in problems_of(one.before)):
        made = replace(made, before=_noted(made.before, UNBUILT))
    return replace(
        made, after=_noted(made.after, *delta.notes, *said), new=found.new[:SHOWN], fixed=found.fixed[:SHOWN],
        new_count=len(found.new), fixed_count=len(found.fixed), remaining=found.remaining,
        environment=len(found.environment), uncovered=delta.uncovered[:SHOWN], uncovered_count=len(delta.uncovered),
    )  # fmt: skip


def _why(one: Looked) -> tuple[str, str, str]:
    first, then = (side.run if side else ToolRun(Answer.COMPLETE) for side in (one.before, one.after))
    said = first.note if first.answer is not Answer.COMPLETE else then.note
    return (first.answer, then.answer, said)


def _row(projects: Sequence[Looked]) -> Compared:
    """How all of these went, as one."""
    checker = projects[0].checker
    versions = dict.fromkeys(
        side.version for one in projects if (side := one.before or one.after) and side.version
    )
    folders = tuple(one.checker.place for one in projects)
    only_the_top = folders == ("",)
    return Compared(
        checker.name, ", ".join(list(versions)[:_VERSIONS]),
        checker.command if only_the_top else f"{checker.command}  # in {listed(folders)}",
        _run([(one.checker.place, one.before) for one in projects]),
        _run([(one.checker.place, one.after) for one in projects]),
        projects=() if only_the_top else folders,
    )  # fmt: skip


def _run(sides: Sequence[tuple[str, Side | None]]) -> ToolRun:
    there = [(folder, side) for folder, side in sides if side]
    if not there:
        return ToolRun(Answer.COMPLETE)
    problems = len({problem for _, side in there for problem in side.problems})
    duration = round(sum(side.run.duration for _, side in there), 4)
    said: dict[str, list[str]] = {}
    for folder, side in there:
        if side.run.note:
            said.setdefault(side.run.note, []).append(folder)
    notes = [note if len(some) == len(there) else f"{listed(some)}: {note}" for note, some in said.items()]
    return ToolRun(there[0][1].run.answer, problems, duration, "; ".join(notes[:_NAMED]))


def _noted(run: ToolRun, *notes: str) -> ToolRun:
    return replace(run, note="; ".join(dict.fromkeys(filter(None, [run.note, *notes]))))
