"""Review what the current branch changes: findings with suggestions that apply, as text, JSON or SARIF. The checkout
stays as it is, and nothing is posted."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bot import __version__
from bot.commands.options import add_local_run
from bot.commands.result import Result, print_result
from bot.commands.viewing import add_viewing, looking_on
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.progress import Ended
from bot.contracts.review import Review
from bot.contracts.wording import count_of
from bot.github.actions import json_text
from bot.run.cleanup import clean_up_later
from bot.run.local_review import LocallyReviewed, LocalReview, review
from bot.run.preflight import check_file
from bot.terminal.printer import Printer

EXAMPLE = "slash-agent review --repo . --base main --sarif review.sarif"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instruction", nargs="?", default="", help="what to look at (default: everything)")
    add_local_run(parser)
    parser.add_argument(
        "--base",
        default="",
        metavar="REF",
        help="the branch to compare with (default: the remote's default branch)",
    )
    parser.add_argument(
        "--since", default="", metavar="REF", help="review only what is new since this commit"
    )
    parser.add_argument("--json", action="store_true", help="print outcome and review as JSON")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF 2.1.0 too")
    add_viewing(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    check_file(arguments.sarif, "--sarif")
    asked = LocalReview(
        repo=arguments.repo,
        instruction=arguments.instruction,
        base=arguments.base,
        since=arguments.since,
        model=arguments.model,
        budget_usd=arguments.budget,
        sandbox=arguments.sandbox,
        out=arguments.out,
    )
    with looking_on(arguments, "review") as looking:
        done = review(asked, os.environ, looking)
        if arguments.sarif and done.review is not None:
            _write_sarif(arguments.sarif, done.review)
        looking.tell(Ended(int(done.exit_code), _as_json(done)))
    with suppress(BrokenPipeError):  # nobody reads it to its end: the run ended as it did
        if arguments.json_events:
            pass
        elif arguments.json:
            print(json_text(_as_json(done), indent=1))
        else:
            print_result(_result(done), Printer(sys.stdout, os.environ))
    clean_up_later(os.environ)
    return done.exit_code


def _write_sarif(file: Path, found: Review) -> None:
    from bot.findings.sarif import to_sarif

    try:
        file.write_text(to_sarif(found, __version__), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The SARIF file cannot be written to {file}: {error.strerror}.") from error


def _as_json(done: LocallyReviewed) -> dict[str, object]:
    return {
        "outcome": asdict(done.outcome),
        "review": asdict(done.review) if done.review else None,
        "bundle": str(done.bundle),
        "unseen": done.unseen,
    }


def _result(done: LocallyReviewed) -> Result:
    unseen = count_of(done.unseen, "uncommitted file")
    notes = [f"The review is of HEAD; {unseen} not looked at."] if done.unseen else []
    next = [("report", str(done.bundle / "report.html"))]
    return Result(done.outcome, next=next, review=done.review, notes=notes)
