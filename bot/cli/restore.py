"""Restore one file to one of the versions that a run made of it. `replay JOURNAL --versions` lists them: 0 is the file
before the run's first change. Only the work tree is changed; nothing is committed."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.contracts.errors import ExitCode
from bot.recovery.restore import RestoreOptions, restore

EXAMPLE = "slash-agent restore bundle/journal.jsonl --path src/app.py --version 2 --repo ."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", type=Path, metavar="JOURNAL", help="journal.jsonl of a bundle")
    parser.add_argument(
        "--path", required=True, metavar="P", help="the file, relative to the repository's top"
    )
    parser.add_argument("--version", required=True, type=int, metavar="N", help="which version, from 0")
    parser.add_argument(
        "--repo",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the repository with the base commit (default: here)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite changes that are saved nowhere else")


def run(arguments: argparse.Namespace) -> ExitCode:
    print(
        restore(
            RestoreOptions(
                arguments.journal, arguments.repo, arguments.path, arguments.version, arguments.force
            )
        )
    )
    return ExitCode.DONE
