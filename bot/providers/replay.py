"""A provider that plays recorded responses: for `replay`, the demo and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.contracts.cancel import CancelToken
from bot.contracts.model import Complete, Event, Failed, ModelInfo, ModelRequest

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
        yield response

    def close(self) -> None:
        """Nothing to close."""
