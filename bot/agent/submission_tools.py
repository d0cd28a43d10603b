"""Tools with which the model hands over a result: `describe_change`, `submit_plan`, `ask_user`. They run in the
supervisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.agent.limits import Stop
from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description, StopReason
from bot.contracts.plan import (
    MAX_PATHS,
    MAX_RISKS,
    MAX_STEPS,
    MAX_TEXT,
    MAX_TITLE,
    Plan,
    PlanStep,
    visible_text,
)
from bot.contracts.tools import ToolOutcome, ToolSpec

MAX_CHANGE_TITLE = 72

DESCRIBE_CHANGE = ToolSpec(
    name="describe_change",
    description="Hand over your change; it ends the run.",
    parameters=schema.record(
        ["title", "summary"],
        title=schema.text("imperative", maxLength=MAX_CHANGE_TITLE),
        summary=schema.text("cause and fix, Markdown"),
        notes=schema.text("risks"),
    ),
)


class DescribeChange:
    """Stores the description of the last `describe_change` call."""

    spec = DESCRIBE_CHANGE

    def __init__(self) -> None:
        self.description = Description()

    def set_title(self, title: str) -> None:
        """Set a title for a change without a description."""
        self.description = Description(title)

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        title = " ".join(str(arguments["title"]).split())
        summary = str(arguments["summary"]).strip()
        if not title or not summary:
            return ToolOutcome("title and summary: expected text, got only white space", is_error=True)
        self.description = Description(title, summary, str(arguments.get("notes", "")).strip())
        return ToolOutcome("Noted.", metadata={"title": title})


SUBMIT_PLAN = ToolSpec(
    name="submit_plan",
    description=(
        "Hand over the plan when you know enough; it ends the run. It is posted for people to approve, and what they "
        "approve is carried out step by step, as it stands here."
    ),
    parameters=schema.record(
        ["title", "steps"],
        title=schema.text(
            "What the plan achieves, in the imperative, one line", minLength=1, maxLength=MAX_TITLE
        ),
        steps=schema.array(
            schema.record(
                ["text"],
                text=schema.text(
                    "What is done, exactly enough for somebody who did not read the code",
                    minLength=1,
                    maxLength=MAX_TEXT,
                ),
                paths=schema.array(
                    schema.text(),
                    "Files it touches, relative to the repository root; new ones too",
                    maxItems=MAX_PATHS,
                ),
            ),
            "In the order in which they are to be done",
            minItems=1,
            maxItems=MAX_STEPS,
        ),
        risks=schema.text("What may go wrong or is not known yet", maxLength=MAX_RISKS),
        estimate_turns=schema.whole(
            "About how many answers with tool calls carrying it out will take you", minimum=0
        ),
    ),
)


class SubmitPlan:
    """Stores the plan of the last valid call; `None` before."""

    spec = SUBMIT_PLAN

    def __init__(self) -> None:
        self.plan: Plan | None = None

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        plan = Plan(
            title=" ".join(_text(arguments["title"]).split()),
            steps=tuple(_step(step) for step in arguments["steps"]),
            risks=_text(arguments.get("risks", "")),
            estimate_turns=int(arguments.get("estimate_turns", 0)),
        )
        if plan.problem:
            note = "" if self.plan is None else " The plan submitted before stands."
            return ToolOutcome(f"The plan was not taken. {plan.problem}.{note}", is_error=True)
        self.plan = plan
        return ToolOutcome("Noted.", metadata={"plan": plan.hash, "title": plan.title})


def _step(step: Mapping[str, Any]) -> PlanStep:
    paths = (_text(path).removeprefix("./") for path in step.get("paths", ()))
    return PlanStep(_text(step["text"]), tuple(dict.fromkeys(paths)))


def _text(value: object) -> str:
    """Return the value as text without invisible characters."""
    return visible_text(str(value)).strip()


MAX_QUESTION = 2_000
ANSWER = "answer"
"""Key in a result's metadata: the question was answered during the run."""

ASK_USER = ToolSpec(
    name="ask_user",
    description=(
        "Ask the requester one question, which ends the run: only if a wrong guess would waste the work. Otherwise "
        "choose, and say what you chose."
    ),
    parameters=schema.record(["question"], question=schema.text(maxLength=MAX_QUESTION)),
)


class AskUser:
    """Stores the first unanswered question, which ends the run; empty before.

    `person` answers at the terminal; it returns an empty text if nobody does.
    """

    spec = ASK_USER

    def __init__(self, person: Callable[[str], str] = lambda question: "") -> None:
        self.question = ""
        self._person = person

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        question = str(arguments["question"]).strip()
        if not question:
            return ToolOutcome("question: expected a question, got only white space", is_error=True)
        if self.question:
            return ToolOutcome("One question is asked already, and it stands.", is_error=True)
        if answer := self._person(question):
            return ToolOutcome(f"They answered: {answer}", metadata={"question": question, ANSWER: answer})
        self.question = question
        return ToolOutcome("Asked. The run ends here.", metadata={"question": question})

    def stop(self) -> Stop | None:
        """Return the stop for an open question; the loop calls it after each call."""
        return Stop(StopReason.NEEDS_INPUT, "The model asks a question.") if self.question else None
