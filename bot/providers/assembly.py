"""One response as it grows: blocks in stream order, and the events that tell of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bot.contracts.events import ArgumentsDelta, Complete, Event, TextDelta, ThinkingDelta, ToolEnd, ToolStart
from bot.contracts.messages import Finish, Message, Part, Text, Thinking, ToolCall, Usage
from bot.providers.carried import carry
from bot.providers.encoding import argument_object, clean


@dataclass(slots=True)
class TextBlock:
    """`half`, in every block, is a surrogate at the end of a delta whose other half the next delta may begin with."""

    pieces: list[str] = field(default_factory=list)
    half: str = ""
    carried: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ThinkingBlock:
    """`part` is the section of a summary that was written last."""

    pieces: list[str] = field(default_factory=list)
    half: str = ""
    part: int = 0
    signature: str = ""
    redacted: str | None = None
    carried: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class CallBlock:
    """`index` counts the calls of the response, from 0."""

    index: int
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    half: str = ""
    ended: bool = False
    carried: dict[str, Any] = field(default_factory=dict)


Block = TextBlock | ThinkingBlock | CallBlock
_FIRST_HALF = re.compile("[\ud800-\udbff]\\Z")
_Added = TypeVar("_Added", TextBlock, ThinkingBlock, CallBlock)


class Assembly:
    """Collects blocks; every change is told as events of the grammar. `by` is the model behind its wire format,
    to which its thinking and what it wants back belong."""

    def __init__(self, by: str = "") -> None:
        self._by = by
        self._blocks: list[Block] = []
        self._calls = 0
        self._settled = Usage()
        self.usage = Usage()

    @property
    def total(self) -> Usage:
        """The usage of every response so far. `usage` is the one's that is being read."""
        return self._settled + self.usage

    def settle(self) -> None:
        """The response is whole, and another one goes on where it ended."""
        self._settled += self.usage
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
        if text := _grown(block, text):
            yield TextDelta(text)

    def thinking(self, block: ThinkingBlock, text: str) -> Iterator[Event]:
        if text := _grown(block, text):
            yield ThinkingDelta(text)

    def start_call(self, id: str, name: str) -> tuple[CallBlock, Event]:
        block = self.add(CallBlock(self._calls, clean(id), clean(name)))
        self._calls += 1
        return block, ToolStart(block.index, block.id, block.name)

    def arguments(self, block: CallBlock, text: str) -> Iterator[Event]:
        if text := _grown(block, text):
            yield ArgumentsDelta(block.index, text)

    def settle_on(self, block: TextBlock | CallBlock, whole: str) -> None:
        """What the server says in the end counts, if it is other than its deltas were. Those stay in the journal."""
        if whole:
            block.pieces[:], block.half = [clean(whole)], ""

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
            parts += self._part(block, suspicious=truncated and block is self._blocks[-1])
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
        return Complete(message, finish, clean(raw_reason), self.total)

    def _part(self, block: Block, *, suspicious: bool) -> list[Part]:
        text = clean("".join(block.pieces) + block.half)
        extra = carry(self._by, block.carried) if block.carried else ""
        if isinstance(block, TextBlock):
            return [Text(text, extra)] if text else []
        if isinstance(block, ThinkingBlock):
            if not (text or block.signature or block.redacted is not None or block.carried):
                return []
            extra = extra or (carry(self._by) if self._by else "")
            return [Thinking(text, block.signature or None, block.redacted, extra)]
        whole = block.ended
        if suspicious:
            whole = whole and bool(text.strip()) and argument_object(text) is not None
        return [ToolCall(block.id, block.name, text, whole, extra)]


def _grown(block: Block, text: str) -> str:
    """Add what the server sent to `block`; returns what can be told of it now."""
    text = block.half + text
    block.half = text[-1] if _FIRST_HALF.search(text) else ""
    text = clean(text.removesuffix(block.half))
    if text:
        block.pieces.append(text)
    return text
