"""Publish a bundle on GitHub: a branch `agent/...` and a draft pull request, or a comment with the reason why not. The
bundle is untrusted: the gate checks it again. Publishing it a second time changes nothing."""

import argparse
import os
import sys

from bot.cli.options import add_bundle, add_dry_run, add_text
from bot.cli.terminal.printer import Mark, Printer
from bot.contracts.errors import UsageError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Outcome, Status
from bot.gate.secrets import withhold_if_secret
from bot.github.actions import Actions
from bot.publish.result import PublishResult
from bot.report.summary import publish_summary, run_summary
from bot.session.event.publish_bundle import PublishJob, publish_bundle, publish_note

# What these come to is said in the thread, and no pull request was meant to come of them.
_ANSWERED = frozenset({Status.REVIEWED, Status.PLANNED, Status.ANSWERED, Status.NEEDS_INPUT})

EXAMPLE = "slash-agent publish --bundle bundle --dry-run"


def configure(parser: argparse.ArgumentParser) -> None:
    add_bundle(parser, "--bundle", "the folder that `run` or `salvage` wrote")
    note = "in place of a bundle, why nothing came of a pull request's event; becomes a neutral check"
    add_text(parser, "--note", "SLASH_AGENT_NOTE", "TEXT", note)
    add_dry_run(parser, "print every write to GitHub instead of sending it")


def run(arguments: argparse.Namespace) -> None:
    actions = Actions(os.environ, sys.stdout)
    job = PublishJob(os.environ, actions.print, arguments.dry_run, actions.add_mask)
    if arguments.note:
        publish_note(job, arguments.note)
        actions.print("The pull request has the reason, as a neutral check.")
        return
    if not arguments.bundle:
        raise UsageError("There is no bundle: give --bundle DIR.")
    outcome, published = publish_bundle(job, arguments.bundle)
    actions.withhold = withhold_if_secret
    threads = [f"written: {what}" for what in published.written]
    threads += [f"not written: {what}" for what in published.withheld]
    if threads:  # the count first, since a summary shows a few lines only
        left = f", {len(published.withheld)} left out" if published.withheld else ""
        threads.insert(0, f"{count_of(published.written, 'write')} on threads made{left}")
    notes = (*published.notes, *threads)
    printer = Printer(actions=actions)
    printer.headline(*_headline(published, outcome, dry_run=arguments.dry_run))
    for line in published.notes:
        printer.field("note", line, "yellow")
    for line in threads:
        printer.field("threads", line)
    # The run was a step of this very job: its summary stands above ours.
    is_reported = os.environ.get("SLASH_AGENT_MODE") == "both"
    url = published.pr_url
    if summary := publish_summary(url, notes) if is_reported else run_summary(outcome, url, notes):
        actions.add_summary(summary)
    actions.set_output("status", outcome.status.value)
    actions.set_output("pr-url", url)
    actions.set_output("pr-number", str(published.pr_number or ""))
    actions.set_output("branch", published.branch)


def _headline(published: PublishResult, outcome: Outcome, *, dry_run: bool) -> tuple[Mark, str]:
    if published.pr_number:
        what = f"has this change and is {published.ended}" if published.ended else "is up to date"
        what = "opened" if published.created else what
        what = "has the change as suggestions" if published.suggested else what
        return "good", f"Pull request #{published.pr_number} {what}: {published.pr_url}"
    if dry_run:
        return "good", "Dry run, nothing was published: the writes are listed above"
    word = outcome.status.value.replace("_", " ").capitalize()
    if outcome.status in _ANSWERED:
        has_thread = outcome.request.thread is not None or outcome.request.pull is not None
        where = "the thread on GitHub has it" if has_thread else "see above, it came from no thread"
        return "good", f"{word}: {where}"
    if outcome.status in (Status.FAILED, Status.REFUSED):
        return "bad", f"{word}, so there was nothing to publish: {outcome.reason}"
    return "doubt", f"No pull request: {outcome.reason}"
