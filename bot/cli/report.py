"""Write the HTML report of a run from its journal: one file that needs no network."""

import argparse
import sys
from pathlib import Path

from bot.cli.options import add_journal
from bot.contracts.errors import UsageError
from bot.report.page import render_page

EXAMPLE = "slash-agent report bundle/journal.jsonl -o report.html"


def configure(parser: argparse.ArgumentParser) -> None:
    add_journal(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: standard output")


def run(arguments: argparse.Namespace) -> None:
    page = render_page(arguments.journal)
    if arguments.out is None:
        sys.stdout.write(page)
        return
    try:
        arguments.out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The page cannot be written to {arguments.out}: {error.strerror}.") from error
    print(arguments.out)
