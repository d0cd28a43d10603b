"""The marks of a session that gets nowhere, and how many of them in a row are too many."""

from __future__ import annotations

from bot.contracts.messages import ToolCall

SAME_CALL_TOLD = 3
DENIALS_IN_A_ROW = 5
TRUNCATIONS_IN_A_ROW = 3

REPEAT_NOTICE = (
    "\n\n(This is the third time in a row that the same call had the same result. Doing it again ends the "
    "run: try another way, or end your turn and say what blocks you.)"
)


class RepeatGuard:
    """Counts how often in a row the same call had the same result."""

    def __init__(self) -> None:
        self._last: tuple[str, str, str] | None = None
        self._times = 0

    def count(self, call: ToolCall, content: str) -> int:
        """How many times in a row `call` has now been answered with `content`; 1 is the first."""
        key = (call.name, call.arguments, content)
        self._times = self._times + 1 if key == self._last else 1
        self._last = key
        return self._times
