"""`propose_write`: how a model writes on threads: it proposes, a write a call, and is told at once why one is refused.

Nothing is written here: what was accepted goes into the bundle, and is judged again when that is published. What may
be written where is for `judge` to know: this room knows no GitHub.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.contracts.writes import (
    MAX_BODY,
    MAX_LABEL,
    MAX_TITLE,
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    EditThread,
    RemoveLabel,
    Write,
    Writes,
    named,
)

KINDS = ("comment", "reply", "add_label", "remove_label", "close", "edit")

PROPOSE_WRITE = ToolSpec(
    name="propose_write",
    description=(
        "Propose one thing to be written on a thread of this run. It is checked now and made after the run: a refusal "
        "says why, and what was accepted stands. kind says which of the other arguments count: comment takes body; "
        "reply takes comment_id and body; add_label and remove_label take label; close takes reason; edit takes "
        "title, body or both."
    ),
    parameters={
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": list(KINDS)},
            "number": {"type": "integer", "minimum": 1, "description": "The issue or pull request"},
            "body": {
                "type": "string",
                "maxLength": MAX_BODY,
                "description": "Markdown, as people will read it: no HTML comments, no commands to bots",
            },
            "comment_id": {
                "type": "integer",
                "minimum": 1,
                "description": "For reply: the review comment that is answered",
            },
            "label": {"type": "string", "maxLength": MAX_LABEL},
            "reason": {
                "type": "string",
                "enum": ["completed", "not_planned"],
                "description": "For close; not_planned if left out",
            },
            "title": {"type": "string", "maxLength": MAX_TITLE, "description": "For edit: one line"},
        },
        "required": ["kind", "number"],
    },
)

Judge = Callable[[Write, Sequence[Write]], str]
"""Why a write may not be made after those before it; empty where it may."""
Record = Callable[[Write, str], None]
"""Told of each proposal and why it was refused, if it was."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "comment": ("body",),
    "reply": ("comment_id", "body"),
    "add_label": ("label",),
    "remove_label": ("label",),
}


class ProposeWrite:
    """Collects the writes that were accepted, in their order."""

    spec = PROPOSE_WRITE

    def __init__(self, judge: Judge, record: Record = lambda write, refused: None) -> None:
        self._judge = judge
        self._record = record
        self._accepted: list[Write] = []

    @property
    def writes(self) -> Writes | None:
        return Writes(tuple(self._accepted)) if self._accepted else None

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """The handler for the toolbox; the arguments fit the schema already."""
        kind = str(arguments["kind"])
        missing = [name for name in _NEEDED.get(kind, ()) if not arguments.get(name)]
        if missing:
            return ToolOutcome(f"Refused: {kind} needs {' and '.join(missing)}.", is_error=True)
        write = _write(kind, arguments)
        refused = self._judge(write, self._accepted)
        self._record(write, refused)
        if refused:
            return ToolOutcome(f"Refused: {refused}", is_error=True)
        self._accepted.append(write)
        said = f"Accepted: {named(write)}. It is made after the run, if the thread is still as it was."
        return ToolOutcome(said, metadata={"kind": write.kind, "number": write.number})


def _write(kind: str, given: Mapping[str, Any]) -> Write:
    number = int(given["number"])
    match kind:
        case "comment":
            return AddComment(number, _text(given["body"]))
        case "reply":
            return AddReply(number, int(given["comment_id"]), _text(given["body"]))
        case "add_label":
            return AddLabel(number, _text(given["label"]))
        case "remove_label":
            return RemoveLabel(number, _text(given["label"]))
        case "close":
            return CloseThread(number, "completed" if given.get("reason") == "completed" else "not_planned")
        case _:
            return EditThread(number, _text(given.get("title", "")), _text(given.get("body", "")))


def _text(value: object) -> str:
    """Without half characters, which JSON can spell and no file can hold."""
    return str(value).strip()
