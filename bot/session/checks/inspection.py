"""Run checkers over whole projects, before the change and after it, with the same commands in the same folders.

They run after the checks, in a workspace of their own: on a pristine tree with the results of setup.
"""

import time
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.evidence import Answer, CheckerComparison, Problem, ToolRun
from bot.contracts.plain_text import printable_name
from bot.contracts.request import NO_CHECKS
from bot.ecosystems.checker import Checker, above, sets_up, uses_checker
from bot.ecosystems.registry import checkers
from bot.evidence.checker_comparison import (
    ProjectRun,
    ProjectRuns,
    checker_after,
    choose_checkers,
    compare_projects,
    has_error,
    limit_projects,
)
from bot.evidence.labels import RECONFIGURED
from bot.session.checks.host_reports import failed_checker_run, parse_checker_run
from bot.session.context.run import Run
from bot.workspace.client import Workspace, WorkspaceError

LIMIT = 120
"""Seconds for one checker, its start included."""

_RUN_OVER = "the run was over before it"
_NO_TIME = "the time for checkers was spent before it"
_NOT_RUN = "not run with the change, since it gave no result before it"
_SHARE = "checkers have a share of 30 % of budget.check_minutes"
_GONE = "the change removes its project"

Key = tuple[str, str]
"""The name of the checker and the project."""

_Runs = dict[Key, ProjectRun]


class _Changes(NamedTuple):
    """A tree against the base. `paths` differ on either side, `renamed` maps new ones to old ones, `checkers` are those
    of the base that still have their project."""

    paths: list[str]
    renamed: dict[str, str]
    checkers: dict[Key, Checker]


class Inspection:
    """The checkers of a run. `is_wanted` is `False` in a run that only reads, and if policy or request disable them."""

    def __init__(self, run: Run) -> None:
        self._checkout = run.checkout
        self._read_base = cache(self._checkout.read)
        wanted = run.policy.diagnostics
        self._only = wanted.checkers
        """Those that the policy names, `None` if the repository decides."""
        disabled = wanted.off or wanted.checkers == () or run.request.options.get(NO_CHECKS) == "true"
        self.is_wanted = not (run.profile.read_only or disabled)
        self._changes = cache(self._compare)
        self._before: _Runs = {}
        self._after: dict[str, _Runs] = {}

    @cached_property
    def _checkers(self) -> tuple[Checker, ...]:
        only = self._only if self.is_wanted else ()
        return choose_checkers(self._checkout.paths, self._checkout.read, only)

    def is_needed(self) -> bool:
        """Whether there is a checker for this repository. Runs git, so call it after the first request."""
        return bool(self._checkers)

    def is_for_model(self, problem: Problem) -> bool:
        """Whether the policy names the checker, or the project of the file uses it: all but two run only then. Or the
        problem hides others, as a syntax error does."""
        checker = next((one for one in checkers() if one.name == problem.tool), None)
        return (
            self._only is not None
            or checker is None
            or not checker.always
            or has_error([problem], checker.hides)
            or uses_checker(problem.tool, above(problem.path), self._read_base)
        )

    def run(self, workspace: Workspace, tree_sha: str | None, seconds: float, cancel: CancelToken) -> None:
        """Run the checkers on the tree of `workspace`, the base or `tree_sha`, within `seconds` in all."""
        chosen, runs = self._due(tree_sha) if tree_sha else (limit_projects(self._checkers), self._before)
        paths = self._checkout.paths_at(tree_sha or "")
        crash, deadline = "", time.monotonic() + seconds
        for checker in chosen:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                run = ProjectRun(ToolRun(Answer.TIMED_OUT, note=_NO_TIME))
            elif crash or cancel.fired:
                run = failed_checker_run(crash or _RUN_OVER)
            else:
                try:
                    run = _run(workspace, cancel, checker, paths, min(LIMIT, seconds_left))
                except WorkspaceError as error:
                    crash = str(error)
                    run = failed_checker_run(crash)
            is_cut = run.run.answer is Answer.TIMED_OUT and seconds_left < LIMIT
            runs[checker.key] = run.with_note(_SHARE) if is_cut else run
        if tree_sha is not None:
            self._after[tree_sha] = runs

    def _due(self, tree_sha: str) -> tuple[Sequence[Checker], _Runs]:
        """Return the checkers that run with the change, and the results of those whose configuration it changes."""
        changes, read = self._changes(tree_sha), self._checkout.read
        due: list[Checker] = []
        incomparable: _Runs = {}
        for key, checker in changes.checkers.items():
            if key not in self._before or self._before[key].run.answer is not Answer.COMPLETE:
                continue
            texts = (
                (path, (read(path, sha) or "" for sha in ("", tree_sha))) for path in sorted(changes.paths)
            )
            if path := next((path for path, both in texts if sets_up(checker, path, both)), ""):
                incomparable[key] = failed_checker_run(f"{RECONFIGURED}, in {printable_name(path)}")
            else:
                due.append(checker)
        return due, incomparable

    def results(self, tree_sha: str | None) -> tuple[CheckerComparison, ...]:
        """Compare each checker before and after the change; empty without a change, or if nothing ran."""
        if tree_sha is None or tree_sha not in self._after:
            return ()
        changes, runs = self._changes(tree_sha), self._after[tree_sha]
        projects = {checker.name: list[ProjectRuns]() for checker in checkers()}
        skipped = {checker.name: list[str]() for checker in checkers()}
        for checker in self._checkers:
            if checker.key in self._before:
                why = _NOT_RUN if checker.key in changes.checkers else _GONE
                after = runs.get(checker.key) or failed_checker_run(why)
                before = self._before[checker.key]
                if after.run.answer is Answer.COMPLETE and after.version != before.version:
                    after = after.with_note(f"with the change it is another version: {after.version}")
                projects[checker.name].append(ProjectRuns(checker, before, after))
            else:
                skipped[checker.name].append(checker.project)
        return tuple(
            row
            for name, group in projects.items()
            if group
            for row in compare_projects(group, changes.renamed, skipped[name])
        )

    def _compare(self, tree_sha: str) -> _Changes:
        """Raises `GitError`."""
        names = self._checkout.paths_at(tree_sha)
        there = {one.key: after for one in self._checkers if (after := checker_after(one, names))}
        return _Changes(*self._checkout.changes(tree_sha), there)


def _run(
    workspace: Workspace, cancel: CancelToken, checker: Checker, paths: Collection[str], limit: float
) -> ProjectRun:
    files, is_complete = checker.files_of(paths)
    query = {"files": list(files), "folder": checker.folder, "timeout": limit}
    query["checker"] = checker_arguments(checker)
    began = time.monotonic()
    outcome = workspace.call("problems_of", query, cancel)
    if cancel.fired:
        return failed_checker_run(_RUN_OVER)
    run = parse_checker_run(checker.name, outcome, round(time.monotonic() - began, 4))
    return run if is_complete else run.with_note(f"only the first {len(files)} files were looked at")


def checker_arguments(checker: Checker) -> dict[str, object]:
    """Return the fields of a checker that the tool host receives."""
    fields = {name: getattr(checker, name) for name in ("where", "version", "exits", "unit", "together")}
    names = {"program": checker.program or checker.name, "form": checker.form or checker.name}
    return {**fields, **names, "arguments": checker.full_arguments}
