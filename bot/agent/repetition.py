"""Detect a model that repeats itself: one call with the same result, edits in a row, denied calls in a row."""

from typing import Any

from bot.agent.limits import Stop
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import StopReason

REPEATS_BEFORE_NOTICE = 3
SUCCESSES_WITHOUT_NUMBER = 3
"""In a row, of one tool that changes files. From the next on each result has its number, since a model that reads the
same words again and again begins to repeat itself."""
MAX_DENIALS = 5

REPEAT_NOTICE = (
    "\n\n(This is the third time in a row that the same call had the same result. Doing it again ends the "
    "run: try another way, or end your turn and say what blocks you.)"
)


class _Streak:
    """Counts how many times in a row the same value occurred; `None` resets it."""

    def __init__(self) -> None:
        self.length, self._last = 0, None

    def add(self, value: Any) -> None:
        self.length = 0 if value is None else self.length + 1 if value == self._last else 1
        self._last = value


class Repetition:
    def __init__(self) -> None:
        self._calls, self._changes, self._denials = _Streak(), _Streak(), _Streak()

    def note(self, call: ToolCall, content: str, *, changes: bool) -> str:
        """Count a call with the result `content`, which `changes` files or does not, and return the text that follows
        the result, mostly empty."""
        self._calls.add((call.name, call.arguments, content))
        self._changes.add(call.name if changes else None)
        note = REPEAT_NOTICE if self._calls.length == REPEATS_BEFORE_NOTICE else ""
        if self._changes.length > SUCCESSES_WITHOUT_NUMBER:
            note += f"\n({call.name}: number {self._changes.length} in a row)"
        return note

    def stop(self, name: str, *, denied: bool) -> Stop | None:
        """Return the stop if the call of `name` that was counted last is one too many."""
        self._denials.add(denied or None)
        if self._denials.length >= MAX_DENIALS:
            return Stop(StopReason.DENIED, f"{self._denials.length} calls in a row were denied.")
        if self._calls.length > REPEATS_BEFORE_NOTICE:
            words = f"The model repeated one call of {name} with the same result {self._calls.length} times."
            return Stop(StopReason.LOOP, words)
        return None
