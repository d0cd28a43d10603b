"""The commands of the verbs that work on a local checkout: `slash-agent fix`, and each other whose record has `local`.

The agent works on HEAD in a sandbox. A verb that changes code makes a new branch or a patch file; what is checked out,
and uncommitted files, stay as they are.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.checkout.github_remotes import parse_thread_name
from bot.checkout.local import repository_root
from bot.cli.next_commands import next_commands, patch_file
from bot.cli.options import (
    OUT,
    add_flag,
    add_instruction,
    add_path,
    add_repo,
    add_sandbox,
    add_value,
    confirm,
    instruction_of,
    option_value,
    usd,
)
from bot.cli.print_result import print_result
from bot.cli.review import add_review_options, finish_review, with_review_options, write_sarif
from bot.cli.terminal.choose_viewer import add_view_options, open_viewer
from bot.cli.terminal.printer import Printer
from bot.cli.terminal.viewer import Viewer
from bot.contracts.errors import ExitCode, PublishError, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.journal import Note
from bot.contracts.outcome import Status
from bot.contracts.progress import EndEvent
from bot.contracts.records import as_data
from bot.contracts.request import CHECK, CHECK_MINUTES, NO_CHECKS, SKILL
from bot.github.actions import json_text
from bot.session.local.fix import FixOptions, FixResult, fix
from bot.session.local.review import NothingToReviewError
from bot.verbs.record import Earlier, Local, Verb

if TYPE_CHECKING:
    from bot.session.event.from_checkout import CheckoutOnGitHub


class LocalVerb:
    """The command of one verb, made from its record."""

    def __init__(self, verb: Verb, local: Local) -> None:
        self.verb, self.local = verb, local
        self.__doc__ = local.description
        self.EXAMPLE = local.example

    def configure(self, parser: argparse.ArgumentParser) -> None:
        if self.verb.earlier is Earlier.RUN:
            add_value(parser, "resume", "RUN_DIR", "default: the last run here", nargs="?")
        add_instruction(parser, self.local.instruction)
        add_repo(parser, "the repository")
        add_value(parser, "--model", "PROVIDER/NAME", "default: by the key that is set", default="")
        add_value(parser, "--budget", "USD", "cost limit of the model, in USD", dest="budget_usd", type=usd)
        add_value(parser, "--skill", "NAME", "begin with this skill", type=partial(option_value, SKILL))
        add_sandbox(parser, "default: auto; use off only for code and requests that you trust")
        add_path(parser, "--out", "DIR", OUT)
        if self.verb.reviews:
            add_review_options(parser)
        else:
            add_flag(parser, "--dirty", help="begin with your uncommitted changes to tracked files")
            include = "with --dirty: an untracked file, or a folder of such files, that is part of it"
            add_path(parser, "--include", "FILE", include, action="append", default=[])
        if self.verb.changes:
            _add_change_options(parser, with_earlier=self.verb.earlier is None)
        add_flag(parser, "--json", help="print the outcome as JSON")
        add_view_options(parser)

    def run(self, arguments: argparse.Namespace) -> ExitCode:
        if self.verb.earlier is Earlier.RUN:
            # Only a folder names the run to continue: a single argument that is none is the instruction.
            if arguments.resume and not arguments.instruction and not os.path.isdir(arguments.resume):
                arguments.resume, arguments.instruction = None, arguments.resume
            arguments.resume = Path(arguments.resume) if arguments.resume else None
        at, options = self._options(arguments)
        with open_viewer(arguments, self.verb.name) as viewer:
            try:
                result = fix(options, os.environ if at is None else {**os.environ, **at.secrets}, viewer)
                if at is not None and options.publishes:
                    result = _publish(result, at, viewer)
                if self.verb.reviews:
                    result = finish_review(arguments, at, result, viewer)
                code, data = result.exit_code, self._as_json(result)
                show = partial(_print_result, result, arguments, options)
            except NothingToReviewError as nothing:
                write_sarif(arguments.sarif, nothing.review)
                data = {"outcome": None, "review": as_data(nothing.review), "bundle": "", "unseen": 0}
                code, show = ExitCode.DONE, partial(print, nothing)
            viewer.tell(EndEvent(int(code), data))
        with suppress(BrokenPipeError):  # nobody reads it to its end: the run ended as it did
            if arguments.json:
                print(json_text(data, indent=1))
            elif not arguments.json_events:
                show()
        return code

    def _options(self, arguments: argparse.Namespace) -> tuple[CheckoutOnGitHub | None, FixOptions]:
        """Return the options of the run, and the repository on GitHub if it takes a thread from there or publishes."""
        thread = parse_thread_name(arguments.instruction) if self.verb.earlier is None else None
        if thread is not None and not self.verb.reviews:
            arguments.instruction = f"{self.verb.name.capitalize()} #{thread.number}"
        names = {*FixOptions._fields} - {"instruction"}
        own_fields = {name: value for name, value in vars(arguments).items() if name in names}
        checks: dict[str, str] = {}
        if self.verb.changes:
            no_checks = "true" if arguments.no_checks else None
            values = {CHECK: arguments.check, NO_CHECKS: no_checks, CHECK_MINUTES: arguments.check_minutes}
            checks = {key: value for key, value in values.items() if value}
        instruction = instruction_of(arguments)
        options = FixOptions(instruction=instruction, verb=self.verb.name, checks=checks, **own_fields)
        if self.verb.reviews:
            return with_review_options(options, arguments)
        if options.include and not options.dirty:
            raise UsageError("--include names untracked files for --dirty: give --dirty too.")
        if options.dirty and options.publishes:
            raise UsageError(
                "--dirty works on changes that GitHub does not have, so it cannot open a pull request."
            )
        if thread is None and not options.publishes:
            return None, options
        from bot.session.event.from_checkout import checkout_on_github, request_from_github  # PyGithub

        at = checkout_on_github(repository_root(arguments.repo.resolve()), thread, os.environ)
        from_github = partial(
            request_from_github, at, thread=thread, publishes=options.publishes, asks=_has_person()
        )
        return at, options._replace(from_github=from_github)

    def _as_json(self, result: FixResult) -> dict[str, object]:
        branch = {"branch": result.branch, "pull_url": result.pull_url} if self.verb.changes else {}
        bundle = result.bundle
        plans = bundle.plan is not None or Status.PLANNED in self.verb.publishes
        plan = {"plan": as_data(bundle.plan)} if plans else {}
        review = {"review": as_data(bundle.review)} if self.verb.reviews else {}
        outcome, folder = as_data(bundle.outcome), str(bundle.folder)
        return {"outcome": outcome, "bundle": folder, **branch, "unseen": result.unseen, **plan, **review}


def _has_person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _publish(result: FixResult, at: CheckoutOnGitHub, viewer: Viewer) -> FixResult:
    """Publish a change. Without one there is nothing to open, and the outcome has the reason."""
    if not result.outcome.files:
        return result
    from bot.session.event.from_checkout import publish_from_checkout

    def approve() -> bool:
        if not _has_person():
            return False
        viewer.close()
        Printer(sys.stderr).diff(result.bundle.patch.decode(errors="replace"))
        if not confirm(f"Push this to {at.remote.repository}? CI starts on it at once, as your push.", ""):
            raise PublishError("Nothing was pushed, as you said.")
        return True

    published = publish_from_checkout(result.bundle.folder, at, lambda text: viewer.tell(Note(text)), approve)
    notes = (*result.notes, *published.notes)
    return result._replace(branch=published.branch, pull_url=published.pr_url, notes=notes)


def _add_change_options(parser: argparse.ArgumentParser, *, with_earlier: bool) -> None:
    result = parser.add_mutually_exclusive_group()
    add_path(result, "--patch", "FILE", "write a patch instead of making a branch")
    pull = "open a draft pull request on the remote's default branch instead"
    add_flag(result, "--pr", dest="publishes", help=pull)
    if with_earlier:
        earlier = parser.add_mutually_exclusive_group()
        plan = "carry out this plan: the plan.json of a run of `plan`, or its folder"
        add_path(earlier, "--plan", "FILE", plan)
        before = "continue an earlier run, named by its folder"
        add_path(earlier, "--continue", "RUN_DIR", before, dest="resume")
    else:
        parser.set_defaults(plan=None)
    add_flag(
        parser, "--allow-deletions", help="let the change delete more than half of the repository's files"
    )
    checks = parser.add_mutually_exclusive_group()
    add_value(checks, "--check", "NAME", "run this check only, as in: --check 'unit tests'")
    add_flag(checks, "--no-checks", help="run no check and no checker")
    minutes = "the time for all checks (default: the policy's, or 10)"
    add_value(parser, "--check-minutes", "N", minutes, type=partial(option_value, CHECK_MINUTES))


def _print_result(result: FixResult, arguments: argparse.Namespace, options: FixOptions) -> None:
    where = f"on {result.branch}" if result.branch else ""
    if result.outcome.files and not (result.branch or result.pull_url):
        where = f"in {patch_file(result, options)}"
    notes = list(result.notes)
    if result.unseen and options.dirty:
        unseen = count_of(result.unseen, "untracked file")
        notes.insert(0, f"The agent did not see {unseen}: --include FILE adds one.")
    elif result.unseen:
        unseen = count_of(result.unseen, "uncommitted file")
        notes.insert(0, f"The agent worked on HEAD and did not see {unseen}.")
    if result.kept_run:
        notes.append(
            f"The run's work tree is kept, since no patch has what was withheld or refused: {result.kept_run.tree}"
        )
    next = next_commands(result, arguments, options)
    print_result(result.outcome, Printer(), where, next, result.bundle.review, notes, result.bundle.plan)
