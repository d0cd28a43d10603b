"""`todo`: the model's own list of what is to do, given whole each time and said back whole.

The list is advice to the model itself, never control flow (S-106). Said back, it stands at the end of the
conversation, where a model looks first (S-162); what was said earlier is never changed (S-146).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from bot.agent.variation import Variation
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.tools import ToolOutcome, ToolSpec

MAX_ITEMS = 20
MAX_TEXT = 200
QUIET_ROUNDS = 10
"""After so many rounds of tool calls without an update, open items are recalled once, then again after as many."""

Status = Literal["pending", "in_progress", "completed"]
_BOXES: Mapping[str, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}

_HEADS = ("", "The list now:\n", "Noted. It stands so:\n")

TODO = ToolSpec(
    name="todo",
    description="Keep your list of steps: the whole list each time, at most one in progress.",
    parameters={
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "status": {"type": "string", "enum": list(_BOXES)},
                    },
                    "required": ["text", "status"],
                },
            },
        },
        "required": ["items"],
    },
)


class Item(NamedTuple):
    """One thing to do; its place in the list is its name."""

    text: str
    status: Status


class Todo:
    """Keeps the list that was given last; empty until then."""

    spec = TODO

    def __init__(self, variation: Variation = Variation()) -> None:  # noqa: B008  a value, never changed
        self.items: tuple[Item, ...] = ()
        self._variation = variation
        self._taken = 0
        self._quiet = 0

    @property
    def open(self) -> tuple[Item, ...]:
        """What is not completed."""
        return tuple(item for item in self.items if item.status != "completed")

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        items = tuple(Item(_line(item["text"]), item["status"]) for item in arguments["items"])
        if trouble := _trouble(items):
            kept = " The list from before stands." if self.items else ""
            return ToolOutcome(f"The list was not taken: {trouble}.{kept}", is_error=True)
        self.items = items
        self._quiet = 0
        self._taken += 1
        head = self._variation.pick(_HEADS, self._taken) if items else ""
        return ToolOutcome(head + rendered(items), metadata={"open": len(self.open), "items": len(items)})

    def recall(self, calls: Sequence[ToolCall]) -> str:
        """What to say after the results of a round that made `calls`; mostly nothing."""
        if not calls or not self.open:
            return ""
        self._quiet = 0 if any(call.name == self.spec.name for call in calls) else self._quiet + 1
        if self._quiet < QUIET_ROUNDS:
            return ""
        self._quiet = 0
        return (
            f"(Your list was not updated for {QUIET_ROUNDS} rounds. It stands so; update it, or go on.)\n"
            f"{rendered(self.items)}"
        )


def rendered(items: Sequence[Item]) -> str:
    """The list as text, one line an item."""
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    lines = [f"{number}. {_BOXES[item.status]} {item.text}" for number, item in enumerate(items, 1)]
    return "\n".join([*lines, f"({done} of {len(items)} done)"])


def _trouble(items: Sequence[Item]) -> str:
    if len(items) > MAX_ITEMS:
        return f"it has {len(items)} items, and {MAX_ITEMS} are the most"
    if blank := next((number for number, item in enumerate(items, 1) if not item.text), 0):
        return f"item {blank} has no text"
    running = [number for number, item in enumerate(items, 1) if item.status == "in_progress"]
    if len(running) > 1:
        return f"items {' and '.join(map(str, running))} are in progress; at most one may be"
    return ""


def _line(text: object) -> str:
    return " ".join(str(text).split())[:MAX_TEXT]
