"""The commands of the verbs that work on a local checkout: `slash-agent fix`, and each other whose record has `local`.

The agent works on HEAD in a sandbox. A verb that changes code makes a new branch or a patch file; what is checked out,
and uncommitted files, stay as they are.
"""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path

from bot.cli.options import (
    add_flag,
    add_instruction,
    add_local_run,
    add_path,
    check_minutes,
    check_options,
    local_run_fields,
)
from bot.cli.result import Result, git_at, print_end
from bot.cli.terminal.open_viewer import add_view_options, open_viewer
from bot.contracts.errors import ExitCode
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Status, StopReason
from bot.contracts.progress import EndEvent
from bot.publish.bundle.write import PLAN
from bot.session.local.fix import FixOptions, FixResult, fix
from bot.session.progress.interruption import recovery_commands
from bot.session.run_folder import cleaning_up_after
from bot.verbs.record import Local, Verb
from bot.verbs.registry import DEFAULT

_UNFINISHED = (Status.PARTIAL, Status.FAILED)


class LocalVerb:
    """The command of one verb, made from its record."""

    def __init__(self, verb: Verb, local: Local) -> None:
        self.verb, self.local = verb, local
        self.__doc__ = local.description
        self.EXAMPLE = local.example

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_instruction(parser, self.local.instruction)
        add_local_run(parser)
        if self.verb.changes:
            _add_change_options(parser)
        add_flag(parser, "--json", help="print the outcome as JSON")
        add_view_options(parser)

    def run(self, arguments: argparse.Namespace) -> ExitCode:
        options = FixOptions(verb=self.verb.name, **local_run_fields(arguments))
        if self.verb.changes:
            options = replace(
                options,
                patch=arguments.patch,
                resume=arguments.resume,
                plan=arguments.plan,
                allow_deletions=arguments.allow_deletions,
                checks=check_options(arguments),
            )
        with cleaning_up_after(os.environ), open_viewer(arguments, self.verb.name) as viewer:
            result = fix(options, os.environ, viewer)
            data = self._as_json(result)
            viewer.tell(EndEvent(int(result.exit_code), data))
        print_end(arguments, data, _result(result, arguments, options))
        return result.exit_code

    def _as_json(self, result: FixResult) -> dict[str, object]:
        branch = {"branch": result.branch} if self.verb.changes else {}
        plans = result.plan is not None or Status.PLANNED in self.verb.publishes
        plan = {"plan": asdict(result.plan) if result.plan else None} if plans else {}
        outcome, bundle = asdict(result.outcome), str(result.bundle)
        return {"outcome": outcome, "bundle": bundle, **branch, "unseen": result.unseen, **plan}


def _add_change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--patch", type=Path, metavar="FILE", help="write a patch instead of making a branch")
    earlier = parser.add_mutually_exclusive_group()
    plan = "carry out this plan: the plan.json of a run of `plan`, or its folder"
    add_path(earlier, "--plan", "FILE", plan)
    add_path(earlier, "--continue", "RUN_DIR", "go on from an earlier run, by its folder", dest="resume")
    add_flag(
        parser, "--allow-deletions", help="let the change delete more than half of the repository's files"
    )
    checks = parser.add_mutually_exclusive_group()
    checks.add_argument("--check", metavar="NAME", help="run this check only, as in: --check 'unit tests'")
    add_flag(checks, "--no-checks", help="run no check and no checker")
    parser.add_argument(
        "--check-minutes",
        type=check_minutes,
        metavar="N",
        help="the time for all checks (default: the policy's, or 10)",
    )


def _result(result: FixResult, arguments: argparse.Namespace, options: FixOptions) -> Result:
    where, next = "", []
    if result.branch:
        git = git_at(arguments.repo)
        where = f"on {result.branch}"
        next = [("look", f"{git} diff HEAD...{result.branch}"), ("merge", f"{git} merge {result.branch}")]
    elif options.patch is not None and result.outcome.files:
        patch = shlex.quote(str(options.patch))
        where = f"in {options.patch}"
        next = [("look", f"cat {patch}"), ("apply", f"{git_at(arguments.repo)} apply {patch}")]
    if result.plan is not None:
        next.append(("carry out", f"{_fix(arguments)} --plan {shlex.quote(str(result.bundle / PLAN))}"))
    if result.outcome.status is Status.NEEDS_INPUT:
        next.append(("answer", f'{_continue(result, arguments)} "your answer"'))
    elif not result.kept_run and (
        result.outcome.status in _UNFINISHED or result.outcome.stop_reason is StopReason.CHECKS_FAILING
    ):
        next.append(("go on", _continue(result, arguments)))
    if result.kept_run:
        next += recovery_commands(result.kept_run, can_continue=True)
    next.append(("report", str(result.bundle / "report.html")))
    unseen = count_of(result.unseen, "uncommitted file")
    notes = [f"The agent worked on HEAD and did not see {unseen}."] if result.unseen else []
    if result.note:
        notes.append(result.note)
    if result.kept_run:
        notes.append(
            f"The run's work tree is kept, since no patch has what was withheld or refused: {result.kept_run.tree}"
        )
    return Result(result.outcome, where, next, notes=notes, plan=result.plan)


def _continue(result: FixResult, arguments: argparse.Namespace) -> str:
    return f"{_fix(arguments)} --continue {shlex.quote(str(result.bundle))}"


def _fix(arguments: argparse.Namespace) -> str:
    """The command that goes on from this run, with the options of this one that it needs."""
    words = ["slash-agent", DEFAULT]
    if os.path.realpath(arguments.repo) != os.path.realpath("."):
        words += ["--repo", str(arguments.repo)]
    if arguments.model:
        words += ["--model", arguments.model]
    if arguments.sandbox != "auto":
        words += ["--sandbox", arguments.sandbox]
    return shlex.join(words)
