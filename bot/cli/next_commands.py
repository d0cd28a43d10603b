"""What a person can do next with the result of a run: the commands below it."""

import argparse
import os
import shlex
from pathlib import Path

from bot.contracts.outcome import Status, StopReason
from bot.publish.bundle import PATCH, PLAN, REPORT
from bot.session.interruption import recovery_commands
from bot.session.local.fix import FixOptions, FixResult
from bot.verbs.registry import DEFAULT, VERBS

_UNFINISHED = (Status.PARTIAL, Status.FAILED)


def next_commands(
    result: FixResult, arguments: argparse.Namespace, options: FixOptions
) -> list[tuple[str, str]]:
    """Return a label and a command or a place for each."""
    git, next, folder = git_at(arguments.repo), list[tuple[str, str]](), result.bundle.folder
    if result.pull_url:
        next = [("look", result.pull_url)]
    elif result.branch:
        next = [("look", f"{git} diff HEAD...{result.branch}"), ("merge", f"{git} merge {result.branch}")]
    elif result.outcome.files:
        patch = shlex.quote(str(patch_file(result, options)))
        next = [("look", f"cat {patch}"), ("apply", f"{git} apply {patch}")]
    if result.bundle.plan is not None:
        next.append(("carry out", f"{_fix(arguments)} --plan {shlex.quote(str(folder / PLAN))}"))
    go_on = f"{_fix(arguments)} --continue {shlex.quote(str(folder))}"
    if result.outcome.status is Status.NEEDS_INPUT:
        next.append(("answer", f'{go_on} "your answer"'))
    elif not (result.kept_run or VERBS[options.verb].reviews) and (
        result.outcome.status in _UNFINISHED or result.outcome.stop_reason is StopReason.CHECKS_FAILING
    ):
        next.append(("go on", go_on))
    if result.kept_run:
        next += recovery_commands(result.kept_run, can_continue=True)
    return [*next, ("report", str(folder / REPORT))]


def patch_file(result: FixResult, options: FixOptions) -> Path:
    return options.patch or result.bundle.folder / PATCH


def _fix(arguments: argparse.Namespace) -> str:
    """The command that goes on from this run, with the options of this one that it needs."""
    words = ["slash-agent", DEFAULT]
    if os.path.realpath(arguments.repo) != os.path.realpath("."):
        words += ["--repo", str(arguments.repo)]
    if arguments.model:
        words += ["--model", arguments.model]
    if arguments.sandbox != "auto":
        words += ["--sandbox", arguments.sandbox]
    return shlex.join(words)


def git_at(repo: Path) -> str:
    """`git` as it is called from here for `repo`."""
    same = os.path.realpath(repo) == os.path.realpath(".")
    return "git" if same else f"git -C {shlex.quote(str(repo))}"
