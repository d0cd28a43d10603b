"""Review the changes of the current branch: findings with suggestions that apply, as text, JSON or SARIF. The checkout
stays as it is; with --post the review goes to the branch's pull request."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, replace
from pathlib import Path

from bot import __version__
from bot.checkout.local import repository_root
from bot.cli.options import add_flag, add_instruction, add_local_run, local_run_fields
from bot.cli.result import Result, print_end
from bot.cli.terminal.open_viewer import add_view_options, open_viewer
from bot.cli.terminal.viewer import Viewer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.journal import Note
from bot.contracts.progress import EndEvent
from bot.contracts.review import Review, Severity
from bot.github.actions import json_text
from bot.review.sarif import to_sarif
from bot.session.context.preflight import check_file
from bot.session.local.review import NothingToReviewError, ReviewOptions, ReviewResult, review
from bot.session.run_folder import cleaning_up_after

_NAMES_SHOWN = 10

EXAMPLE = "slash-agent review --repo . --base main --sarif review.sarif"


def configure(parser: argparse.ArgumentParser) -> None:
    add_instruction(parser, "what to review (default: everything)")
    add_local_run(parser)
    parser.add_argument(
        "--base",
        default="",
        metavar="REF",
        help="the branch to compare with (default: the remote's default branch)",
    )
    parser.add_argument("--since", default="", metavar="REF", help="review only changes since this commit")
    add_flag(parser, "--json", help="print outcome and review as JSON")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="also write the findings as SARIF 2.1.0")
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        metavar="SEVERITY",
        help=f"exit with code {ExitCode.FINDINGS:d} for a finding of this severity or higher",
    )
    add_flag(parser, "--post", help="post the review on the branch's pull request (needs GITHUB_TOKEN)")
    add_view_options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    check_file(arguments.sarif, "--sarif")
    target = None
    if arguments.post:
        from bot.session.event.publish_bundle import find_target  # with PyGithub

        target = find_target(repository_root(arguments.repo.resolve()), os.environ)
    options = ReviewOptions(
        **local_run_fields(arguments), base=arguments.base, since=arguments.since, target=target
    )
    with cleaning_up_after(os.environ), open_viewer(arguments, "review") as viewer:
        try:
            result = review(options, os.environ, viewer)
        except NothingToReviewError as nothing:
            return _end_without_change(arguments, nothing, viewer)
        if target is not None and result.review is not None:
            from bot.session.event.publish_bundle import post_review

            published = post_review(result.bundle, target, os.environ, lambda text: viewer.tell(Note(text)))
            result = replace(result, notes=published.notes)
        if arguments.sarif and result.review is not None:
            _write_sarif(arguments.sarif, result.review)
        code = _exit_code(result, arguments.fail_on)
        viewer.tell(EndEvent(int(code), _as_json(result)))
    print_end(arguments, _as_json(result), _result(result))
    return code


def _exit_code(result: ReviewResult, fail_on: str | None) -> ExitCode:
    if fail_on is None or result.exit_code is not ExitCode.DONE or result.review is None:
        return result.exit_code
    severities = list(Severity)
    limit = severities.index(Severity(fail_on))
    is_grave = any(severities.index(finding.severity) <= limit for finding in result.review.findings)
    return ExitCode.FINDINGS if is_grave else ExitCode.DONE


def _end_without_change(
    arguments: argparse.Namespace, nothing: NothingToReviewError, viewer: Viewer
) -> ExitCode:
    data = {"outcome": None, "review": asdict(nothing.review), "bundle": "", "unseen": 0}
    if arguments.sarif:
        _write_sarif(arguments.sarif, nothing.review)
    viewer.tell(EndEvent(int(ExitCode.DONE), data))
    if arguments.json:
        print(json_text(data, indent=1))
    elif not arguments.json_events:
        print(nothing)
    return ExitCode.DONE


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
    notes += result.notes
    if result.review and result.review.unseen:
        names = ", ".join(result.review.unseen[:_NAMES_SHOWN])
        more = len(result.review.unseen) - _NAMES_SHOWN
        notes.append(f"not looked at: {names}{f' and {more} more' if more > 0 else ''}")
    next = [("report", str(result.bundle / "report.html"))]
    return Result(result.outcome, next=next, review=result.review, notes=notes)
