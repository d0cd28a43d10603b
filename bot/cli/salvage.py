"""Recover the result of a run that was killed: write a bundle from its work tree and journal, checked by the gate."""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from bot.cli.options import add_bundle, add_flag, add_path
from bot.cli.print_result import print_result
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import UsageError
from bot.contracts.outcome import StopReason
from bot.contracts.regular_files import read_regular
from bot.github.actions import Actions
from bot.publish.bundle import OUTCOME, OUTCOME_LIMIT, PATCH, REPORT
from bot.report.summary import run_summary
from bot.run.salvage import newest_run, salvage
from bot.session.run_folder import RunFolder

EXAMPLE = "slash-agent salvage ~/.local/state/slash-agent/runs/20261121-101500-ab12cd"


def configure(parser: argparse.ArgumentParser) -> None:
    add_path(parser, "folder", "RUN_DIR", "the folder of the run", nargs="?")
    add_flag(parser, "--newest", help="use the newest run on this machine")
    add_flag(parser, "--if-any", help="do nothing if there is no run, or if its bundle exists")
    add_bundle(parser, "--out")


def run(arguments: argparse.Namespace) -> None:
    if (arguments.folder is None) != arguments.newest:
        raise UsageError("Say which run: give its folder, or --newest.")
    actions = Actions(os.environ, sys.stdout)
    printer, out = Printer(actions=actions), arguments.out
    try:
        root = newest_run(os.environ) if arguments.newest else arguments.folder
    except UsageError as error:
        if not arguments.if_any:
            raise
        root, nothing = None, str(error)
    if arguments.if_any and out and (out / OUTCOME).is_file() and not (root and _lacks_change(out, root)):
        actions.set_output("bundle", str(out))
        root, nothing = None, f"Nothing to salvage: the run wrote its bundle, {out}"
    if root is None:
        printer.headline("good", nothing)
        return
    salvaged = salvage(root, os.environ, out)
    bundle, next = shlex.quote(str(salvaged.folder)), []
    if salvaged.outcome.files:
        next.append(("apply", f"git apply {bundle}/{PATCH}"))
    next.append(("go on", f"slash-agent fix --continue {bundle}"))
    next += [("report", str(salvaged.folder / REPORT)), ("bundle", str(salvaged.folder))]
    print_result(salvaged.outcome, printer, "so far", next)
    actions.set_output("bundle", str(salvaged.folder))
    if actions.has_summary:
        actions.add_summary(run_summary(salvaged.outcome))
    actions.set_output("status", salvaged.outcome.status.value)


def _lacks_change(bundle: Path, root: Path) -> bool:
    """Whether the run broke off before the gate could make a patch of its work tree, as on a full disk."""
    try:
        outcome = json.loads(read_regular(bundle / OUTCOME, OUTCOME_LIMIT))
        broke_off = outcome["stop_reason"] == StopReason.ERROR and not outcome["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return broke_off and RunFolder(root).has_tree
