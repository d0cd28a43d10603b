"""`ask_user`: the one question that ends a run, to be gone on from when somebody has answered it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.agent.finish import Stop
from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolOutcome, ToolSpec

MAX_QUESTION = 2_000

ASK_USER = ToolSpec(
    name="ask_user",
    description=(
        "Ask the requester one question and end the run; their answer continues it. Only if you cannot find out "
        "yourself and a wrong guess would make the work worthless: otherwise choose, and say what you chose."
    ),
    parameters={
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUESTION,
                "description": "with what they need to answer it, and the answers you would take",
            },
        },
        "required": ["question"],
    },
)


class AskUser:
    """Keeps the question; empty until one was asked. The first one stands."""

    spec = ASK_USER

    def __init__(self) -> None:
        self.question = ""

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        question = str(arguments["question"]).strip()
        if not question:
            return ToolOutcome("question: expected a question, got only white space", is_error=True)
        if self.question:
            return ToolOutcome("One question is asked already, and it stands.", is_error=True)
        self.question = question
        return ToolOutcome("Asked. The run ends here.", metadata={"question": question})

    def stop(self) -> Stop | None:
        """For the loop, after each turn: a question ends the run."""
        return Stop(StopReason.NEEDS_INPUT, "The model asks a question.") if self.question else None
