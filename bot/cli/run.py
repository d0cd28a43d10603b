"""Handle one GitHub event: check the rights of the actor, run the agent in a sandbox, and write a bundle for `publish`.
In Actions the event and the folders come from the runner."""

import argparse
import os
import shlex
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from bot.cli.options import add_bundle, add_dry_run, add_path, add_sandbox, add_text, add_value, usd
from bot.cli.print_result import print_result
from bot.cli.terminal.choose_viewer import add_view_options, open_viewer
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.progress import EndEvent
from bot.contracts.records import as_data
from bot.github.actions import Actions
from bot.publish.bundle import PATCH, REPORT
from bot.report.summary import outcome_summary, run_summary
from bot.session.event.event_context import EventOptions, EventResult
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from bot.session.event.run_event import run_event
from bot.session.interruption import recovery_commands

EXAMPLE = "slash-agent run --event-name issue_comment --event payload.json --out bundle --dry-run"


def configure(parser: argparse.ArgumentParser) -> None:
    environment = os.environ.get
    name, payload = environment("GITHUB_EVENT_NAME"), environment("GITHUB_EVENT_PATH")
    add_value(parser, "--event-name", "NAME", "such as issue_comment", dest="name", default=name)
    add_path(parser, "--event", "FILE", "the event's payload", dest="payload", default=payload)
    add_bundle(parser, "--out")
    by_default = "default: the policy's, else the default model of the provider whose key is set"
    add_text(parser, "--model", "SLASH_AGENT_MODEL", "PROVIDER/NAME", by_default)
    budget = "cost limit of the model in USD; the policy's limits apply as well"
    most = environment("SLASH_AGENT_BUDGET_USD", "").strip() or None
    add_value(parser, "--budget", "USD", budget, dest="budget_usd", type=usd, default=most)
    sandbox = environment("SLASH_AGENT_SANDBOX") or "auto"
    add_sandbox(parser, "default: auto; off is refused in Actions", sandbox)
    instruction = "the instruction for events without a comment, such as a schedule or a dispatch"
    add_text(parser, "--instruction", "SLASH_AGENT_INSTRUCTION", "TEXT", instruction)
    task = "the maintenance task in .github/agent/ that a schedule runs"
    add_text(parser, "--task", "SLASH_AGENT_TASK", "NAME", task)
    add_dry_run(parser, "print every write to GitHub, the pull request included, instead of sending it")
    add_view_options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    if not arguments.name or not arguments.payload:
        raise UsageError("There is no event: give --event-name and --event, or run this in Actions.")
    fields = {name: value for name, value in vars(arguments).items() if name in EventOptions._fields}
    workspace = Path(text) if (text := os.environ.get("GITHUB_WORKSPACE")) else None
    # Where standard output is a program's, people and the runner read standard error.
    out = sys.stderr if arguments.json_events else sys.stdout
    actions = Actions(os.environ, out)
    with open_viewer(arguments, "run", out) as viewer:
        options = EventOptions(**fields, workspace=workspace, view=viewer)
        pass_on = partial(actions.set_output, "note")
        result = run_event(options, os.environ, actions.print, actions.add_mask, pass_on)
        bundle = result.bundle
        outcome, folder = (as_data(bundle.outcome), str(bundle.folder)) if bundle else (None, None)
        data = {"reason": result.reason, "answered": result.answered, "outcome": outcome, "bundle": folder}
        viewer.tell(EndEvent(int(result.exit_code), data))
    _print_result(result, actions, Printer(out, actions=actions), dry_run=arguments.dry_run)
    if arguments.dry_run and bundle is not None:
        job = PublishJob(os.environ, actions.print, dry_run=True, mask=actions.add_mask)
        publish_bundle(job, bundle.folder)
    return result.exit_code


def _print_result(result: EventResult, actions: Actions, printer: Printer, *, dry_run: bool) -> None:
    if result.bundle is None:
        printer.headline("bad" if result.exit_code else "good" if result.answered else "doubt", result.reason)
        status = "refused" if result.exit_code else "answered" if result.answered else "no_change"
        actions.set_output("status", status)
        if result.pull:
            actions.set_output("gate", "go")
            actions.set_output("pr-number", str(result.pull))
            actions.set_output("commit", result.commit)
        actions.add_summary(outcome_summary(status, result.reason))
        return
    outcome, folder = result.bundle.outcome, result.bundle.folder
    with suppress(BrokenPipeError):  # nobody reads it: the step's outputs are a file
        publish = f"slash-agent publish --bundle {shlex.quote(str(folder))}"
        next = [] if dry_run or actions.active else [("publish", f"{publish} (--dry-run to see it first)")]
        if result.kept_run and not actions.active:
            next += recovery_commands(result.kept_run, can_continue=False)
        next += [("report", str(folder / REPORT)), ("bundle", str(folder))]
        print_result(outcome, printer, next=next, plan=result.bundle.plan)
    if actions.has_summary:
        actions.add_summary(run_summary(outcome))
    for name, value in (
        ("status", outcome.status),
        ("stop-reason", outcome.stop_reason),
        ("patch", folder / PATCH),
        ("cost-usd", f"{outcome.cost:.6f}"),
        ("tokens", outcome.usage.total),
        ("turns", outcome.turns),
        ("denied", len(outcome.denials)),
        ("report", folder / REPORT),
        ("bundle", folder),
        ("artifact-name", outcome.round_artifact),
    ):
        actions.set_output(name, str(value))
