"""Result tools: how the model hands over what it did, typed, not in prose. They run in the supervisor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import Description
from bot.contracts.tools import ToolOutcome, ToolSpec

MAX_TITLE = 72

DESCRIBE_CHANGE = ToolSpec(
    name="describe_change",
    description=(
        "Hand over the description of your change; call it once, when you are done. "
        "It becomes the pull request's title and text. A later call replaces an earlier one."
    ),
    parameters={
        "type": "object",
        "properties": {
            "title": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_TITLE,
                "description": "What changed, in the imperative, one line",
            },
            "summary": {
                "type": "string",
                "minLength": 1,
                "description": "What was wrong and how the change fixes it, Markdown",
            },
            "notes": {
                "type": "string",
                "description": "For the reviewer: what you did not verify, risks, questions",
            },
        },
        "required": ["title", "summary"],
    },
)


class DescribeChange:
    """Collects what `describe_change` was called with; the last call wins."""

    spec = DESCRIBE_CHANGE

    def __init__(self) -> None:
        self.description = Description()

    def call_it(self, title: str) -> None:
        """Take a title for a change that was not described."""
        self.description = Description(title)

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        title = " ".join(str(arguments["title"]).split())
        if not title:
            return ToolOutcome("title: expected a line of text, got only white space", is_error=True)
        self.description = Description(
            title, str(arguments["summary"]).strip(), str(arguments.get("notes", "")).strip()
        )
        return ToolOutcome("Noted.", metadata={"title": title})
