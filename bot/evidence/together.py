"""What a change makes new, gone and visible in all projects that one checker looked at, taken together.

Pure. A file that moves from one project to another takes its problems with it, and what two of them say of one line
counts once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.contracts.problems import Problem, Severity, ToolRun
from bot.evidence.checkers import Checker
from bot.evidence.problems import Delta, compare

STOPPED = "it stopped at errors of syntax, so what else is wrong is not known"
HIDDEN = "a new error keeps it from finding others, so what is fixed is not known"


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


class Together:
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
            for problem in problems_of(one.before)
            if one.after or self._change.gone(problem.path)
        ]
        after = [problem for one in self._projects for problem in problems_of(one.after)]
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
                doubtful.update(problem for problem in problems_of(one.before) if problem.path in moved)
                continue
            stopped = has_code(problems_of(one.after), self._checker.stops_at)
            if stopped and not has_code(problems_of(one.before), self._checker.stops_at):
                note = STOPPED
            elif has_code(errors.intersection(problems_of(one.after)), self._checker.hides):
                note = HIDDEN
            else:
                continue
            hidden = set(problems_of(one.before)).intersection(fixed)
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
            wholly = self._checker.blinded and _unread(problems_of(one.before), unread)
            if one.before and not (wholly and not _unread(problems_of(one.after), unread)):
                sighted.update(problems_of(one.after))

        def is_uncovered(problem: Problem) -> bool:
            old = self._change.renamed.get(problem.path, problem.path)
            hidden = problem not in sighted or (not self._checker.blinded and old in files)
            return hidden and untouched(problem.path, problem.line)

        return is_uncovered


def problems_of(side: Side | None) -> tuple[Problem, ...]:
    return side.problems if side else ()


def _unread(problems: Iterable[Problem], pattern: str) -> set[str]:
    """The files of which the tool says that it could not read them."""
    return {
        problem.path for problem in problems
        if pattern and problem.severity is Severity.ERROR and re.match(pattern, f"{problem.code}: {problem.message}")
    }  # fmt: skip


def has_code(problems: Iterable[Problem], pattern: str) -> bool:
    return bool(pattern) and any(re.fullmatch(pattern, problem.code) for problem in problems)
