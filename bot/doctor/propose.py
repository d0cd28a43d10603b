"""What `init` would write: files fit for one repository, as text. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.evidence.detect import Check
from bot.policy.load import POLICY_FILE
from bot.tasks.task import FOLDER

WORKFLOW = ".github/workflows/agent.yml"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

_TEMPLATES = Path(__file__).parent / "templates"
_TASKS = Path(__file__).parents[1] / "tasks" / "examples"

_POLICY = """\
# What the agent may do in this repository. `slash-agent policy check` reads it; only the default branch's copy counts.
version: 1
"""
_FOUND = """
# Run before and after each change, in the sandbox; the results stand in the pull request.
checks:
"""
_NONE_FOUND = """
# No check was found. Name the commands that tell whether a change is sound: they are run before and after each one.
# checks:
#   - make test
"""
_PREPARE = """
# The sandbox has no network. Commands that only need files go here; what needs a network is done by steps of the
# workflow before the agent's, and brought along:
# setup: [make prepare]
# bring: [.venv, node_modules]
"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """`path` is relative to the root. `why` is a few words for people."""

    path: str
    text: str
    why: str


def propose(checks: Sequence[Check], provider: str, *, tasks: bool) -> list[Proposed]:
    """`provider` is a key of `KEYS`. With `tasks` the shipped maintenance tasks come along."""
    found = [
        Proposed(POLICY_FILE, policy_text(checks), "the policy, with the checks that were found"),
        Proposed(WORKFLOW, workflow_text(provider), "the workflow that hears /agent"),
    ]
    if tasks:
        found += [
            Proposed(f"{FOLDER}/{file.name}", file.read_text(encoding="utf-8"), "a maintenance task")
            for file in sorted(_TASKS.glob("*.md"))
        ]
    return found


def policy_text(checks: Sequence[Check]) -> str:
    """A policy that loads, and says nothing that the built-in one says already."""
    if not checks:
        return _POLICY + _NONE_FOUND + _PREPARE
    return _POLICY + _FOUND + "".join(f"  - {_quoted(check.command)}\n" for check in checks) + _PREPARE


def workflow_text(provider: str) -> str:
    return (_TEMPLATES / "agent.yml").read_text(encoding="utf-8").replace("$KEY", KEYS[provider])


def _quoted(command: str) -> str:
    """As YAML's double-quoted scalar: what a file's name put into a command stays a command."""
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
