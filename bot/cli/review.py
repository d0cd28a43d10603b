"""Review what the current branch changes: findings with suggestions that apply, as text, JSON or SARIF. The checkout
stays as it is, and nothing is posted."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from bot import __version__
from bot.cli.options import add_instruction, add_local_run, instruction_of
from bot.cli.result import Result, print_end
from bot.cli.terminal.open_viewer import add_view_options, open_viewer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.progress import EndEvent
from bot.contracts.review import Review
from bot.review.sarif import to_sarif
from bot.session.context.preflight import check_file
from bot.session.local.review import ReviewOptions, ReviewResult, review
from bot.session.run_folder import cleaning_up_after

EXAMPLE = "slash-agent review --repo . --base main --sarif review.sarif"


def configure(parser: argparse.ArgumentParser) -> None:
    add_instruction(parser, "what to look at (default: everything)")
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
    add_view_options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    check_file(arguments.sarif, "--sarif")
    options = ReviewOptions(
        repo=arguments.repo,
        instruction=instruction_of(arguments),
        base=arguments.base,
        since=arguments.since,
        model=arguments.model,
        budget_usd=arguments.budget,
        sandbox=arguments.sandbox,
        out=arguments.out,
    )
    with cleaning_up_after(os.environ), open_viewer(arguments, "review") as viewer:
        result = review(options, os.environ, viewer)
        if arguments.sarif and result.review is not None:
            _write_sarif(arguments.sarif, result.review)
        viewer.tell(EndEvent(int(result.exit_code), _as_json(result)))
    print_end(arguments, _as_json(result), _result(result))
    return result.exit_code


def _write_sarif(file: Path, review_range: Review) -> None:
    try:
        file.write_text(to_sarif(review_range, __version__), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The SARIF file cannot be written to {file}: {error.strerror}.") from error


def _as_json(result: ReviewResult) -> dict[str, object]:
    return {
        "outcome": asdict(result.outcome),
        "review": asdict(result.review) if result.review else None,
        "bundle": str(result.bundle),
        "unseen": result.unseen,
    }


def _result(result: ReviewResult) -> Result:
    unseen = count_of(result.unseen, "uncommitted file")
    notes = [f"The review is of HEAD; {unseen} not looked at."] if result.unseen else []
    next = [("report", str(result.bundle / "report.html"))]
    return Result(result.outcome, next=next, review=result.review, notes=notes)
