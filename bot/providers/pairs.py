"""Last check of a conversation before it is sent: each call has exactly one result, directly after it, in
order.

The loop ensures this; a conversation from elsewhere may not, and every vendor refuses all of it for one stray
result (S-053). A missing result is replaced by a note, a stray one is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.contracts.messages import Message, Part, ToolCall, ToolResult

NO_RESULT = "No result of this call was kept: it may or may not have run."


class ResultPairing:
    """Checks each message once: a conversation grows at its end, and every turn sends all of it again."""

    def __init__(self) -> None:
        self._count = 0
        self._last: Message | None = None
        self._open: list[str] = []
        self._seen: set[str] = set()

    def of(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return `messages` itself if every call has its result, otherwise a corrected conversation."""
        if self._count > len(messages) or (self._count and messages[self._count - 1] is not self._last):
            self._forget()
        if self._is_complete(messages[self._count :]) and not self._open:
            self._count, self._last = len(messages), messages[-1] if messages else None
            return messages
        self._forget()
        return pair_results(messages)

    def _is_complete(self, messages: Iterable[Message]) -> bool:
        for message in messages:
            results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
            if results != self._open or (results and message.role != "tool"):
                return False
            self._open = [call.id for call in message.calls]
            if self._open and (message.role != "assistant" or not self._seen.isdisjoint(self._open)):
                return False
            self._seen.update(self._open)
            if len(set(self._open)) != len(self._open) or "" in self._open:
                return False
        return True

    def _forget(self) -> None:
        self._count, self._last, self._open, self._seen = 0, None, [], set()


def pair_results(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation with one result directly after each call; deterministic."""
    conversation: list[Message] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if message.role != "assistant":
            content = tuple(part for part in rest if not isinstance(part, ToolCall))
            if content:
                conversation.append(Message("user", content))
            continue
        results = _results_after(messages[index + 1 :])
        parts, results = _with_results(rest, results, seen)
        conversation.append(replace(message, parts=parts))
        if results:
            conversation.append(Message("tool", tuple(results)))
    return conversation


def _results_after(messages: Sequence[Message]) -> list[ToolResult]:
    """Return the results up to the next response of the model: they belong to the calls before."""
    results: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant":
            break
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results


def _with_results(
    parts: tuple[Part, ...], candidates: list[ToolResult], seen: set[str]
) -> tuple[tuple[Part, ...], list[ToolResult]]:
    """Return the parts with unique ids, and each call's first result, in the order of the calls."""
    new_parts: list[Part] = []
    results: list[ToolResult] = []
    for part in parts:
        if not isinstance(part, ToolCall):
            new_parts.append(part)
            continue
        match = next((result for result in candidates if result.call_id == part.id), None)
        if match is not None:
            candidates.remove(match)
        id = part.id
        while not id or id in seen:
            id = f"{part.id or 'call'}_{len(seen)}" if id == part.id else f"{id}_"
        seen.add(id)
        new_parts.append(replace(part, id=id))
        answer = match or ToolResult(id, part.name, NO_RESULT, is_error=True)
        results.append(replace(answer, call_id=id))
    return tuple(new_parts), results
