"""Select the checkers for a commit, with their projects, and compare them before and after a change. Pure.

Projects with an answer on both sides are compared as one: a file that moves to another project takes its problems with
it, and the same problem from two projects counts once. Each other kind of outcome has a row of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, count, groupby
from posixpath import join
from typing import NamedTuple

from bot.contracts.evidence import Answer, CheckerComparison, Problem, Severity, ToolRun
from bot.contracts.formatting import count_of, first_of
from bot.ecosystems.checker import Checker, Files, Read, above
from bot.ecosystems.registry import checkers
from bot.evidence.problems import compare

HIDDEN = "a new error keeps it from finding others, so what is fixed is not known"
UNCOVERED = "an error that is fixed kept it from finding others, so some new problems may be older"


class ProjectRun(NamedTuple):
    """One run of a checker in one project."""

    run: ToolRun
    problems: tuple[Problem, ...] = ()
    version: str = ""

    def with_note(self, note: str) -> ProjectRun:
        return self._replace(run=_with_note(self.run, note))


class ProjectRuns(NamedTuple):
    """A project on both sides of the change."""

    checker: Checker
    before: ProjectRun
    after: ProjectRun

    @property
    def is_complete(self) -> bool:
        return self.before.run.answer is self.after.run.answer is Answer.COMPLETE


def has_error(problems: Iterable[Problem], pattern: str) -> bool:
    """Whether the code of an error matches `pattern`, if there is one."""
    errors = (problem for problem in problems if problem.severity is Severity.ERROR)
    return bool(pattern) and any(re.fullmatch(pattern, error.code) for error in errors)


MOST_PROBLEMS = 100
"""The most problems of each kind and tool in a result."""

_NAMED = 5
_VERSIONS = 3


def compare_projects(
    projects: Sequence[ProjectRuns], renamed: Mapping[str, str], skipped: Sequence[str] = ()
) -> tuple[CheckerComparison, ...]:
    """Compare the projects of one tool. `renamed` maps paths after the change to those before; `skipped` are projects
    that it did not check for lack of time."""
    whole = [one for one in projects if one.is_complete]
    rows = [_compare_complete(whole, renamed)] if whole else []
    rest = sorted((one for one in projects if not one.is_complete), key=_incomplete_reason)
    rows += [_row(list(group)) for _, group in groupby(rest, key=_incomplete_reason)]
    if rows and skipped:
        note = f"{count_of(len(skipped), 'more project')} not looked at: {list_folders(skipped)}"
        rows[0] = rows[0]._replace(before=_with_note(rows[0].before, note))
    return tuple(rows)


def list_folders(folders: Sequence[str]) -> str:
    return first_of([folder or "the top" for folder in folders], _NAMED)


def _compare_complete(projects: Sequence[ProjectRuns], renamed: Mapping[str, str]) -> CheckerComparison:
    """Compare `projects` together. The notes say what makes the result doubtful."""
    before = chain.from_iterable(project.before.problems for project in projects)
    after = chain.from_iterable(project.after.problems for project in projects)
    delta, hides, row = compare(before, after, renamed), projects[0].checker.hides, _row(projects)
    doubtful: set[Problem] = set()
    for project in projects:
        new = set(project.after.problems).intersection(delta.new)
        fixed = set(project.before.problems).intersection(delta.fixed)
        if has_error(new, hides) and fixed:
            doubtful |= fixed
            row = row._replace(after=_with_note(row.after, HIDDEN))
        elif has_error(fixed, hides) and new:
            row = row._replace(after=_with_note(row.after, UNCOVERED))
    certain = [problem for problem in delta.fixed if problem not in doubtful]
    return row._replace(
        new=delta.new[:MOST_PROBLEMS],
        fixed=tuple(certain[:MOST_PROBLEMS]),
        new_count=len(delta.new),
        fixed_count=len(certain),
        remaining=delta.remaining,
        environment=len(delta.environment),
    )


def _incomplete_reason(project: ProjectRuns) -> tuple[str, str, str]:
    before, after = project.before.run, project.after.run
    note = before.note if before.answer is not Answer.COMPLETE else after.note
    return (before.answer, after.answer, note)


def _row(projects: Sequence[ProjectRuns]) -> CheckerComparison:
    """Return one row for projects with the same outcome."""
    checker = projects[0].checker
    versions = dict.fromkeys(one.before.version for one in projects if one.before.version)
    folders = tuple(project.checker.project for project in projects)
    is_root = folders == ("",)
    return CheckerComparison(
        checker.name,
        ", ".join(list(versions)[:_VERSIONS]),
        checker.command if is_root else f"{checker.command}  # in {list_folders(folders)}",
        _run([(project.checker.project, project.before) for project in projects]),
        _run([(project.checker.project, project.after) for project in projects]),
        projects=() if is_root else folders,
    )


def _run(runs: Sequence[tuple[str, ProjectRun]]) -> ToolRun:
    problems = len({problem for _, run in runs for problem in run.problems})
    duration = round(sum(run.run.duration for _, run in runs), 4)
    notes = []
    for note in dict.fromkeys(run.run.note for _, run in runs if run.run.note):
        noted = [folder for folder, run in runs if run.run.note == note]
        notes.append(note if len(noted) == len(runs) else f"{list_folders(noted)}: {note}")
    return ToolRun(runs[0][1].run.answer, problems, duration, "; ".join(notes[:_NAMED]))


def _with_note(run: ToolRun, note: str) -> ToolRun:
    return run._replace(note="; ".join(dict.fromkeys(filter(None, [run.note, note]))))


def checker_after(checker: Checker, paths: Collection[str]) -> Checker | None:
    """Return the checker of a project among the files `paths` after the change, with the arguments of the base; `None`
    if the change removes the project."""
    there = {"", *paths, *(folder for path in paths for folder in above(path))}
    own = join(checker.folder, checker.file or checker.manifest) if checker.manifest else checker.folder
    if own not in there:
        return None
    excluded = tuple(folder for folder in checker.excluded_folders if folder in there)
    return checker._replace(excluded_folders=excluded)


MOST = 8
"""The most projects of one checker. Further ones are listed as skipped."""


def choose_checkers(
    paths: Collection[str], read: Read, named: Collection[str] | None = None
) -> tuple[Checker, ...]:
    """Return a checker for each project of a commit with the files `paths`: the first project of each tool, then the
    second of each. `named` are the only tools to use, if the policy names any."""
    names = frozenset(paths)
    files = Files(names, cache(lambda path: read(path) if path in names else None), lambda *_: None)
    numbered = [
        (number, checker)
        for kind in checkers()
        if named is None or kind.name in named
        for number, checker in enumerate(kind.projects(kind, files))
    ]
    return tuple(checker for _, checker in sorted(numbered, key=lambda each: each[0]))


def limit_projects(chosen: Iterable[Checker]) -> tuple[Checker, ...]:
    """Return the first `MOST` projects of each tool."""
    numbers = defaultdict[str, Iterator[int]](count)
    return tuple(checker for checker in chosen if next(numbers[checker.name]) < MOST)
