"""`todo`: the model's own list of steps, sent whole each time and repeated whole in the result.

The list is a note of the model, never control flow (S-106). Repeated, it stands at the end of the conversation,
which models read first (S-162); earlier messages never change (S-146).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolArguments, ToolOutcome, ToolSpec

MAX_ITEMS = 20
MAX_TEXT = 200

Status = Literal["pending", "in_progress", "completed"]
_BOXES: Mapping[str, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}

TODO = ToolSpec(
    name="todo",
    description="Your list of steps, whole each time.",
    parameters=schema.record(
        "items",
        items=schema.array(
            schema.record("text status", text=schema.text(), status=schema.text(enum=list(_BOXES)))
        ),
    ),
)


class Item(NamedTuple):
    """One step; its number is its position in the list."""

    text: str
    status: Status


class Todo:
    """Stores the last valid list; empty before."""

    spec = TODO

    def __init__(self) -> None:
        self.items: tuple[Item, ...] = ()

    @property
    def open(self) -> tuple[Item, ...]:
        """The items that are not completed."""
        return tuple(item for item in self.items if item.status != "completed")

    def __call__(self, arguments: ToolArguments, cancel: CancelToken) -> ToolOutcome:
        items = tuple(Item(_line(item["text"]), item["status"]) for item in arguments["items"])
        if problem := _list_problem(items):
            note = " The list from before stands." if self.items else ""
            return ToolOutcome(f"The list was not taken: {problem}.{note}", is_error=True)
        self.items = items
        return ToolOutcome(render_list(items), metadata={"open": len(self.open), "items": len(items)})


def render_list(items: Sequence[Item]) -> str:
    """Return the list as text, one line an item."""
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    lines = [f"{number}. {_BOXES[item.status]} {item.text}" for number, item in enumerate(items, 1)]
    return "\n".join([*lines, f"({done} of {len(items)} done)"])


def _list_problem(items: Sequence[Item]) -> str:
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
