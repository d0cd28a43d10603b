"""Counters for a session without progress: repeated calls, denials, truncated responses; and the cache that
keeps a long result from being repeated in the conversation (S-085)."""

from __future__ import annotations

from bot.contracts.messages import ToolCall

REPEATS_BEFORE_NOTICE = 3
MAX_DENIALS = 5
MAX_TRUNCATIONS = 3

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
        """Return the length of the current series of equal results, 1 for the first."""
        key = (call.name, call.arguments, content)
        self._times = self._times + 1 if key == self._last else 1
        self._last = key
        return self._times


MIN_CACHED_LENGTH = 2_000
"""Characters. Shorter results are always repeated."""


class RereadCache:
    """Results of read-only calls in this conversation, by tool and arguments. A compaction clears it."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, str], tuple[int, str]] = {}

    def content_or_reference(self, turn: int, call: ToolCall, content: str) -> str:
        """Return `content`, or a reference to the earlier turn that has the same long result."""
        key = (call.name, call.arguments)
        first_turn, earlier = self._results.get(key, (0, ""))
        if earlier == content and len(content) > MIN_CACHED_LENGTH:
            return f"(Unchanged: the same as this call's result in turn {first_turn}, which stands above.)"
        self._results[key] = turn, content
        return content

    def forget_reads(self) -> None:
        self._results.clear()
