"""Scheduled maintenance: say which tasks are due, as a matrix for Actions, or bring the dashboard up to date. The
tasks are Markdown files in .github/agent/ of the default branch."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.contracts.errors import ExitCode, UsageError
from bot.github.actions import Actions

if TYPE_CHECKING:
    from bot.github.client import GitHub
    from bot.run.maintain import Look

EXAMPLE = "slash-agent maintain --plan --repositories owner/one,owner/two"

_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}")


def configure(parser: argparse.ArgumentParser) -> None:
    given = os.environ.get
    parser.add_argument("--plan", action="store_true", help="print the tasks due now as one line of JSON")
    parser.add_argument(
        "--dashboard", action="store_true", help="bring each repository's dashboard issue up to date"
    )
    parser.add_argument(
        "--repositories",
        default=given("SLASH_AGENT_REPOSITORIES") or given("GITHUB_REPOSITORY", ""),
        metavar="OWNER/NAME,...",
        help="default: the one that Actions runs in",
    )
    parser.add_argument(
        "--task",
        default=given("SLASH_AGENT_TASK", ""),
        metavar="NAME,...",
        help="start these by hand, whatever the schedule says",
    )
    parser.add_argument(
        "--since",
        type=_time,
        metavar="TIME",
        help="tasks due after this (2026-01-31T12:00Z); default: since the last scheduled run, else for an hour",
    )
    parser.add_argument("--json", action="store_true", help="print every decision, also of tasks that wait")


def run(arguments: argparse.Namespace) -> ExitCode:
    from bot.github.app import Access
    from bot.github.client import connect
    from bot.run.github_env import read_github_environment, signed_in
    from bot.run.maintain import Asked, look_at_all, put_dashboard, utc_now

    if not (arguments.plan or arguments.dashboard):
        raise UsageError("Say what to do: --plan or --dashboard.")
    actions = Actions(os.environ, sys.stderr)
    where = read_github_environment(os.environ)
    github = connect(signed_in(where, where.repository, Access.READ).token, where.api_url)
    now = utc_now()
    since = arguments.since or _last_look(github, where.repository, now)
    asked = Asked(_repositories(arguments.repositories), now, since, tuple(_names(arguments.task)))
    looks = look_at_all(asked, github, actions.print)
    for look in looks:
        for one in look.decided:
            actions.print(f"{look.repository} {one.task.name}: {'runs' if one.run else 'waits'}. {one.why}")
        if arguments.dashboard:
            actions.print(f"{look.repository}: {put_dashboard(look, github, now)}")
    if arguments.plan:
        _print_plan(looks, actions, everything=arguments.json)
    return ExitCode.DONE


def _print_plan(looks: Sequence[Look], actions: Actions, *, everything: bool) -> None:
    from bot.tasks.matrix import as_json, matrix

    jobs, left = matrix((look.repository, look.minutes, one) for look in looks for one in look.decided)
    plan = as_json(jobs)
    if left:
        actions.print(
            f"{left} more tasks are due; they wait for the next plan, since a matrix holds {len(jobs)} jobs."
        )
    if everything:
        decided = [
            {
                "repository": look.repository,
                "task": one.task.name,
                "run": one.run,
                "why": one.why,
                "pull": one.pull,
            }
            for look in looks
            for one in look.decided
        ]
        print(json.dumps({**json.loads(plan), "decided": decided}))
    else:
        print(plan)
    actions.set_output("count", str(len(jobs)))
    actions.set_output("matrix", json.dumps(json.loads(plan)["matrix"]))


def _last_look(github: GitHub, repository: str, now: datetime) -> datetime:
    """Since the schedule's run before this one; outside a scheduled run of Actions there is none to ask for."""
    from bot.run.maintain import FIRST_LOOK, last_look

    workflow = os.environ.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].rpartition("/")[2]
    if not (repository and workflow):
        return now - FIRST_LOOK
    return last_look(repository, workflow, int(os.environ.get("GITHUB_RUN_ID") or 0), github, now)


def _repositories(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_names(text)))
    if not names:
        raise UsageError("There is no repository: give --repositories OWNER/NAME, or run this in Actions.")
    for name in names:
        if not _REPOSITORY.fullmatch(name):
            raise UsageError(f"{name[:100]!r} is not a repository as in owner/name.")
    return names


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[,\s]+", text) if name]


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time as in 2026-01-31T12:00Z") from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
