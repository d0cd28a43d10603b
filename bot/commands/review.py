"""Review what HEAD of a local checkout changes since it left a branch: findings with suggestions that apply, as text,
JSON or SARIF. Nothing of the checkout is touched, and nothing is posted."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from bot import __version__
from bot.commands.options import add_local_run
from bot.commands.progress import say_outcome
from bot.commands.viewing import add_viewing, looking_on
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.progress import Ended
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Review
from bot.contracts.wording import count_of
from bot.github.actions import Actions, json_text
from bot.run.cleanup import clean_up_later
from bot.run.local_review import LocallyReviewed, LocalReview, review
from bot.run.preflight import check_file

EXAMPLE = "slash-agent review --repo . --base main --sarif review.sarif"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("instruction", nargs="?", default="", help="what to look at (default: everything)")
    add_local_run(parser)
    parser.add_argument(
        "--base", default="", metavar="REF", help="what HEAD left (default: the remote's default branch)"
    )
    parser.add_argument(
        "--since", default="", metavar="REF", help="look only at what is new since this commit"
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
            _say(done, Actions(os.environ, sys.stdout).print)
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


def _say(done: LocallyReviewed, say: Callable[[str], None]) -> None:
    say_outcome(done.outcome, say)
    if done.review is not None:
        if done.review.summary:
            say(f"summary  {' '.join(done.review.summary.split())}")
        for finding in done.review.findings:
            _say_finding(finding, say)
        if not done.review.findings:
            say("nothing to say")
        for left_out in done.review.left_out:
            say(f"left out {left_out}")
    say(f"report   {done.bundle / 'report.html'}")
    if done.unseen:
        say(f"note     {count_of(done.unseen, 'uncommitted file')} not looked at: the review is of HEAD")


def _say_finding(finding: Finding, say: Callable[[str], None]) -> None:
    first = finding.start_line or finding.line
    lines = f":{first}" if finding.line else ""
    lines += f"-{finding.line}" if finding.line and first != finding.line else ""
    old = " (old file)" if finding.side is Side.LEFT else ""
    say("")
    say(f"{finding.severity}: {finding.title}")
    say(f"  {finding.path}{lines}{old}")
    for line in finding.body.splitlines():
        say(f"  {line}")
    if finding.suggestion is not None:
        for line in finding.text.split("\n"):
            say(f"  - {line}")
        for line in finding.suggestion.split("\n") if finding.suggestion else ():
            say(f"  + {line}")
