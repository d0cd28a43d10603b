"""One response as it grows: blocks in stream order, and the events that tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from bot.contracts.events import ArgumentsDelta, Complete, Event, TextDelta, ThinkingDelta, ToolEnd, ToolStart
from bot.contracts.messages import Finish, Message, Part, Text, Thinking, ToolCall, Usage
from bot.providers.encoding import argument_object


@dataclass(slots=True)
class TextBlock:
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ThinkingBlock:
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    redacted: str | None = None


@dataclass(slots=True)
class CallBlock:
    """`index` counts the calls of the response, from 0."""

    index: int
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    ended: bool = False


Block = TextBlock | ThinkingBlock | CallBlock
_Added = TypeVar("_Added", TextBlock, ThinkingBlock, CallBlock)


class Assembly:
    """Collects blocks; every change is told as events of the grammar."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._calls = 0
        self.usage = Usage()

    @property
    def is_empty(self) -> bool:
        return not self._blocks

    @property
    def calls(self) -> list[CallBlock]:
        return [block for block in self._blocks if isinstance(block, CallBlock)]

    @property
    def last(self) -> Block | None:
        return self._blocks[-1] if self._blocks else None

    def add(self, block: _Added) -> _Added:
        self._blocks.append(block)
        return block

    def text(self, block: TextBlock, text: str) -> Iterator[Event]:
        if text:
            block.pieces.append(text)
            yield TextDelta(text)

    def thinking(self, block: ThinkingBlock, text: str) -> Iterator[Event]:
        if text:
            block.pieces.append(text)
            yield ThinkingDelta(text)

    def start_call(self, id: str, name: str) -> tuple[CallBlock, Event]:
        block = self.add(CallBlock(self._calls, id, name))
        self._calls += 1
        return block, ToolStart(block.index, id, name)

    def arguments(self, block: CallBlock, text: str) -> Iterator[Event]:
        if text:
            block.pieces.append(text)
            yield ArgumentsDelta(block.index, text)

    def end_call(self, block: CallBlock) -> Iterator[Event]:
        if not block.ended:
            block.ended = True
            yield ToolEnd(block.index)

    def message(self, *, truncated: bool = False) -> Message:
        """What there is so far. With `truncated`, the last call counts as whole only if its arguments are.

        Vendors close the block they cut at the token limit, so an end event alone proves nothing there.
        """
        parts: list[Part] = []
        for block in self._blocks:
            parts += _part(block, suspicious=truncated and block is self._blocks[-1])
        return Message("assistant", tuple(parts))

    def complete(self, finish: Finish, raw_reason: str) -> Complete:
        """The terminal event. Whether calls are present decides over the vendor's word: some servers say
        "stop" with calls, and a response whose calls are cut is cut (reference S-027)."""
        message = self.message(truncated=finish is Finish.MAX_TOKENS)
        if finish in (Finish.END_TURN, Finish.TOOL_USE):
            if not message.calls:
                finish = Finish.END_TURN
            elif all(call.complete for call in message.calls):
                finish = Finish.TOOL_USE
            else:
                finish = Finish.MAX_TOKENS
        return Complete(message, finish, raw_reason, self.usage)


def _part(block: Block, *, suspicious: bool) -> list[Part]:
    text = "".join(block.pieces)
    if isinstance(block, TextBlock):
        return [Text(text)] if text else []
    if isinstance(block, ThinkingBlock):
        if not text and not block.signature and block.redacted is None:
            return []
        return [Thinking(text, block.signature or None, block.redacted)]
    whole = block.ended
    if suspicious:
        whole = whole and bool(text.strip()) and argument_object(text) is not None
    return [ToolCall(block.id, block.name, text, whole)]
