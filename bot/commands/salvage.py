"""Make a bundle of a run that died, from its work tree and journal, through the gate. The Action always does."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bot.commands.options import add_bundle
from bot.commands.progress import say_outcome
from bot.contracts.errors import ExitCode, UsageError
from bot.github.actions import Actions
from bot.publish.bundle.files import JOURNAL, OUTCOME
from bot.report.summary import charts_of, run_summary
from bot.run.salvage import newest_run, salvage

EXAMPLE = "slash-agent salvage ~/.local/state/slash-agent/runs/20261121-101500-ab12cd"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", metavar="RUN_DIR", help="the run's own folder")
    parser.add_argument("--newest", action="store_true", help="take the last run of this machine")
    parser.add_argument(
        "--if-any",
        action="store_true",
        help="do nothing where there is no run, or where its bundle is there already",
    )
    add_bundle(parser, "--out")


def run(arguments: argparse.Namespace) -> ExitCode:
    if (arguments.folder is None) != arguments.newest:
        raise UsageError("Say which run: give its folder, or --newest.")
    actions = Actions(os.environ, sys.stdout)
    out = Path(arguments.out) if arguments.out else None
    if arguments.if_any and out and (out / OUTCOME).is_file():
        actions.print(f"bundle   {out} (the run made it itself)")
        actions.set_output("bundle", str(out))
        return ExitCode.DONE
    try:
        root = newest_run(os.environ) if arguments.newest else arguments.folder
    except UsageError as error:
        if not arguments.if_any:
            raise
        actions.print(str(error))
        return ExitCode.DONE
    salvaged = salvage(root, os.environ, out)
    say_outcome(salvaged.outcome, actions.print)
    actions.print(f"bundle   {salvaged.bundle}")
    actions.set_output("bundle", str(salvaged.bundle))
    if actions.has_summary:
        actions.add_summary(run_summary(salvaged.outcome, charts=charts_of(salvaged.bundle / JOURNAL)))
    actions.set_output("status", salvaged.outcome.status.value)
    return ExitCode.DONE
