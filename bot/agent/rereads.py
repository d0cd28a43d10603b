"""A long result that the model has before it already is not put to it again: same call, same answer (S-085).

Only where the earlier one is still in the conversation: making that shorter forgets all of them.
"""

from __future__ import annotations

from bot.contracts.messages import ToolCall

LONG = 2_000
"""Characters up to which saying it again is no loss."""


class Rereads:
    """What read-only calls were answered in this conversation, by what was asked."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], tuple[int, str]] = {}

    def said(self, turn: int, call: ToolCall, content: str) -> str:
        """What to say for `content`, the result of a call that only reads."""
        key = (call.name, call.arguments)
        first, known = self._answers.get(key, (0, ""))
        if known == content and len(content) > LONG:
            return f"(Unchanged: the same as this call's result in turn {first}, which stands above.)"
        self._answers[key] = turn, content
        return content

    def forget(self) -> None:
        """Nothing of it is in the conversation any more."""
        self._answers.clear()
