"""The conversation so far: it only grows, at its end, and cannot be sent while a call is unanswered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain, count, islice
from typing import overload

from bot.contracts.messages import Image, Message, Part, Text, ToolCall, ToolResult

LEFT_OUT = (
    "(The call succeeded. Its result was left out to make room: ask again for what you still need of it.)"
)


class HistoryError(Exception):
    """A call would go unanswered, or be answered twice or out of order: a bug of ours, never the model's."""


class History:
    """Messages, checked as they are added (S-010, S-053) at a cost that does not grow with their number."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._open: tuple[ToolCall, ...] = ()
        self._ids: set[str] = set()
        # How many messages stand behind a summary that was not there when they were made.
        self.moved = 0
        self._digest = sha256()

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def digest(self) -> str:
        """A hash of all messages, one after the other: a request goes on from another where the hash of its first
        messages is the other's."""
        return self._digest.hexdigest()[:16]

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last message that wait for their results."""
        return self._open

    def add_user(self, text: str, images: Sequence[Image] = ()) -> Message:
        self._refuse_open("a user message")
        message = Message("user", (Text(text), *images))
        self._append(message)
        return message

    def add_assistant(self, message: Message, turn: int) -> Message:
        """Add the model's message and return it as kept. An empty message is not kept.

        A call whose id is empty or was used before gets a new one, since vendors refuse two calls of one id.
        """
        self._refuse_open("an assistant message")
        if not message.parts:
            return message
        kept = self._with_unique_ids(message, turn)
        self._append(kept)
        self._open = kept.calls
        return kept

    def add(self, message: Message) -> Message:
        """Add a message that a history held before, and return it as kept."""
        if message.role == "assistant":
            return self.add_assistant(message, 0)
        if message.role == "tool":
            return self.add_results([part for part in message.parts if isinstance(part, ToolResult)])
        self._refuse_open("a user message")
        self._append(message)
        return message

    def add_results(self, results: Sequence[ToolResult]) -> Message:
        """Add the one message that answers every open call, in the order of the calls, and return it."""
        wanted, given = [call.id for call in self._open], [result.call_id for result in results]
        if not wanted or wanted != given:
            raise HistoryError(f"the calls {wanted} were answered by {given}")
        message = Message("tool", tuple(results))
        self._append(message)
        self._open = ()
        return message

    def shorten(self, text: str, first_kept: int) -> None:
        """Put one user message in the place of everything between the first message and number `first_kept`.

        Views of earlier requests stay as they are.
        """
        self._refuse_open("a shorter history")
        kept = self._messages[first_kept:]
        if not 1 < first_kept <= len(self._messages) or (kept and kept[0].role != "assistant"):
            raise HistoryError(f"message {first_kept} is not where an answer of the model begins")
        self._replace([self._messages[0], Message("user", (Text(text),)), *kept])

    def drop(self, calls: Sequence[str]) -> None:
        """Put `LEFT_OUT` in the place of the results of `calls`."""
        self._refuse_open("a shorter history")
        self._replace([_without(message, frozenset(calls)) for message in self._messages])

    def _replace(self, messages: Sequence[Message]) -> None:
        # A new list: views of earlier requests look at the one before.
        self._messages, self._digest = [], sha256()
        for message in messages:
            self._append(message)
        self.moved = len(self._messages)

    def view(self) -> Sequence[Message]:
        """The messages of one request. Costs nothing, and does not change when the history grows."""
        self._refuse_open("a request")
        return _View(self._messages, len(self._messages))

    def _append(self, message: Message) -> None:
        self._messages.append(message)
        self._digest.update(repr(message).encode("utf-8", "replace"))

    def _refuse_open(self, what: str) -> None:
        if self._open:
            raise HistoryError(
                f"{what} came while the calls {[call.id for call in self._open]} wait for results"
            )

    def _with_unique_ids(self, message: Message, turn: int) -> Message:
        parts: list[Part] = []
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if not part.id or part.id in self._ids:
                    part = replace(part, id=self._new_id(f"call_{turn}_{place}"))
                self._ids.add(part.id)
            parts.append(part)
        return replace(message, parts=tuple(parts))

    def _new_id(self, wanted: str) -> str:
        """`wanted`, or where a conversation that was gone on with has it already, the next that is free."""
        return next(
            name for name in chain((wanted,), (f"{wanted}_{n}" for n in count(2))) if name not in self._ids
        )


def _without(message: Message, calls: frozenset[str]) -> Message:
    if message.role != "tool":
        return message
    parts = (
        replace(part, content=LEFT_OUT) if isinstance(part, ToolResult) and part.call_id in calls else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts))


class _View(Sequence[Message]):
    """The first `length` messages of a list that only grows."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message], length: int) -> None:
        self._messages = messages
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._messages, self._length)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._messages[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._messages[index + self._length if index < 0 else index]
