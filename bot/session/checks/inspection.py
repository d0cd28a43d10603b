"""Run checkers over whole projects, before the change and after it, with the same commands in the same folders.

They run after the checks, in a workspace of their own: on a pristine tree with the results of setup.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
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
from bot.evidence.labels import CHECKER_SHARE, RECONFIGURED
from bot.session.checks.host_reports import failed_checker_run, parse_checker_run
from bot.session.context.git_trees import GitTrees
from bot.session.context.run import Run
from bot.workspace.client import Workspace, WorkspaceError

LIMIT = 120
"""Seconds for one checker, its start included."""

_NOT_RUN = "not run with the change, since it gave no result before it"
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
    """The checkers of a run. `only` are those that the policy names, `None` if the repository decides."""

    def __init__(self, checkout: Checkout, cancel: CancelToken, only: Collection[str] | None = None) -> None:
        self._history = GitTrees(checkout)
        self._read_base = cache(self._history.read)
        self._only = only
        self._cancel = CancelToken()
        self._forget = cancel.on_fire(lambda: self._cancel.fire("the run is over"))
        self._checkers, self._changes = cache(self._choose), cache(self._compare)
        self._before: _Runs = {}
        self._after: dict[str, _Runs] = {}

    def is_needed(self) -> bool:
        """Whether there is a checker for this repository. Runs git, so call it after the first request."""
        return bool(self._checkers())

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

    def cancel(self) -> None:
        """Cancel running checkers and start no more."""
        self._cancel.fire("the run is over")
        self._forget()

    def run(
        self, workspace: Workspace, tree_sha: str | None, seconds: float, missing: Sequence[Checker] = ()
    ) -> None:
        """Run the checkers on the tree of `workspace`, the base or `tree_sha`, within `seconds` in all; on the base the
        `missing` ones, if there are some."""
        if tree_sha is None:
            chosen = missing or limit_projects(self._checkers())
            self._before |= self._run_all(workspace, self._history.paths(), chosen, seconds)
            return
        changes = self._changes(tree_sha)
        complete = {key for key, one in self._before.items() if one.run.answer is Answer.COMPLETE}
        usable = [one for key, one in changes.checkers.items() if key in complete]
        incomparable = {
            one.key: failed_checker_run(f"{RECONFIGURED}, in {settings}")
            for one in usable
            if (settings := self._reconfigured(one, changes.paths, tree_sha))
        }
        due = [one for one in usable if one.key not in incomparable]
        chosen = limit_projects(due, changes.paths, most=len(due))
        runs = self._run_all(workspace, self._history.paths(tree_sha), chosen, seconds)
        self._after[tree_sha] = runs | incomparable

    def missing_on_base(self, tree_sha: str) -> list[Checker]:
        """Return the checkers of projects that the change concerns, and that were skipped on the base."""
        due = limit_projects(self._checkers(), self._changes(tree_sha).paths)
        return [checker for checker in due if checker.key not in self._before]

    def results(self, tree_sha: str | None) -> tuple[CheckerComparison, ...]:
        """Compare each checker before and after the change; empty without a change, or if nothing ran."""
        if tree_sha is None or tree_sha not in self._after:
            return ()
        changes, runs = self._changes(tree_sha), self._after[tree_sha]
        projects = {checker.name: list[ProjectRuns]() for checker in checkers()}
        skipped = {checker.name: list[str]() for checker in checkers()}
        for checker in self._checkers():
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

    def _choose(self) -> tuple[Checker, ...]:
        try:
            return choose_checkers(self._history.paths(), self._history.read, self._only)
        except GitError:
            return ()

    def _compare(self, tree_sha: str) -> _Changes:
        """Raises `GitError`."""
        names = self._history.paths(tree_sha)
        there = {one.key: after for one in self._checkers() if (after := checker_after(one, names))}
        return _Changes(*self._history.changes(tree_sha), there)

    def _run_all(
        self, workspace: Workspace, paths: Collection[str], checkers: Iterable[Checker], seconds: float
    ) -> _Runs:
        """Return the run of each checker by its key, within `seconds` in all. `paths` are the files of the tree."""
        runs: _Runs = {}
        crash, deadline = "", time.monotonic() + seconds
        for checker in checkers:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                run = ProjectRun(ToolRun(Answer.TIMED_OUT, note=_NO_TIME))
            elif crash or self._cancel.fired:
                run = failed_checker_run(crash or _RUN_OVER)
            else:
                try:
                    run = self._run_one(workspace, checker, paths, min(LIMIT, seconds_left))
                except WorkspaceError as error:
                    crash = str(error)
                    run = failed_checker_run(crash)
            is_cut = run.run.answer is Answer.TIMED_OUT and seconds_left < LIMIT
            runs[checker.key] = run.with_note(CHECKER_SHARE) if is_cut else run
        return runs

    def _run_one(
        self, workspace: Workspace, checker: Checker, paths: Collection[str], limit: float
    ) -> ProjectRun:
        files, is_complete = checker.files_of(paths)
        query = {"files": list(files), "folder": checker.folder, "timeout": limit}
        query["checker"] = checker_arguments(checker)
        began = time.monotonic()
        outcome = workspace.call("problems_of", query, self._cancel)
        run = parse_checker_run(checker.name, outcome, round(time.monotonic() - began, 4))
        if self._cancel.fired:
            return failed_checker_run(_RUN_OVER)
        return run if is_complete else run.with_note(f"only the first {len(files)} files were looked at")

    def _reconfigured(self, checker: Checker, changed: Collection[str], tree_sha: str) -> str:
        """Return a changed file that configures `checker`, or an empty string."""
        read = self._history.read
        texts = ((path, (read(path, sha) or "" for sha in ("", tree_sha))) for path in sorted(changed))
        return next((printable_name(path) for path, both in texts if sets_up(checker, path, both)), "")


def inspection_of(run: Run) -> Inspection | None:
    """The checkers of `run`; `None` if it only reads, and if the policy or the request disables them."""
    wanted = run.policy.diagnostics
    disabled = wanted.off or wanted.checkers == () or run.request.options.get(NO_CHECKS) == "true"
    return None if run.profile.read_only or disabled else Inspection(run.checkout, run.stop, wanted.checkers)


def display_name(checker: Checker) -> str:
    return f"{checker.name} in {checker.project}" if checker.project else checker.name


_WIRE_FIELDS = ("program", "where", "version", "arguments", "form", "exits", "unit", "together")

_RUN_OVER = "the run was over before it"
_NO_TIME = "the time for checkers was spent before it"


def checker_arguments(checker: Checker) -> dict[str, object]:
    """Return the fields of a checker that the tool host receives."""
    fields = {name: value for name, value in checker._asdict().items() if name in _WIRE_FIELDS}
    names = {name: fields[name] or checker.name for name in ("program", "form")}
    return fields | names | {"arguments": checker.full_arguments}
