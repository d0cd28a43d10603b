"""A provider that plays recorded responses: for `replay`, the demo and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, Text, Thinking, ToolCall
from bot.contracts.model import (
    ArgumentsDelta,
    Complete,
    Event,
    Failed,
    ModelInfo,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
)

RECORDED = "replay/"
"""In place of a provider's name: the path of a journal follows."""


class ReplayProvider:
    """Answers request n with response n. Further requests fail."""

    def __init__(self, responses: Sequence[Complete], info: ModelInfo) -> None:
        self._responses = tuple(responses)
        self._info = info
        self._played = 0

    @property
    def info(self) -> ModelInfo:
        return self._info

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        if cancel.fired:
            yield Failed("the request was canceled", canceled=True)
            return
        if self._played >= len(self._responses):
            yield Failed(f"the recording has {len(self._responses)} responses, and one more was asked for")
            return
        response = self._responses[self._played]
        self._played += 1
        yield from _deltas(response.message)
        yield response

    def close(self) -> None:
        """Nothing to close."""


def _deltas(message: Message) -> Iterator[Event]:
    index = 0
    for part in message.parts:
        if isinstance(part, Text):
            yield TextDelta(part.text)
        elif isinstance(part, Thinking):
            if part.text:
                yield ThinkingDelta(part.text)
        elif isinstance(part, ToolCall):
            yield ToolStart(index, part.id, part.name)
            if part.arguments:
                yield ArgumentsDelta(index, part.arguments)
            if part.complete:
                yield ToolEnd(index)
            index += 1
