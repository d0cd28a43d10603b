"""A plan as a value: what the bot will do, posted for approval. A bundle's `plan.json` is one."""

import hashlib
import json
from typing import NamedTuple

from bot.contracts.plain_text import UNSEEN
from bot.contracts.records import as_data

MAX_STEPS = 30
MAX_PATHS = 40
MAX_TITLE = 120
MAX_TEXT = 1_000
MAX_RISKS = 2_000
MAX_PLAN = 24_000
"""Bytes of the canonical JSON: one comment holds the plan as text and once more as data."""
_MAX_PATH = 400
_MAX_ESTIMATE = 10_000


class PlanStep(NamedTuple):
    """One step. `paths` are the files that it is expected to change."""

    text: str
    paths: tuple[str, ...] = ()


class Plan(NamedTuple):
    """`estimate_turns` is the model's own estimate for executing the plan."""

    title: str
    steps: tuple[PlanStep, ...]
    risks: str = ""
    estimate_turns: int = 0

    @property
    def canonical(self) -> str:
        """The plan as canonical JSON, the input of `hash`."""
        return json.dumps(as_data(self), sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, 64 hex digits: `approve` names exactly this plan."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def problem(self) -> str:
        """The first reason why the plan cannot be shown or executed, as `field: why`; empty for none."""
        if not _is_text(self.title, MAX_TITLE) or "\n" in self.title:
            return f"title: expected one line of 1 to {MAX_TITLE} characters"
        if not 1 <= len(self.steps) <= MAX_STEPS:
            return f"steps: expected 1 to {MAX_STEPS}, got {len(self.steps)}"
        for number, step in enumerate(self.steps):
            if trouble := _step_problem(step):
                return f"steps.{number}.{trouble}"
        if len(self.risks) > MAX_RISKS:
            return f"risks: expected at most {MAX_RISKS} characters, got {len(self.risks)}"
        if not 0 <= self.estimate_turns <= _MAX_ESTIMATE:
            return f"estimate_turns: expected 0 to {_MAX_ESTIMATE}"
        texts = (self.title, self.risks, *(step.text for step in self.steps))
        if any(map(UNSEEN.search, texts)):
            return "text: there are characters in it that do not show"
        if len(self.canonical) > MAX_PLAN:
            return f"steps: the whole plan is {len(self.canonical):,} bytes of JSON, and {MAX_PLAN:,} is the limit"
        return ""


def _step_problem(step: PlanStep) -> str:
    if not _is_text(step.text, MAX_TEXT):
        return f"text: expected 1 to {MAX_TEXT} characters, got {len(step.text.strip())}"
    if len(step.paths) > MAX_PATHS:
        return f"paths: expected at most {MAX_PATHS}, got {len(step.paths)}"
    for path in step.paths:
        if not is_inside(path):
            return f"paths: {path[:80]!r} is no path inside the repository"
    return ""


def _is_text(text: str, limit: int) -> bool:
    return bool(text.strip()) and len(text) <= limit


def is_inside(path: str) -> bool:
    """Whether `path` is a relative, printable path with `/` that stays below the repository's root."""
    parts = path.split("/")
    return len(path) <= _MAX_PATH and path.isprintable() and not {"", ".", ".."} & set(parts)
