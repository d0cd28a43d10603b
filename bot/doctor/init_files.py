"""Generate the files of `init` for one repository, as text."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import yaml

from bot.contracts.request import FOLLOW_UP_FILE
from bot.doctor.prepare_job import prepare_steps, repeated_steps
from bot.environment.detection_result import Detection, source_of
from bot.maintenance.task import FOLDER
from bot.policy.load import POLICY_FILE
from bot.policy.schema import EDITOR_LINE

WORKFLOW = ".github/workflows/agent.yml"
KEPT = ".github/workflows/agent-environment.yml"
REVIEW = ".github/workflows/review.yml"
MAINTENANCE = ".github/workflows/maintenance.yml"
ACTIONLINT = ".github/actionlint.yaml"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

_TEMPLATES = Path(__file__).parent / "templates"
_TASKS = Path(__file__).parents[1] / "maintenance" / "examples"

_NOTHING = Detection()


class ProposedFile(NamedTuple):
    """`path` is relative to the root. `why` is a few words for people."""

    path: str
    text: str
    why: str


def propose(
    detected: Detection,
    provider: str,
    *,
    tasks: bool,
    reviews: bool = False,
    replies: bool = False,
    follow_up: bool = False,
) -> list[ProposedFile]:
    """`provider` is a key of `KEYS`. With `tasks` the shipped maintenance tasks come along and the workflow that runs
    them, with `reviews` the workflow that reviews each pull request, with `follow_up` the one that follows the bot's
    own. With `replies` the workflow lets replies in."""
    policy = policy_text(detected, follow_up=follow_up)
    workflow = workflow_text(provider, detected, replies=replies)
    files = [
        ProposedFile(POLICY_FILE, policy, "the policy, with the checks that were found"),
        ProposedFile(WORKFLOW, workflow, "the workflow that answers /agent"),
        ProposedFile(ACTIONLINT, _filled("actionlint.yml"), "keys that GitHub knows and actionlint does not"),
    ]
    if steps := prepare_steps(detected, restores=False):
        why = "the workflow that keeps what CI's set-up steps install"
        files.append(ProposedFile(KEPT, _filled("kept.yml", steps=steps), why))
    key = KEYS[provider]
    if reviews:
        text = _filled("review.yml", key=key)
        files.append(ProposedFile(REVIEW, text, "the workflow that reviews pull requests"))
    if follow_up:
        text = _filled("follow-up.yml", ci=detected.workflows, **_values(provider, detected))
        files.append(ProposedFile(FOLLOW_UP_FILE, text, "the workflow that follows the bot's pull requests"))
    if tasks:
        text = _filled("maintenance.yml", key=key)
        files.append(ProposedFile(MAINTENANCE, text, "the workflow that runs what is due"))
        for file in sorted(_TASKS.glob("*.md")):
            text = file.read_text(encoding="utf-8")
            files.append(ProposedFile(f"{FOLDER}/{file.name}", text, "a maintenance task"))
    return files


def policy_text(
    detected: Detection,
    unfit: Mapping[str, str] | None = None,
    *,
    fallback: bool = False,
    follow_up: bool = False,
) -> str:
    """A policy file that loads, without what the built-in policy has already. Checks in `unfit` become comments with
    its reason. With `fallback`, the checks for when no test of CI can run are in it."""
    return _filled(
        "policy.yml",
        editor_line=EDITOR_LINE,
        checks=[one for one in detected.checks if fallback or not one.fallback],
        unfit=unfit or {},
        detected=detected,
        left_out=(*detected.unread, *detected.omissions),
        follow_up=follow_up,
    )


def workflow_text(provider: str, detected: Detection = _NOTHING, *, replies: bool = False) -> str:
    """The workflow with CI's own set-up steps; if there are none, a call of ours, which installs what the lock file
    names. With `replies`, comments without `/agent` reach the program."""
    values = _values(provider, detected)
    return _filled("prepared.yml" if values["steps"] else "agent.yml", replies=replies, **values)


def _values(provider: str, detected: Detection) -> dict[str, str]:
    """What the workflow that `init` writes has of its repository; `steps` is empty without a job `prepare`."""
    steps = prepare_steps(detected, restores=True)
    prepare = repeated_steps(detected) if steps else ""
    return {"key": KEYS[provider], "input": f"{provider}-api-key", "steps": steps, "prepare": prepare}


def _filled(template: str, **values: object) -> str:
    import jinja2  # few commands need it

    # GitHub's expressions have the usual brackets.
    templates = jinja2.Environment(
        *("<%", "%>", "<<", ">>"),
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML: each value passes a filter
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    templates.filters |= {"quoted": _quoted, "comment": source_of, "commented": _commented}
    return templates.get_template(template).render(values)


def _quoted(text: str) -> str:
    """Return `text` as a scalar of YAML, in quotes only where it needs some: which ones, formatters disagree on."""
    with suppress(yaml.YAMLError):
        if re.match("[A-Za-z./]", text) and text.isprintable() and yaml.safe_load(f"[{text}] # x") == [text]:
            return text
    return json.dumps(text, ensure_ascii=False)


def _commented(text: str) -> str:
    """Return `text` as a comment. YAML ends a comment at more characters than at a line feed."""
    return "\n".join(f"#{line}" for line in text.splitlines())
