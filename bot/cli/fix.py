"""Do a task in a local checkout, or answer a question about it. The agent works on HEAD in a sandbox, the gate checks
the diff, and the result is a new branch with one commit. What is checked out, and files you have not committed,
stay as they are."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import asdict
from pathlib import Path

from bot.cli.options import add_instruction, add_local_run, check_minutes, check_options, instruction_of
from bot.cli.result import Result, git_at, print_end
from bot.cli.terminal.open_viewer import add_view_options, open_viewer
from bot.contracts.errors import ExitCode
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Status, StopReason
from bot.contracts.progress import EndEvent
from bot.session.local.fix import FixOptions, FixResult, fix
from bot.session.progress.interruption import recovery_commands
from bot.session.run_folder import cleaning_up_after

_UNFINISHED = (Status.PARTIAL, Status.FAILED)

EXAMPLE = 'slash-agent fix --repo . --model anthropic/claude-sonnet-5-5 "make parse_duration accept days"'


def configure(parser: argparse.ArgumentParser) -> None:
    add_instruction(parser, "what to do, in your own words")
    add_local_run(parser)
    parser.add_argument("--patch", type=Path, metavar="FILE", help="write a patch instead of making a branch")
    parser.add_argument(
        "--continue",
        dest="resume",
        type=Path,
        metavar="RUN_DIR",
        help="go on from an earlier run, by its folder",
    )
    parser.add_argument(
        "--allow-deletions",
        action="store_true",
        help="let the change delete more than half of the repository's files",
    )
    checks = parser.add_mutually_exclusive_group()
    checks.add_argument("--check", metavar="NAME", help="run this check only, as in: --check 'unit tests'")
    checks.add_argument("--no-checks", action="store_true", help="run no check and no checker")
    parser.add_argument(
        "--check-minutes",
        type=check_minutes,
        metavar="N",
        help="the time for all checks (default: the policy's, or 10)",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_view_options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    options = FixOptions(
        repo=arguments.repo,
        instruction=instruction_of(arguments),
        model=arguments.model,
        budget_usd=arguments.budget,
        sandbox=arguments.sandbox,
        patch=arguments.patch,
        out=arguments.out,
        resume=arguments.resume,
        allow_deletions=arguments.allow_deletions,
        checks=check_options(arguments),
    )
    with cleaning_up_after(os.environ), open_viewer(arguments, "fix") as viewer:
        result = fix(options, os.environ, viewer)
        viewer.tell(EndEvent(int(result.exit_code), _as_json(result)))
    print_end(arguments, _as_json(result), _result(result, arguments))
    return result.exit_code


def _as_json(result: FixResult) -> dict[str, object]:
    return {
        "outcome": asdict(result.outcome),
        "bundle": str(result.bundle),
        "branch": result.branch,
        "unseen": result.unseen,
    }


def _result(result: FixResult, arguments: argparse.Namespace) -> Result:
    where, next = "", []
    if result.branch:
        git = git_at(arguments.repo)
        where = f"on {result.branch}"
        next = [("look", f"{git} diff HEAD...{result.branch}"), ("merge", f"{git} merge {result.branch}")]
    elif arguments.patch is not None and result.outcome.files:
        patch = shlex.quote(str(arguments.patch))
        where = f"in {arguments.patch}"
        next = [("look", f"cat {patch}"), ("apply", f"{git_at(arguments.repo)} apply {patch}")]
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
    return Result(result.outcome, where, next, notes=notes)


def _continue(result: FixResult, arguments: argparse.Namespace) -> str:
    """The command that continues the run from here, with the options of this one that it needs."""
    words = ["slash-agent", "fix"]
    if os.path.realpath(arguments.repo) != os.path.realpath("."):
        words += ["--repo", str(arguments.repo)]
    if arguments.model:
        words += ["--model", arguments.model]
    if arguments.sandbox != "auto":
        words += ["--sandbox", arguments.sandbox]
    return shlex.join([*words, "--continue", str(result.bundle)])
