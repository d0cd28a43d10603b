"""Scheduled maintenance: print the tasks that are due as a matrix for Actions, or update the dashboard. The tasks are
Markdown files in .github/agent/ of the default branch."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from bot.commands.options import add_text, names_of, repositories_of
from bot.contracts.errors import ExitCode, UsageError
from bot.github.actions import Actions

if TYPE_CHECKING:
    from bot.github.app import Access
    from bot.github.client import GitHub
    from bot.run.github_env import GitHubEnvironment
    from bot.run.last_look import LastLook
    from bot.run.maintain import Look
    from bot.tasks.matrix import Job

EXAMPLE = "slash-agent maintain --plan --repositories owner/one,owner/two"


def configure(parser: argparse.ArgumentParser) -> None:
    given = os.environ.get
    parser.add_argument("--plan", action="store_true", help="print the tasks due now as one line of JSON")
    parser.add_argument("--dashboard", action="store_true", help="update each repository's dashboard issue")
    parser.add_argument(
        "--repositories",
        default=given("SLASH_AGENT_REPOSITORIES") or given("GITHUB_REPOSITORY", ""),
        metavar="OWNER/NAME,...",
        help="default: the one that the workflow is in",
    )
    add_text(
        parser, "--task", "SLASH_AGENT_TASK", metavar="NAME,...",
        help="start these by hand, whatever the schedule says",
    )  # fmt: skip
    parser.add_argument(
        "--since",
        type=_time,
        metavar="TIME",
        help="tasks due after this (2026-01-31T12:00Z); default: since the last scheduled run, else for an hour",
    )
    parser.add_argument("--json", action="store_true", help="print every decision, also of tasks that wait")


def run(arguments: argparse.Namespace) -> ExitCode:
    from bot.github.app import Access
    from bot.report.planned import dashboards_summary, plan_summary
    from bot.run.github_env import read_github_environment
    from bot.run.maintain import Asked, look_at_all, put_dashboards, utc_now

    if not (arguments.plan or arguments.dashboard):
        raise UsageError("Say what to do: --plan or --dashboard.")
    actions = Actions(os.environ, sys.stderr)
    where = read_github_environment(os.environ)
    host_of = _hosts(where, Access.TALK if arguments.dashboard else Access.READ, actions)
    now = utc_now()
    asked = Asked(
        _repositories(arguments.repositories),
        now,
        _last_look(arguments.since, where, host_of, now),
        tuple(names_of(arguments.task)),
        where.policy_file,
    )

    notes: list[str] = []

    def warn(text: str) -> None:
        notes.append(text)
        actions.annotate("warning", text)

    looks = look_at_all(asked, host_of, warn)
    for look in looks:
        for one in look.decided:
            actions.print(f"{look.repository} {one.task.name}: {'runs' if one.run else 'waits'}. {one.why}")
    if arguments.dashboard:
        done: list[str] = []

        def say(text: str) -> None:
            done.append(text)
            actions.print(text)

        put_dashboards(looks, host_of, now, say, warn)
        actions.add_summary(dashboards_summary(done, notes))
    if arguments.plan:
        jobs = _print_plan(looks, actions, everything=arguments.json)
        decided = ((look.repository, one) for look in looks for one in look.decided)
        actions.add_summary(plan_summary(decided, {(job.repository, job.task) for job in jobs}, notes))
    return ExitCode.DONE


def _print_plan(looks: Sequence[Look], actions: Actions, *, everything: bool) -> list[Job]:
    """Returns what is in the matrix."""
    from bot.tasks.matrix import LARGEST, as_json, matrix

    jobs, left = matrix((look.repository, look.minutes, one) for look in looks for one in look.decided)
    plan = as_json(jobs, left)
    if left:
        actions.annotate(
            "warning",
            f"A matrix holds {LARGEST} jobs, and {left} more were to be in it: those that were due last wait for the "
            "next plan by the schedule. Tasks that are started by hand have to be started again.",
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
    actions.set_output("left", str(left))
    actions.set_output("matrix", json.dumps(json.loads(plan)["matrix"]))
    return jobs


def _hosts(where: GitHubEnvironment, access: Access, actions: Actions) -> Callable[[str], GitHub]:
    """A client a repository: of an app, each with a token of its own."""
    from bot.run.clients import client_for
    from bot.run.github_env import signed_in

    def host_of(repository: str) -> GitHub:
        signed = signed_in(where, repository, access)
        for secret in signed.made.values():
            actions.add_mask(secret)
        return client_for(signed, os.environ)

    return cache(host_of)


def _last_look(
    since: datetime | None, where: GitHubEnvironment, host_of: Callable[[str], GitHub], now: datetime
) -> LastLook:
    """Since the schedule's run before this one; outside a scheduled run of Actions there is none to ask for."""
    from bot.run.clients import client_for
    from bot.run.last_look import FIRST_LOOK, LastLook, last_look

    if since is not None or not (where.repository and where.workflow):
        return LastLook(since or now - FIRST_LOOK)
    # The job's own token may see the runs, whoever else acts: the app need not be installed here.
    here = client_for(where, os.environ) if where.token else host_of(where.repository)
    return last_look(where.repository, where.workflow.rpartition("/")[2], where.run, here, now)


def _repositories(text: str) -> tuple[str, ...]:
    names = repositories_of(text)
    if not names:
        raise UsageError("There is no repository: give --repositories OWNER/NAME, or run this in Actions.")
    return names


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time as in 2026-01-31T12:00Z") from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
