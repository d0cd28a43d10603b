"""Scheduled maintenance: print the tasks that are due as a matrix for Actions, or update the dashboard. The tasks are
Markdown files in .github/agent/ of the default branch."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from bot.cli.options import add_flag, add_text, add_value, names_of, repositories_of
from bot.contracts.errors import ExitCode, UsageError
from bot.github.actions import Actions
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.tokens import Access
from bot.maintenance.due_tasks import MOST_JOBS, Decision, matrix
from bot.report.summary import dashboards_summary, plan_summary
from bot.session.context.github_env import read_github_environment
from bot.session.event.dashboard import RepositoryPlan, Results, put_dashboard
from bot.session.event.event_context import client_for, connected
from bot.session.event.maintain import (
    FIRST_WINDOW,
    LastPlan,
    MaintenanceRun,
    for_each,
    last_plan,
    plan_repositories,
    run_results,
)

EXAMPLE = "slash-agent maintain --plan --repositories owner/one,owner/two"


def configure(parser: argparse.ArgumentParser) -> None:
    environment = os.environ.get
    add_flag(parser, "--plan", help="print the tasks due now as one line of JSON")
    add_flag(parser, "--dashboard", help="update each repository's dashboard issue")
    whose = "default: the workflow's own repository"
    own = environment("SLASH_AGENT_REPOSITORIES") or environment("GITHUB_REPOSITORY", "")
    add_value(parser, "--repositories", "OWNER/NAME,...", whose, default=own)
    by_hand = "start these by hand, whatever the schedule says"
    add_text(parser, "--task", "SLASH_AGENT_TASK", "NAME,...", by_hand)
    since = "tasks due after this time (2026-01-31T12:00Z); default: since the last scheduled run, or the last hour"
    add_value(parser, "--since", "TIME", since, type=_time)
    add_flag(parser, "--json", help="print every decision, also about tasks that are not due")


def run(arguments: argparse.Namespace) -> ExitCode:
    if not (arguments.plan or arguments.dashboard):
        raise UsageError("Say what to do: --plan or --dashboard.")
    actions = Actions(os.environ, sys.stderr)
    where = read_github_environment(os.environ)
    access = Access.COMMENT if arguments.dashboard else Access.READ
    repositories = repositories_of(arguments.repositories)
    if not repositories:
        raise UsageError("There is no repository: give --repositories OWNER/NAME, or run this in Actions.")

    @cache
    def host_of(repository: str) -> GitHub:
        """A client a repository: of an app, each with a token of its own."""
        return connected(where, repository, access, actions.add_mask)[1]

    def here() -> GitHub:
        """The job's own token may see the runs, whoever else acts: the app need not be installed here."""
        return client_for(where, where.repository) if where.token else host_of(where.repository)

    now = datetime.now(UTC)
    last = LastPlan(arguments.since or now - FIRST_WINDOW)
    # Else there is no scheduled run before this.
    if arguments.since is None and where.repository and where.workflow:
        last = last_plan(where.workflow, where.run, here(), now)
    run = MaintenanceRun(repositories, now, last, tuple(names_of(arguments.task)), where.policy_file)
    notes: list[str] = []

    def warn(text: str) -> None:
        notes.append(text)
        actions.warn(text)

    plans = plan_repositories(run, host_of, warn)
    decisions = [(entry, decision) for entry in plans for decision in entry.decisions]
    for entry, decision in decisions:
        word = "runs" if decision.run else "waits"
        actions.print(f"{entry.repository} {decision.task.name}: {word}. {decision.why}")
    if arguments.dashboard:
        results: Results = {}
        if where.repository and where.run:
            try:
                results = run_results(here(), where.run, now, host_of)
            except GitHubError as error:
                warn(f"The dashboards lack the results of this run: {error}")
        home = f"{where.server_url}/{where.repository}" if where.repository else ".."
        done = for_each(plans, lambda one: put_dashboard(one, host_of(one.repository), results, home), warn)
        for text in done:
            actions.print(text)
        actions.add_summary(dashboards_summary(done, notes))
    if arguments.plan:
        jobs = {(job["repository"], job["task"]) for job in _print_plan(decisions, actions, arguments.json)}
        actions.add_summary(plan_summary([(entry.repository, one) for entry, one in decisions], jobs, notes))
        if any(entry.broken for entry in plans):
            return ExitCode.USAGE
    return ExitCode.DONE


def _print_plan(
    decisions: Sequence[tuple[RepositoryPlan, Decision]], actions: Actions, everything: bool
) -> list[Any]:
    """Returns the jobs of the matrix."""
    plan = matrix((entry.repository, entry.minutes, decision) for entry, decision in decisions)
    if remaining := plan["left"]:
        text = (
            f"A matrix holds {MOST_JOBS} jobs, and {remaining} more were to be in it: those that were due last "
            "wait for the next plan by the schedule. Tasks that are started by hand have to be started again."
        )
        actions.warn(text)
    rows = [
        {
            "repository": entry.repository,
            "task": one.task.name,
            "run": one.run,
            "why": one.why,
            "pull": one.pull,
        }
        for entry, one in decisions
    ]
    print(json.dumps({**plan, "decided": rows} if everything else plan, separators=(",", ":")))
    for name in ("count", "left", "matrix"):
        actions.set_output(name, json.dumps(plan[name]))
    return list(plan["matrix"]["include"])


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time as in 2026-01-31T12:00Z") from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
