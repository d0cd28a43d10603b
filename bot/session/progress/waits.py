"""What a run waits for, shown to people: its name, its time limit, and the last line of its output.

At a terminal Enter skips it; in a log there is one line when the wait begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.contracts.cancel import CancelToken
from bot.contracts.idle import IdleReporter
from bot.contracts.model import Event, ModelInfo, ModelRequest, Provider
from bot.contracts.progress import OutputEvent, View, WaitEvent


class WatchedProvider:
    """A provider whose silence is reported."""

    def __init__(self, provider: Provider, say: Callable[[str], None]) -> None:
        self._provider = provider
        self._say = say

    @property
    def info(self) -> ModelInfo:
        return self._provider.info

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        idle = IdleReporter("the provider", self._say)
        with idle.waiting():
            for event in self._provider.stream(request, cancel):
                idle.reset()
                yield event

    def close(self) -> None:
        self._provider.close()


class Waits:
    """`say` takes a line if there is no `view`; every text is put through `mask`."""

    def __init__(
        self,
        say: Callable[[str], None],
        view: View | None = None,
        mask: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.say = say
        self._view = view
        self._mask = mask

    def begin(self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None) -> None:
        """`limit` is in seconds; `skip` goes on without it."""
        if self._view is None:
            self.say(text)
            return
        self._view.on_enter(skip)
        seconds = max(round(limit, 1), 1.0) if limit is not None else None
        can_skip = skip is not None and self._view.person is not None
        self._view.tell(WaitEvent(self._mask(text), seconds, can_skip))

    def printed(self, line: str) -> None:
        if self._view is not None and line:
            self._view.tell(OutputEvent(self._mask(line)))

    def end(self) -> None:
        """Nothing is waited for any more."""
        if self._view is not None:
            self._view.on_enter(None)
