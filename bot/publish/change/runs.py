"""Workflows that do not start by themselves on what was pushed: said, and where the policy names some, started."""

from __future__ import annotations

from bot.github.errors import GitHubError
from bot.policy.schema import Policy
from bot.publish.change.work import Work

_NO_RUNS = "CI does not start here by itself, since GitHub runs no workflows for what the workflow's own token pushes"


def about_runs(work: Work, policy: Policy, *, foreign: bool) -> str:
    """What the pull request says of CI; empty where it starts by itself. `foreign`: with commits from outside."""
    if work.starts_runs:
        return ""
    if started := _to_start(work, policy, foreign):
        return f"{_NO_RUNS}: {' and '.join(started)} was started on the branch instead."
    return f"{_NO_RUNS}: close and reopen this pull request to start it."


def start_runs(work: Work, policy: Policy, branch: str, *, foreign: bool) -> tuple[str, ...]:
    """Start the policy's workflows on the new commit. What GitHub refuses is a note: the commit is there."""
    notes: list[str] = []
    for workflow in _to_start(work, policy, foreign):
        try:
            work.host.dispatch_workflow(work.repository, workflow, branch, {})
        except GitHubError as error:
            notes.append(f"{workflow} was not started: {error}")
    return tuple(notes)


def _to_start(work: Work, policy: Policy, foreign: bool) -> tuple[str, ...]:
    """None for commits from outside, which nobody has looked at: with this repository's secrets they would run."""
    if foreign or not policy.dispatch or work.starts_runs:
        return ()
    return policy.dispatch
