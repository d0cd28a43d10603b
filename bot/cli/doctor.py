"""Check what the bot needs: sandbox, model, policy, checks, workflow and, with a token, the repository's settings on
GitHub. Each check of the policy runs once. Everything that is missing is listed with its fix."""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bot.checkout.github_remotes import origin_repository
from bot.checkout.local import repository_root
from bot.cli.options import add_flag, add_repo, add_text, repositories_of
from bot.cli.terminal.printer import Printer, Style
from bot.cli.trials import ADVICE, result_text, try_with_progress
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckState
from bot.doctor.contribution_rules import read_text, unknown
from bot.doctor.finding import Finding, State
from bot.doctor.github import check_app, check_github, without_app
from bot.doctor.local import check_local, checkout_policy
from bot.evidence.labels import check_title
from bot.evidence.summary import ecosystem_named, setup_line
from bot.policy.load import POLICY_FILE
from bot.session.context.github_env import GitHubEnvironment, read_github_environment

EXAMPLE = "slash-agent doctor --repo . --repository owner/name"

# What has to be fixed comes first.
_MARKS: Mapping[State, tuple[str, Style]] = {
    State.MISSING: ("MISSING", "red"),
    State.WARNING: ("warning", "yellow"),
    State.UNKNOWN: ("unknown", "yellow"),
    State.OK: ("ok", "green"),
}
_STATES = {CheckState.PASSED: State.OK, CheckState.FAILED: State.WARNING, CheckState.TIMED_OUT: State.WARNING}
"""Of a check that was tried; any other state of it is a thing that is missing."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_repo(parser, "the checkout")
    by_default = "on GitHub (default: the one that the checkout's `origin` names)"
    add_text(parser, "--repository", "GITHUB_REPOSITORY", "OWNER/NAME", by_default)
    listed = "the repositories of a central maintenance workflow"
    add_text(parser, "--repositories", "SLASH_AGENT_REPOSITORIES", "OWNER/NAME,...", listed)
    add_flag(parser, "--no-try", help="do not run the checks once in the sandbox")
    add_flag(parser, "--verbose", help="print every canary of the sandbox")
    add_flag(parser, "--json", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Exit code 2 when something is missing."""
    root = arguments.repo.resolve()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.")
    repositories = repositories_of(arguments.repositories)
    repository = arguments.repository or origin_repository(root)
    where, findings = read_github_environment(os.environ), list(_local_findings(root, arguments))
    findings += _github_findings(where, repository, root, [finding.name for finding in findings])
    if where.app_id or where.app_key:
        from bot.github.app import App

        findings += check_app(
            repository,
            repositories,
            lambda one: App(where.app_id, where.app_key, one, where.api_url).installation()[1],
        )
    else:
        findings += without_app(repository, repositories)
    states = Counter(finding.state for finding in findings)
    if arguments.json:
        rows = (
            {"name": one.name, "state": one.state, "said": one.message, "fix": one.fix} for one in findings
        )
        print(json.dumps([*rows], indent=1))
    else:
        printer = Printer()
        for state, (mark, style) in _MARKS.items():
            for finding in (one for one in findings if one.state is state):
                printer.field(mark, f"{finding.name}: {finding.message}", style)
                for line in finding.fix.splitlines():
                    printer.field("fix", line, "bold", copied=True)
        missing, warnings = states[State.MISSING], count_of(states[State.WARNING], "warning")
        text = f"{count_of(missing, 'thing')} missing" if missing else "nothing is missing"
        printer.line()
        printer.headline("bad" if missing else "good", f"{text}, {warnings}")
    return ExitCode.UNAVAILABLE if states[State.MISSING] else ExitCode.DONE


def _local_findings(root: Path, arguments: argparse.Namespace) -> Iterator[Finding]:
    """Return the findings on this machine, with the result of each check in place of the checks' names."""
    try:
        repository_root(root)
    except AgentError as error:
        fix = "run it in a checkout of your repository, or name one with --repo DIR"
        yield Finding(State.WARNING, "repository", f"{error}.", fix)
    for finding in check_local(root, os.environ, verbose=arguments.verbose):
        if finding.name != "checks" or finding.state is not State.UNKNOWN or arguments.no_try:
            yield finding
            continue
        try:
            trials = try_with_progress(root, read_text(root / POLICY_FILE) or "", sys.stderr)
        except AgentError as error:
            yield finding._replace(message=f"{finding.message[:-1]}: {error}")
            continue
        for trial in trials:
            state = trial.run.state
            fix = ADVICE.get(state, "")
            if state is CheckState.NOT_RUNNABLE and (line := setup_line(ecosystem_named(trial.command))):
                fix = f"add to {POLICY_FILE}, or install it on this machine: {line}"
            message = f"`{check_title(trial)}`: {result_text(trial)}"
            yield Finding(_STATES.get(state, State.MISSING), f"check {trial.name}", message, fix)
        if not trials:
            yield finding


def _github_findings(
    where: GitHubEnvironment, repository: str, root: Path, known: Sequence[str]
) -> list[Finding]:
    if not repository:
        message = "There is no remote `origin` that leads to GitHub."
        return [unknown("GitHub", message, "name the repository with --repository OWNER/NAME")]
    if not where.token:
        message = f"Without a token nothing can be said about {repository} on GitHub."
        return [unknown("GitHub", message, "set GITHUB_TOKEN")]
    from bot.github.client import connect

    policy, _ = checkout_policy(root)
    return check_github(connect(where.token, where.api_url, repository), where.token, policy, known)
