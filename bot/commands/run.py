"""Handle one GitHub event: check who asked, run the agent in a sandbox, and write a bundle for `publish`. In Actions
the event and the folders come from the runner."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from bot.commands.options import add_bundle, add_dry_run, add_sandbox, add_text, usd
from bot.commands.result import Result, print_result
from bot.commands.viewing import add_viewing, looking_on
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.progress import Ended
from bot.gate.secrets import withhold_if_secret
from bot.github.actions import Actions
from bot.publish.bundle.files import JOURNAL
from bot.report.summary import charts_of, ended_summary, run_summary
from bot.run.cleanup import clean_up_later
from bot.run.cut_off import take_up
from bot.run.event import EventEnded, EventRun, run_event
from bot.run.publishing import publish_bundle
from bot.terminal.looking import Lines, Looking
from bot.terminal.printer import Printer

EXAMPLE = "slash-agent run --event-name issue_comment --event payload.json --out bundle --dry-run"


def configure(parser: argparse.ArgumentParser) -> None:
    given = os.environ.get
    parser.add_argument(
        "--event-name", default=given("GITHUB_EVENT_NAME"), metavar="NAME", help="such as issue_comment"
    )
    parser.add_argument(
        "--event", type=Path, default=given("GITHUB_EVENT_PATH"), metavar="FILE", help="the event's payload"
    )
    add_bundle(parser, "--out")
    add_text(
        parser, "--model", "SLASH_AGENT_MODEL", metavar="PROVIDER/NAME",
        help="default: the policy's, else the default model of the provider whose key is set",
    )  # fmt: skip
    parser.add_argument(
        "--budget",
        type=usd,
        default=given("SLASH_AGENT_BUDGET_USD", "").strip() or None,
        metavar="USD",
        help="the most that the model may cost; the policy's own limits apply as well",
    )
    add_sandbox(
        parser,
        "off is for your own machine; in Actions it is refused",
        given("SLASH_AGENT_SANDBOX") or "auto",
    )
    add_text(
        parser, "--instruction", "SLASH_AGENT_INSTRUCTION", metavar="TEXT",
        help="what to do, for events without a comment: a schedule, a dispatch",
    )  # fmt: skip
    add_text(
        parser, "--task", "SLASH_AGENT_TASK", metavar="NAME",
        help="the maintenance task of .github/agent/ that a schedule is for",
    )  # fmt: skip
    add_dry_run(parser, "print every write to GitHub instead of making it, the pull request's included")
    parser.add_argument(
        "--prepare", choices=("key", "make"), help=argparse.SUPPRESS
    )  # the action's own steps
    add_viewing(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    if not arguments.event_name or not arguments.event:
        raise UsageError("There is no event: give --event-name and --event, or run this in Actions.")
    workspace = os.environ.get("GITHUB_WORKSPACE")
    asked = EventRun(
        name=arguments.event_name,
        payload=Path(arguments.event),
        out=Path(arguments.out) if arguments.out else None,
        dry_run=arguments.dry_run,
        model=arguments.model,
        budget_usd=arguments.budget,
        sandbox=arguments.sandbox,
        workspace=Path(workspace) if workspace else None,
        instruction=arguments.instruction,
        task=arguments.task,
    )
    if arguments.prepare:
        return _prepare(replace(asked, prepare=arguments.prepare))
    # Where standard output is a program's, people and the runner read standard error.
    out = sys.stderr if arguments.json_events else sys.stdout
    with looking_on(arguments, "run", out) as looking:
        actions = Actions(os.environ, looking.stream(out))
        view = None if _is_log(looking, arguments) else looking
        ended = run_event(
            replace(asked, view=view), os.environ, actions.print, actions.print, actions.add_mask
        )
        looking.tell(Ended(int(ended.exit_code), _as_json(ended)))
    actions = Actions(os.environ, out)
    if ended.finder is not None:
        actions.withhold = partial(withhold_if_secret, finder=ended.finder)
    _say(ended, actions, Printer(out, os.environ, actions), dry_run=arguments.dry_run)
    if arguments.dry_run and ended.bundle is not None:
        publish_bundle(ended.bundle, os.environ, dry_run=True, say=actions.print, mask=actions.add_mask)
    clean_up_later(os.environ)
    return ended.exit_code


def _prepare(asked: EventRun) -> ExitCode:
    """What fails here, the run itself comes to, and says it where people look."""
    actions = Actions(os.environ, sys.stdout)
    try:
        ended = run_event(asked, os.environ, actions.print, actions.print, actions.add_mask)
    except AgentError as error:
        actions.print(f"note: the environment was not prepared before the run: {error}")
        return ExitCode.DONE
    for name, value in ended.prepared.items():
        actions.set_output(name, value)
    return ExitCode.DONE


def _is_log(looking: Looking, arguments: argparse.Namespace) -> bool:
    """Whether it is the log of a job that is written: anybody may read that, and it has its own ways."""
    return isinstance(looking, Lines) and looking.person is None and not arguments.verbose


def _as_json(ended: EventEnded) -> dict[str, object]:
    return {
        "reason": ended.reason,
        "answered": ended.answered,
        "outcome": asdict(ended.outcome) if ended.outcome else None,
        "bundle": str(ended.bundle) if ended.bundle else None,
    }


def _say(ended: EventEnded, actions: Actions, printer: Printer, *, dry_run: bool) -> None:
    if ended.outcome is None or ended.bundle is None:
        printer.headline("bad" if ended.exit_code else "good" if ended.answered else "doubt", ended.reason)
        done = "answered" if ended.answered else "no_change"
        status = "refused" if ended.exit_code else done
        actions.set_output("status", status)
        actions.add_summary(ended_summary(status, ended.reason))
        return
    outcome = ended.outcome
    with suppress(BrokenPipeError):  # nobody reads it: the step's outputs are a file
        bundle = shlex.quote(str(ended.bundle))
        publish = f"slash-agent publish --bundle {bundle}"
        next = [] if dry_run or actions.active else [("publish", f"{publish} (--dry-run to see it first)")]
        if ended.kept_run and not actions.active:
            next += take_up(ended.kept_run, goes_on=False)
        next += [("report", str(ended.bundle / "report.html")), ("bundle", str(ended.bundle))]
        print_result(Result(outcome, next=next), printer)
    if actions.has_summary:
        actions.add_summary(run_summary(outcome, charts=charts_of(ended.bundle / JOURNAL)))
    values = {
        "status": outcome.status.value,
        "stop-reason": outcome.stop_reason.value,
        "patch": str(ended.bundle / "changes.patch"),
        "cost-usd": f"{outcome.cost:.6f}",
        "tokens": str(outcome.usage.total),
        "turns": str(outcome.turns),
        "denied": str(len(outcome.denials)),
        "report": str(ended.bundle / "report.html"),
        "bundle": str(ended.bundle),
    }
    for name, value in values.items():
        actions.set_output(name, value)
