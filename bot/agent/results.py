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
    description="Hand over your change, as your last call: it ends the run.",
    parameters={
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": MAX_TITLE, "description": "imperative"},
            "summary": {"type": "string", "description": "cause and fix, Markdown"},
            "notes": {"type": "string", "description": "for the reviewer: risks, not verified"},
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
        summary = str(arguments["summary"]).strip()
        if not title or not summary:
            return ToolOutcome("title and summary: expected text, got only white space", is_error=True)
        self.description = Description(title, summary, str(arguments.get("notes", "")).strip())
        return ToolOutcome("Noted.", metadata={"title": title})
