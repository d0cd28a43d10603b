"""Do a job on a local checkout: the agent works on HEAD in a sandbox, the gate looks at the diff, and the result
is a new local branch with one commit. What is checked out, and files you have not committed, stay as they are."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bot.commands.options import add_local_run
from bot.commands.progress import say_outcome
from bot.commands.viewing import add_viewing, looking_on
from bot.contracts.errors import ExitCode
from bot.contracts.progress import Ended
from bot.contracts.wording import count_of
from bot.github.actions import Actions, json_text
from bot.run.cleanup import clean_up_later
from bot.run.local import Fix, Fixed, fix

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
        help="go on from the run that left this folder",
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
            say_outcome(fixed.outcome, Actions(os.environ, sys.stdout).print)
            _say_where(fixed, arguments.patch)
    clean_up_later(os.environ)
    return fixed.exit_code


def _as_json(fixed: Fixed) -> dict[str, object]:
    return {
        "outcome": asdict(fixed.outcome),
        "bundle": str(fixed.bundle),
        "branch": fixed.branch,
        "unseen": fixed.unseen,
    }


def _say_where(fixed: Fixed, patch: Path | None) -> None:
    if fixed.branch:
        print(f"branch   {fixed.branch}   (git diff HEAD...{fixed.branch})")
    elif patch is not None and fixed.outcome.files:
        print(f"patch    {patch}")
    print(f"report   {fixed.bundle / 'report.html'}")
    if fixed.unseen:
        print(
            f"note     the agent worked on HEAD and did not see {count_of(fixed.unseen, 'uncommitted file')}"
        )
