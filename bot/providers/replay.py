"""A provider that plays recorded responses: for `replay`, the demo and tests."""

from collections.abc import Sequence

from bot.contracts.cancel import CancelToken
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, OnRetry, unreported

RECORDED = "replay/"
"""In place of a provider's name: the path of a journal follows."""


class ReplayProvider:
    """Answers request n with response n. Further requests fail."""

    def __init__(self, responses: Sequence[Complete], info: ModelInfo) -> None:
        self.info = info
        self._responses = tuple(responses)
        self._played = 0

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        if cancel.fired:
            return Failed("the request was cancelled", canceled=True)
        if self._played >= len(self._responses):
            return Failed(f"the recording has {len(self._responses)} responses, and one more was asked for")
        self._played += 1
        return self._responses[self._played - 1]

    def close(self) -> None:
        """Nothing to close."""
