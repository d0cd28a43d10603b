"""`submit_plan`: how the model hands over a plan, typed, with what is wrong with one said so that it can be mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.plan import MAX_PATHS, MAX_RISKS, MAX_STEPS, MAX_TEXT, MAX_TITLE, Plan, PlanStep, shown
from bot.contracts.tools import ToolOutcome, ToolSpec

SUBMIT_PLAN = ToolSpec(
    name="submit_plan",
    description=(
        "Hand over the plan; call it once, when you know enough. It is posted for people to approve, and what "
        "they approve is carried out step by step, as it stands here. A later call replaces an earlier one."
    ),
    parameters={
        "type": "object",
        "properties": {
            "title": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_TITLE,
                "description": "What the plan achieves, in the imperative, one line",
            },
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STEPS,
                "description": "In the order in which they are to be done",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": MAX_TEXT,
                            "description": "What is done, exactly enough for somebody who did not read the code",
                        },
                        "paths": {
                            "type": "array",
                            "maxItems": MAX_PATHS,
                            "items": {"type": "string"},
                            "description": "Files it touches, relative to the repository root; new ones too",
                        },
                    },
                    "required": ["text"],
                },
            },
            "risks": {
                "type": "string",
                "maxLength": MAX_RISKS,
                "description": "What may go wrong or is not known yet",
            },
            "estimate_turns": {
                "type": "integer",
                "minimum": 0,
                "description": "About how many answers with tool calls carrying it out will take you",
            },
            "estimate_usd": {
                "type": "number",
                "minimum": 0,
                "description": "About what that will cost, in USD",
            },
        },
        "required": ["title", "steps"],
    },
)


class SubmitPlan:
    """Keeps the plan that was submitted last; `None` until then."""

    spec = SUBMIT_PLAN

    def __init__(self) -> None:
        self.plan: Plan | None = None

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        plan = Plan(
            title=" ".join(_text(arguments["title"]).split()),
            steps=tuple(_step(step) for step in arguments["steps"]),
            risks=_text(arguments.get("risks", "")),
            estimate_usd=round(float(arguments.get("estimate_usd", 0.0)), 4),
            estimate_turns=int(arguments.get("estimate_turns", 0)),
        )
        if plan.trouble:
            kept = "" if self.plan is None else " The plan submitted before stands."
            return ToolOutcome(f"The plan was not taken. {plan.trouble}.{kept}", is_error=True)
        self.plan = plan
        return ToolOutcome("Noted.", metadata={"plan": plan.hash, "title": plan.title})


def _step(step: Mapping[str, Any]) -> PlanStep:
    paths = (_text(path).removeprefix("./") for path in step.get("paths", ()))
    return PlanStep(_text(step["text"]), tuple(dict.fromkeys(paths)))


def _text(value: object) -> str:
    """Without characters that do not show."""
    return shown(str(value)).strip()
