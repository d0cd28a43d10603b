"""What a run waits for: the provider, and how people see and skip a wait (`Waits`)."""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.cancel import CancelToken
from bot.contracts.idle import IdleReporter
from bot.contracts.model import (
    Complete,
    Failed,
    ModelInfo,
    ModelRequest,
    OnRetry,
    Provider,
    Retrying,
    unreported,
)
from bot.contracts.progress import OutputEvent, View, WaitEvent


class WatchedProvider:
    """A provider whose silence is reported. `asking` is called before each request."""

    def __init__(
        self, provider: Provider, say: Callable[[str], None], asking: Callable[[], None] = lambda: None
    ) -> None:
        self._provider = provider
        self._say = say
        self._asking = asking

    @property
    def info(self) -> ModelInfo:
        return self._provider.info

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        self._asking()
        idle = IdleReporter("the provider", self._say)

        def report(event: Retrying) -> None:
            idle.reset(event.delay)
            retrying(event)

        with idle.waiting():
            return self._provider.respond(request, cancel, report)

    def close(self) -> None:
        self._provider.close()


class Waits:
    """Shows people what the run waits for: its name, its time limit, and the last line of its output. At a terminal
    Enter skips it; in a log there is one line when the wait begins. `say` takes that line if there is no `view`; every
    text is put through `mask`. After `stop` no further wait is shown: nothing is begun any more."""

    def __init__(
        self,
        say: Callable[[str], None],
        view: View | None = None,
        mask: Callable[[str], str] = lambda text: text,
        stop: CancelToken | None = None,
    ) -> None:
        self.say = say
        self._stop = stop
        self._view = view
        self._mask = mask

    def begin(self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None) -> None:
        """`limit` is in seconds; `skip` is called if a person skips the wait."""
        if self._stop is not None and self._stop.fired:
            return
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
        """End the wait."""
        if self._view is not None:
            self._view.on_enter(None)
