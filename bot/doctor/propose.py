"""Generate the files of `init` for one repository, as text."""

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

_ACTIONLINT = """\
# GitHub knows these keys; delete this file once actionlint does.
paths:
  .github/workflows/agent.yml:
    ignore:
      - unexpected key "(cache-mode|queue)"
"""
_NOTHING = Detection()


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
    import jinja2  # only a policy needs it

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML: each value passes a filter
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    templates.filters |= {
        "quoted": _quoted,
        "command": _command,
        "comment": source_of,
        "commented": _commented,
    }
    return templates.get_template("policy.yml").render(
        editor_line=EDITOR_LINE,
        checks=[one for one in detected.checks if fallback or not one.fallback],
        unfit=unfit,
        setup=detected.setup,
        services=detected.services,
        left_out=(*detected.unread, *detected.omissions),
    )


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
        return f"    command: {_quoted(command)}"
    lines = (f"      {line}" if line else "" for line in command.splitlines())
    return "\n".join(("    command: |-", *lines))


def _commented(text: str) -> str:
    """Return `text` as a comment. YAML ends a comment at more characters than at a line feed."""
    return "\n".join(f"#{line}" for line in text.splitlines())


def _quoted(command: str) -> str:
    """Quote as YAML's double-quoted scalar, so that a file's name in a command stays part of it."""
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
