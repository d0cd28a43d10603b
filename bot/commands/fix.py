"""Do a task in a local checkout, or answer a question about it. The agent works on HEAD in a sandbox, the gate checks
the diff, and the result is a new branch with one commit. What is checked out, and files you have not committed,
stay as they are."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bot.commands.options import add_local_run
from bot.commands.result import Result, git_at, print_result
from bot.commands.viewing import add_viewing, looking_on
from bot.contracts.errors import ExitCode
from bot.contracts.outcome import Status, StopReason
from bot.contracts.progress import Ended
from bot.contracts.wording import count_of
from bot.github.actions import json_text
from bot.run.cleanup import clean_up_later
from bot.run.cut_off import take_up
from bot.run.local import Fix, Fixed, fix
from bot.terminal.printer import Printer

_UNFINISHED = (Status.PARTIAL, Status.FAILED)

EXAMPLE = 'slash-agent fix --repo . --model anthropic/claude-sonnet-4-5 "make parse_duration accept days"'


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instruction", nargs="?", default="", help="what to do, in your own words")
    add_local_run(parser)
    parser.add_argument("--patch", type=Path, metavar="FILE", help="write a patch instead of making a branch")
    parser.add_argument(
        "--continue",
        dest="resume",
        type=Path,
        metavar="RUN_DIR",
        help="go on from an earlier run, by its folder",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_viewing(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    asked = Fix(
        repo=arguments.repo,
        instruction=arguments.instruction,
        model=arguments.model,
        budget_usd=arguments.budget,
        sandbox=arguments.sandbox,
        patch=arguments.patch,
        out=arguments.out,
        resume=arguments.resume,
    )
    with looking_on(arguments, "fix") as looking:
        fixed = fix(asked, os.environ, looking)
        looking.tell(Ended(int(fixed.exit_code), _as_json(fixed)))
    with suppress(BrokenPipeError):  # nobody reads it to its end: the run ended as it did
        if arguments.json_events:
            pass
        elif arguments.json:
            print(json_text(_as_json(fixed), indent=1))
        else:
            print_result(_result(fixed, arguments), Printer(sys.stdout, os.environ))
    clean_up_later(os.environ)
    return fixed.exit_code


def _as_json(fixed: Fixed) -> dict[str, object]:
    return {
        "outcome": asdict(fixed.outcome),
        "bundle": str(fixed.bundle),
        "branch": fixed.branch,
        "unseen": fixed.unseen,
    }


def _result(fixed: Fixed, arguments: argparse.Namespace) -> Result:
    where, next = "", []
    if fixed.branch:
        git = git_at(arguments.repo)
        where = f"on {fixed.branch}"
        next = [("look", f"{git} diff HEAD...{fixed.branch}"), ("merge", f"{git} merge {fixed.branch}")]
    elif arguments.patch is not None and fixed.outcome.files:
        patch = shlex.quote(str(arguments.patch))
        where = f"in {arguments.patch}"
        next = [("look", f"cat {patch}"), ("apply", f"{git_at(arguments.repo)} apply {patch}")]
    if fixed.outcome.status is Status.NEEDS_INPUT:
        next.append(("answer", f'{_continue(fixed)} "your answer"'))
    elif not fixed.kept_run and (
        fixed.outcome.status in _UNFINISHED or fixed.outcome.stop_reason is StopReason.CHECKS_FAILING
    ):
        next.append(("go on", _continue(fixed)))
    if fixed.kept_run:
        next += take_up(fixed.kept_run, goes_on=True)
    next.append(("report", str(fixed.bundle / "report.html")))
    unseen = count_of(fixed.unseen, "uncommitted file")
    notes = [f"The agent worked on HEAD and did not see {unseen}."] if fixed.unseen else []
    if fixed.kept_run:
        notes.append(
            f"The run's work tree is kept, since no patch has what was withheld or refused: {fixed.kept_run.tree}"
        )
    return Result(fixed.outcome, where, next, notes=notes)


def _continue(fixed: Fixed) -> str:
    return f"slash-agent fix --continue {shlex.quote(str(fixed.bundle))}"
