"""The last look at a conversation before it is sent: each call has its one result, right behind it, in its order.

The loop keeps it so; a conversation put together from elsewhere may not be, and every vendor refuses it whole for one
stray result (S-053). What is missing is said to be missing, what belongs nowhere is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.contracts.messages import Message, Part, ToolCall, ToolResult

NO_RESULT = "No result of this call was kept: it may or may not have run."


class Pairs:
    """Looks at each message once: a conversation grows at its end, and every turn sends all of it again."""

    def __init__(self) -> None:
        self._count = 0
        self._last: Message | None = None
        self._open: list[str] = []
        self._seen: set[str] = set()

    def of(self, messages: Sequence[Message]) -> Sequence[Message]:
        """`messages` themselves where every call has its result; otherwise a conversation where it has."""
        if self._count > len(messages) or (self._count and messages[self._count - 1] is not self._last):
            self._forget()
        if self._are_whole(messages[self._count :]) and not self._open:
            self._count, self._last = len(messages), messages[-1] if messages else None
            return messages
        self._forget()
        return paired(messages)

    def _are_whole(self, messages: Iterable[Message]) -> bool:
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


def paired(messages: Sequence[Message]) -> list[Message]:
    """The conversation with every call answered once, right behind it; the same for the same messages."""
    whole: list[Message] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if message.role != "assistant":
            said = tuple(part for part in rest if not isinstance(part, ToolCall))
            if said:
                whole.append(Message("user", said))
            continue
        given = _results_behind(messages[at + 1 :])
        parts, results = _answered(rest, given, seen)
        whole.append(replace(message, parts=parts))
        if results:
            whole.append(Message("tool", tuple(results)))
    return whole


def _results_behind(messages: Sequence[Message]) -> list[ToolResult]:
    """The results up to the next answer of the model: they can only be of the calls before."""
    found: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant":
            break
        found += [part for part in message.parts if isinstance(part, ToolResult)]
    return found


def _answered(
    parts: tuple[Part, ...], given: list[ToolResult], seen: set[str]
) -> tuple[tuple[Part, ...], list[ToolResult]]:
    """The parts with ids of their own, and each call's first result, in the order of the calls."""
    kept: list[Part] = []
    results: list[ToolResult] = []
    for part in parts:
        if not isinstance(part, ToolCall):
            kept.append(part)
            continue
        found = next((result for result in given if result.call_id == part.id), None)
        if found is not None:
            given.remove(found)
        id = part.id
        while not id or id in seen:
            id = f"{part.id or 'call'}_{len(seen)}" if id == part.id else f"{id}_"
        seen.add(id)
        kept.append(replace(part, id=id))
        answer = found or ToolResult(id, part.name, NO_RESULT, is_error=True)
        results.append(replace(answer, call_id=id))
    return tuple(kept), results
