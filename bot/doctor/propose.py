"""What `init` would write: files fit for one repository, as text. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.doctor.project import Project
from bot.policy.load import POLICY_FILE
from bot.policy.published import EDITORS
from bot.tasks.task import FOLDER

WORKFLOW = ".github/workflows/agent.yml"
REVIEW = ".github/workflows/review.yml"
MAINTENANCE = ".github/workflows/maintenance.yml"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

_TEMPLATES = Path(__file__).parent / "templates"
_TASKS = Path(__file__).parents[1] / "tasks" / "examples"

_POLICY = f"""\
{EDITORS}
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
_BROUGHT = """
# The sandbox has no network: what the checks need is installed by the workflow, before the agent's step, and brought
# along. Commands that need files alone go under `setup:`.
bring: [{}]
"""
_INSTALL = """\
      - name: Fetch the repository
        uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
          ref: ${{ github.event.repository.default_branch }}
      # No key is in this step's environment, and of a pull request nothing is installed.
      - name: Install what the checks need
        run: |
"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """`path` is relative to the root. `why` is a few words for people."""

    path: str
    text: str
    why: str


def propose(project: Project, provider: str, *, tasks: bool, reviews: bool = False) -> list[Proposed]:
    """`provider` is a key of `KEYS`. With `tasks` the shipped maintenance tasks come along and the workflow that runs
    them, with `reviews` the workflow that reviews each pull request."""
    installs = " and installs what the checks need" if project.install else ""
    found = [
        Proposed(POLICY_FILE, policy_text(project), "the policy, with the checks that were found"),
        Proposed(
            WORKFLOW, workflow_text(provider, project.install), f"the workflow that hears /agent{installs}"
        ),
    ]
    if reviews:
        found.append(
            Proposed(REVIEW, _filled("review.yml", provider), "the workflow that reviews pull requests")
        )
    if tasks:
        found.append(
            Proposed(MAINTENANCE, _filled("maintenance.yml", provider), "the workflow that runs what is due")
        )
        found += [
            Proposed(f"{FOLDER}/{file.name}", file.read_text(encoding="utf-8"), "a maintenance task")
            for file in sorted(_TASKS.glob("*.md"))
        ]
    return found


def policy_text(project: Project) -> str:
    """A policy that loads, and says nothing that the built-in one says already."""
    prepare = _BROUGHT.format(", ".join(map(_quoted, project.bring))) if project.bring else _PREPARE
    if not project.checks:
        return _POLICY + _NONE_FOUND + prepare
    listed = "".join(f"  - {_quoted(check.command)}\n" for check in project.checks)
    return _POLICY + _FOUND + listed + prepare


def workflow_text(provider: str, install: Sequence[str] = ()) -> str:
    """A call of our workflow; where something has to be installed before, its two jobs written out."""
    name = "two-jobs.yml" if install else "agent.yml"
    steps = _INSTALL + "".join(f"          {command}\n" for command in install)
    return _filled(name, provider).replace("$PREPARE", steps)


def _filled(template: str, provider: str) -> str:
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    return text.replace("$INPUT", f"{provider}-api-key").replace("$KEY", KEYS[provider])


def _quoted(command: str) -> str:
    """As YAML's double-quoted scalar: what a file's name put into a command stays a command."""
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
