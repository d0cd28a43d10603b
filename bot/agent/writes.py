"""`propose_write`: the model proposes writes on threads, one a call, and gets the reason for a refusal at once.

Nothing is written here: accepted writes go into the bundle and are checked again when it is published. The
caller's `check` decides what may be written where: this module does not depend on GitHub.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.contracts.writes import (
    FIELDS,
    MAX_BODY,
    MAX_LABEL,
    MAX_TITLE,
    Write,
    WriteKind,
    Writes,
    describe_write,
)

PROPOSE_WRITE = ToolSpec(
    name="propose_write",
    description=(
        "Propose one thing to be written on a thread of this run. It is checked now and made after the run: a refusal "
        "says why, and what was accepted stands. kind says which of the other arguments count: comment takes body; "
        "reply takes comment_id and body; add_label and remove_label take label; close takes reason; edit takes "
        "title, body or both."
    ),
    parameters=schema.record(
        ["kind", "number"],
        kind=schema.text(enum=list(FIELDS)),
        number=schema.whole("The issue or pull request", minimum=1),
        body=schema.text(
            "Markdown, as people will read it: no HTML comments, no commands to bots", maxLength=MAX_BODY
        ),
        comment_id=schema.whole("For reply: the review comment that is answered", minimum=1),
        label=schema.text(maxLength=MAX_LABEL),
        reason=schema.text("For close; not_planned if left out", enum=["completed", "not_planned"]),
        title=schema.text("For edit: one line", maxLength=MAX_TITLE),
    ),
)

WriteCheck = Callable[[Write, Sequence[Write]], str]
"""Returns why a write is refused after those before it; empty if it is allowed."""
RecordProposal = Callable[[Write, str], None]
"""Called with each proposal and the reason for its refusal, if any."""

_OPTIONAL = ("close", "edit")
"""Kinds whose fields may be left out."""


class ProposeWrite:
    """Collects accepted writes in order."""

    spec = PROPOSE_WRITE

    def __init__(self, check: WriteCheck, record: RecordProposal = lambda write, refusal: None) -> None:
        self._check = check
        self._record = record
        self._accepted: list[Write] = []

    @property
    def writes(self) -> Writes | None:
        return Writes(tuple(self._accepted)) if self._accepted else None

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        kind: WriteKind = arguments["kind"]
        missing = [name for name in FIELDS[kind] if kind not in _OPTIONAL and not arguments.get(name)]
        if missing:
            return ToolOutcome(f"Refused: {kind} needs {' and '.join(missing)}.", is_error=True)
        write = _write(kind, arguments)
        refusal = self._check(write, self._accepted)
        self._record(write, refusal)
        if refusal:
            return ToolOutcome(f"Refused: {refusal}", is_error=True)
        self._accepted.append(write)
        return ToolOutcome(
            f"Accepted: {describe_write(write)}. It is made after the run, if the thread is still as it was.",
            metadata={"kind": write.kind, "number": write.number},
        )


def _write(kind: WriteKind, arguments: Mapping[str, Any]) -> Write:
    given = {name: arguments[name] for name in FIELDS[kind] if arguments.get(name)}
    texts = {name: str(given[name]).strip() for name in ("body", "title", "label") if name in given}
    return Write(
        kind,
        int(arguments["number"]),
        **texts,
        comment_id=int(given.get("comment_id", 0)),
        reason="completed" if given.get("reason") == "completed" else "not_planned",
    )
