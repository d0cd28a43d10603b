"""What a run waits for, told to whoever looks on: what it is, for how long at most, and the last line of its output.

At a terminal Enter goes on without it; in a log there is a line when the wait begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Event
from bot.contracts.model import ModelInfo, ModelRequest, Provider
from bot.contracts.progress import Printed, View, Waiting
from bot.contracts.silence import Silence


class WatchedProvider:
    """A provider whose silence is told of."""

    def __init__(self, provider: Provider, say: Callable[[str], None]) -> None:
        self._provider = provider
        self._say = say

    @property
    def info(self) -> ModelInfo:
        return self._provider.info

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        silence = Silence("the provider", self._say)
        with silence.waiting():
            for event in self._provider.stream(request, cancel):
                silence.heard()
                yield event

    def close(self) -> None:
        self._provider.close()


class Waits:
    """`say` takes a line if there is no `view`; every text is put through `mask`."""

    def __init__(
        self, say: Callable[[str], None], view: View | None = None, mask: Callable[[str], str] = lambda text: text
    ) -> None:  # fmt: skip
        self.say = say
        self._view = view
        self._mask = mask

    def begin(self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None) -> None:
        """`limit` is in seconds; `skip` goes on without it."""
        if self._view is None:
            self.say(text)
            return
        self._view.on_enter(skip)
        rest = max(round(limit, 1), 1.0) if limit is not None else None
        can = skip is not None and self._view.person is not None
        self._view.tell(Waiting(self._mask(text), rest, can))

    def printed(self, line: str) -> None:
        if self._view is not None and line:
            self._view.tell(Printed(self._mask(line)))

    def end(self) -> None:
        """Nothing is waited for any more."""
        if self._view is not None:
            self._view.on_enter(None)
