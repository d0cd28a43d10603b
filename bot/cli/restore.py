"""Restore one file to one of the versions that a run made of it. Version 0 is the file before the run's first change.
Without --version, the versions are only listed; `slash-agent report` shows their changes."""

import argparse
import os
import sys

from bot.cli.options import add_flag, add_journal, add_repo, add_value
from bot.contracts.errors import UsageError
from bot.github.actions import Actions
from bot.run.restore import list_versions, restore

EXAMPLE = """slash-agent restore bundle/journal.jsonl --path src/app.py
         slash-agent restore bundle/journal.jsonl --path src/app.py --version 2"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_journal(parser)
    add_value(parser, "--path", "P", "the file, relative to the repository's root", default="")
    add_value(parser, "--version", "N", "the number of the version, from 0", type=int)
    add_repo(parser, "the repository with the base commit")
    add_flag(parser, "--force", help="overwrite uncommitted changes")


def run(arguments: argparse.Namespace) -> None:
    if arguments.version is None:
        say = Actions(os.environ, sys.stdout).print
        for line in list_versions(arguments.journal, arguments.path):
            say(line)
        return
    if not arguments.path:
        raise UsageError("--version needs --path: name the file to restore.")
    path, number = arguments.path, arguments.version
    print(restore(arguments.journal, arguments.repo, path, number, force=arguments.force))
