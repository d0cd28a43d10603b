"""What only `slash-agent review` has: its options, posting, SARIF, and the exit code for findings."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bot import __version__
from bot.checkout.local import repository_root
from bot.cli.options import add_flag, add_path, add_value
from bot.cli.terminal.viewer import Viewer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.formatting import first_of
from bot.contracts.journal import Note
from bot.contracts.pulls import Review, Severity
from bot.review.sarif import to_sarif
from bot.session.context.preflight import check_file
from bot.session.local.fix import FixOptions, FixResult

if TYPE_CHECKING:
    from bot.session.event.from_checkout import CheckoutOnGitHub

_NAMES_SHOWN = 10


def add_review_options(parser: argparse.ArgumentParser) -> None:
    base = "the branch to compare with (default: the remote's default branch)"
    add_value(parser, "--base", "REF", base, default="")
    add_value(parser, "--since", "REF", "review only changes since this commit", default="")
    add_path(parser, "--sarif", "FILE", "also write the findings as SARIF 2.1.0")
    fails = f"exit with code {ExitCode.FINDINGS:d} for a finding of this severity or higher"
    add_value(parser, "--fail-on", "SEVERITY", fails, choices=[severity.value for severity in Severity])
    add_flag(parser, "--post", help="post the review on the branch's pull request, with your own token")


def with_review_options(
    options: FixOptions, arguments: argparse.Namespace
) -> tuple[CheckoutOnGitHub | None, FixOptions]:
    check_file(arguments.sarif, "--sarif")
    if not arguments.post:
        return None, options
    from bot.session.event.from_checkout import checkout_on_github, find_target  # with PyGithub

    at = checkout_on_github(repository_root(arguments.repo.resolve()), None, os.environ)
    return at, options._replace(target=find_target(at))


def finish_review(
    arguments: argparse.Namespace, at: CheckoutOnGitHub | None, result: FixResult, viewer: Viewer
) -> FixResult:
    """Post the review and write the SARIF file, as the options say."""
    review = result.bundle.review
    if review is None:
        return result
    if at is not None:
        from bot.session.event.from_checkout import post_review

        published = post_review(result.bundle.folder, at, lambda text: viewer.tell(Note(text)))
        result = result._replace(notes=(*result.notes, *published.notes))
    write_sarif(arguments.sarif, review)
    if review.unseen:
        note = f"not looked at: {first_of(review.unseen, _NAMES_SHOWN)}"
        result = result._replace(notes=(*result.notes, note))
    severities = list(Severity)
    grave = severities[: severities.index(arguments.fail_on) + 1] if arguments.fail_on else []
    is_grave = any(finding.severity in grave for finding in review.findings)
    if is_grave and result.exit_code is ExitCode.DONE:
        result = result._replace(exit_code=ExitCode.FINDINGS)
    return result


def write_sarif(file: Path | None, review: Review) -> None:
    try:
        if file is not None:
            file.write_text(to_sarif(review, __version__), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The SARIF file cannot be written to {file}: {error.strerror}.") from error
