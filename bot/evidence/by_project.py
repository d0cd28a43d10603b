"""A checker before and after the change, over all the projects that it looks at: one comparison of those in which it
answered on both sides, and a row of its own for each kind of those in which it did not.

Pure. All projects are compared as one, so that a file that moves from one to another takes its problems with it, and
what two of them say of one line counts once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from bot.contracts.problems import Answer, Compared, Problem, Severity, ToolRun
from bot.contracts.wording import count_of
from bot.evidence.checkers import Checker
from bot.evidence.problems import Delta, compare

SHOWN = 100
"""Problems of each kind that are kept of one tool."""

STOPPED = "it stopped at errors of syntax, so what else is wrong is not known"
HIDDEN = "a new error keeps it from finding others, so what is fixed is not known"
UNCOVERED = "{} in what could not be read before, on lines that the change left alone"
UNBUILT = "some import a project that is not built, so how they use it is not known: build it in `setup:`"
_NAMED = 5
_VERSIONS = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One run in one project."""

    run: ToolRun
    problems: tuple[Problem, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """A project on both sides of the change. One that it makes has no `before`, one that it takes away no `after`."""

    checker: Checker
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class Change:
    """`renamed` leads from a path after the change to the one before it; `gone` says whether nothing has a path any
    more; `untouched` whether a line of a file after the change stood in it before, `None` where that is not known."""

    renamed: Mapping[str, str]
    gone: Callable[[str], bool] = lambda path: False
    untouched: Callable[[str, int], bool] | None = None


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
    stopped = [_codes(_problems(side), one.checker.stops_at) for side in (one.before, one.after)]
    if one.before is None or stopped != [True, False]:
        return one
    run = replace(one.before.run, answer=Answer.UNAVAILABLE, note=STOPPED)
    return replace(one, before=replace(one.before, run=run))


def _as_one(projects: Sequence[Looked], change: Change) -> Compared:
    delta = _Delta(projects, change)
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
    if unbuilt and any(problem.code == unbuilt for one in projects for problem in _problems(one.before)):
        made = replace(made, before=_noted(made.before, UNBUILT))
    return replace(
        made, after=_noted(made.after, *delta.notes, *said), new=found.new[:SHOWN], fixed=found.fixed[:SHOWN],
        new_count=len(found.new), fixed_count=len(found.fixed), remaining=found.remaining,
        environment=len(found.environment), uncovered=delta.uncovered[:SHOWN], uncovered_count=len(delta.uncovered),
    )  # fmt: skip


class _Delta:
    """What is new, fixed and uncovered in all of `projects` together, and what makes that doubtful."""

    def __init__(self, projects: Sequence[Looked], change: Change) -> None:
        self._projects = projects
        self._change = change
        self._checker = projects[0].checker
        self.notes: list[str] = []
        self.uncovered: tuple[Problem, ...] = ()

    def whole(self) -> Delta:
        # What a project that is gone found in files that are still there is not known any more, and not fixed.
        before = [
            problem
            for one in self._projects
            for problem in _problems(one.before)
            if one.after or self._change.gone(problem.path)
        ]
        after = [problem for one in self._projects for problem in _problems(one.after)]
        delta = compare(before, after, self._change.renamed)
        seen = self._blind(before, after)
        self.uncovered = tuple(problem for problem in delta.new if seen(problem))
        uncovered = set(self.uncovered)
        new = tuple(problem for problem in delta.new if problem not in uncovered)
        doubtful = self._doubtful(new, delta.fixed)
        fixed = tuple(problem for problem in delta.fixed if problem not in doubtful)
        return delta._replace(new=new, fixed=fixed)

    def _doubtful(self, new: Iterable[Problem], fixed: Collection[Problem]) -> Collection[Problem]:
        """What is gone, but where something new keeps the tool from finding all there is, or where nothing looks."""
        errors = {problem for problem in new if problem.severity is Severity.ERROR}
        doubtful: set[Problem] = set()
        moved = set(self._change.renamed.values())
        for one in self._projects:
            if one.after is None:
                doubtful.update(problem for problem in _problems(one.before) if problem.path in moved)
                continue
            stopped = _codes(_problems(one.after), self._checker.stops_at)
            if stopped and not _codes(_problems(one.before), self._checker.stops_at):
                note = STOPPED
            elif _codes(errors.intersection(_problems(one.after)), self._checker.hides):
                note = HIDDEN
            else:
                continue
            hidden = set(_problems(one.before)).intersection(fixed)
            if hidden or note == STOPPED:
                self.notes.append(note)
            doubtful |= hidden
        return doubtful

    def _blind(self, before: Iterable[Problem], after: Iterable[Problem]) -> Callable[[Problem], bool]:
        """Whether the tool could not have said a problem before, though its line was there."""
        untouched = self._change.untouched
        if untouched is None:
            return lambda problem: False
        unread = self._checker.unread
        was, now = _unread(before, unread), _unread(after, unread)
        new_names = {self._change.renamed.get(path, path) for path in now}
        files = was - new_names
        sighted: set[Problem] = set()
        for one in self._projects:
            wholly = self._checker.blinded and _unread(_problems(one.before), unread)
            if one.before and not (wholly and not _unread(_problems(one.after), unread)):
                sighted.update(_problems(one.after))

        def is_uncovered(problem: Problem) -> bool:
            old = self._change.renamed.get(problem.path, problem.path)
            hidden = problem not in sighted or (not self._checker.blinded and old in files)
            return hidden and untouched(problem.path, problem.line)

        return is_uncovered


def _problems(side: Side | None) -> tuple[Problem, ...]:
    return side.problems if side else ()


def _unread(problems: Iterable[Problem], pattern: str) -> set[str]:
    """The files of which the tool says that it could not read them."""
    return {
        problem.path for problem in problems
        if pattern and problem.severity is Severity.ERROR and re.match(pattern, f"{problem.code}: {problem.message}")
    }  # fmt: skip


def _codes(problems: Iterable[Problem], pattern: str) -> bool:
    return bool(pattern) and any(re.fullmatch(pattern, problem.code) for problem in problems)


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
