"""Run a recorded run again with the model's recorded answers, and make its edits again. Exits with 0 if the patch is
the same byte for byte, else with 1 and the first difference.

With --versions nothing is run: the versions of each file are listed, with --path what each version changed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bot.cli.options import add_sandbox
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.github.actions import Actions
from bot.recovery.replay_run import ReplayOptions, replay
from bot.recovery.restore import list_versions

EXAMPLE = """slash-agent replay bundle/journal.jsonl --repo .
         slash-agent replay bundle/journal.jsonl --versions --path src/app.py"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", type=Path, metavar="JOURNAL", help="journal.jsonl of a bundle")
    parser.add_argument(
        "--repo",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the repository with the base commit (default: here)",
    )
    parser.add_argument("--patch", type=Path, metavar="FILE", help="write the replayed patch here")
    parser.add_argument(
        "--rerun", action="store_true", help="run commands again instead of their recorded results"
    )
    parser.add_argument("--versions", action="store_true", help="list the versions of every file instead")
    parser.add_argument("--path", default="", metavar="P", help="with --versions: this file, with its diffs")
    add_sandbox(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    say = Actions(os.environ, sys.stdout).print
    if arguments.versions:
        for line in list_versions(arguments.journal, arguments.repo, arguments.path):
            say(line)
        return ExitCode.DONE
    options = ReplayOptions(arguments.journal, arguments.repo, arguments.sandbox, arguments.rerun)
    result = replay(options, os.environ)
    if arguments.patch is not None:
        try:
            arguments.patch.write_bytes(result.patch)
        except OSError as error:
            raise UsageError(
                f"The patch cannot be written to {arguments.patch}: {error.strerror}."
            ) from error
    printer = Printer(sys.stdout, os.environ)
    if result.difference:
        printer.headline("bad", "The replay differs from the recorded run")
        printer.field("first", result.difference)
        return ExitCode.INTERNAL
    printer.headline("good", f"The same patch, byte for byte: {count_of(len(result.patch), 'byte')}")
    printer.field("sha256", result.recorded_sha256)
    return ExitCode.DONE
