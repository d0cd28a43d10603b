"""Generate the files of `init` for one repository, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bot.doctor.prepare_job import prepare_steps, repeated_steps
from bot.environment.detection import Detection, source_of
from bot.maintenance.task import FOLDER
from bot.policy.load import POLICY_FILE
from bot.policy.read_policy import EDITOR_LINE

WORKFLOW = ".github/workflows/agent.yml"
KEPT = ".github/workflows/agent-environment.yml"
REVIEW = ".github/workflows/review.yml"
MAINTENANCE = ".github/workflows/maintenance.yml"
ACTIONLINT = ".github/actionlint.yaml"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

_TEMPLATES = Path(__file__).parent / "templates"
_TASKS = Path(__file__).parents[1] / "maintenance" / "examples"

_POLICY = f"""\
{EDITOR_LINE}
# What the agent may do in this repository. `slash-agent policy check` reads it; only the default branch's copy counts.
version: 1
"""
_CHECKS = """
# Run before and after each change, in the sandbox; the results stand in the pull request.
checks:
"""
_NO_CHECKS = """
# Without checks here, a run takes those that it finds in CI and in the manifests. To choose others, name the commands
# that tell whether a change is sound: they are run before and after each one.
# checks:
#   - make test
"""
_SETUP = """
# Run once in the sandbox, before the first check. `egress` names the package registries that a command may reach;
# checks have no network. A command is skipped if the folder that it creates is there already.
setup:
"""
_NO_SETUP = """
# The sandbox has no network. Commands that the checks need first go here, with the package registries that they use:
# setup:
#   - command: make prepare
#     egress: [python]
"""
_SERVICES = """
# Servers that the checks need, as in CI: inside the sandbox, new ones for each round of checks.
run_services:
"""
_ACTIONLINT = """\
# GitHub knows these keys; delete this file once actionlint does.
paths:
  .github/workflows/agent.yml:
    ignore:
      - unexpected key "(cache-mode|queue)"
"""
_NOTHING = Detection()
_LEFT_OUT = """
# Not taken over from CI:
"""


class ProposedFile(NamedTuple):
    """`path` is relative to the root. `why` is a few words for people."""

    path: str
    text: str
    why: str


def propose(
    detected: Detection, provider: str, *, tasks: bool, reviews: bool = False, replies: bool = False
) -> list[ProposedFile]:
    """`provider` is a key of `KEYS`. With `tasks` the shipped maintenance tasks come along and the workflow that runs
    them, with `reviews` the workflow that reviews each pull request. With `replies` the workflow lets replies in."""
    workflow = workflow_text(provider, detected)
    files = [
        ProposedFile(POLICY_FILE, policy_text(detected), "the policy, with the checks that were found"),
        ProposedFile(
            WORKFLOW, with_replies(workflow) if replies else workflow, "the workflow that answers /agent"
        ),
        ProposedFile(ACTIONLINT, _ACTIONLINT, "keys that GitHub knows and actionlint does not"),
    ]
    if steps := prepare_steps(detected, restores=False):
        kept = _filled("kept.yml", provider).replace("$STEPS", steps)
        files.append(ProposedFile(KEPT, kept, "the workflow that keeps what CI's set-up steps install"))
    if reviews:
        text = _filled("review.yml", provider)
        files.append(ProposedFile(REVIEW, text, "the workflow that reviews pull requests"))
    if tasks:
        text = _filled("maintenance.yml", provider)
        files.append(ProposedFile(MAINTENANCE, text, "the workflow that runs what is due"))
        for file in sorted(_TASKS.glob("*.md")):
            text = file.read_text(encoding="utf-8")
            files.append(ProposedFile(f"{FOLDER}/{file.name}", text, "a maintenance task"))
    return files


def policy_text(
    detected: Detection, unfit: Mapping[str, str] = MappingProxyType({}), *, fallback: bool = False
) -> str:
    """A policy file that loads, without what the built-in policy has already. Checks in `unfit` become comments with
    its reason. With `fallback`, the checks for when no test of CI can run are in it."""
    checks = [one for one in detected.checks if fallback or not one.fallback]
    able = [one for one in checks if one.name not in unfit]
    parts = [_POLICY, _CHECKS if able else _NO_CHECKS]
    parts += [
        f"  - name: {_quoted(one.name)} # from {source_of(one.source)}\n{_command(one.command)}"
        for one in able
    ]
    parts += [
        f"#  cannot run here: {source_of(unfit[one.name])}\n"
        + "".join(
            f"#{line}\n" for line in f"  - name: {_quoted(one.name)}\n{_command(one.command)}".splitlines()
        )
        for one in checks
        if one.name in unfit
    ]
    parts.append(_SETUP if detected.setup else _NO_SETUP)
    parts += [
        f"  - command: {_quoted(one.guarded)}\n"
        + (f"    egress: [{', '.join(one.egress)}]\n" if one.egress else "")
        for one in detected.setup
    ]
    parts.append(_SERVICES if detected.services else "")
    parts += [
        f"  - name: {_quoted(one.name)}\n{_command(one.command)}    ready: {_quoted(one.ready)}\n"
        for one in detected.services
    ]
    if left_out := (*detected.unread, *detected.omissions):
        parts.append(_LEFT_OUT)
        parts += [
            f"#   {source_of(one.what)} ({source_of(one.source)}): {source_of(one.reason)}\n"
            for one in left_out
        ]
    return "".join(parts)


def workflow_text(provider: str, detected: Detection = _NOTHING) -> str:
    """The workflow with CI's own set-up steps; if there are none, a call of ours, which installs what the lock file
    names."""
    steps = prepare_steps(detected, restores=True)
    if not steps:
        return _filled("agent.yml", provider)
    # At once: a step of CI may hold the name of a part as well.
    parts = {"$STEPS": steps, "$PREPARE": repeated_steps(detected)}
    return re.sub(r"\$(STEPS|PREPARE)\b", lambda found: parts[found[0]], _filled("prepared.yml", provider))


def with_replies(text: str) -> str:
    """Return the text of the workflow, or of its call, so that comments without `/agent` reach the program."""
    if "      - uses:" not in text and "    steps:" not in text:
        return text.replace("    secrets:\n", "    with:\n      replies: true\n    secrets:\n", 1)
    text = re.sub(
        r"^ +contains\(github\.event\.comment\.body .*'/agent'\) &&\n", "", text, flags=re.MULTILINE
    )
    return re.sub(r"^( +)mode: (gate|run|publish)\n", r'\g<0>\1replies: "true"\n', text, flags=re.MULTILINE)


def _filled(template: str, provider: str) -> str:
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    return text.replace("$INPUT", f"{provider}-api-key").replace("$KEY", KEYS[provider])


def _command(command: str) -> str:
    """Return the `command` of a check: one line is quoted, a script stays as it is written."""
    if "\n" not in command:
        return f"    command: {_quoted(command)}\n"
    return "    command: |-\n" + "".join(f"      {line}\n" if line else "\n" for line in command.splitlines())


def _quoted(command: str) -> str:
    """Quote as YAML's double-quoted scalar, so that a file's name in a command stays part of it."""
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
