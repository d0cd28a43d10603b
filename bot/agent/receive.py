"""Reads one response from a provider's event stream, journalling it as it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from bot.agent.accounted import accounted, usage_of_cut
from bot.agent.journal import Journal, SubJournal
from bot.contracts.cancel import CancelToken
from bot.contracts.events import (
    ArgumentsDelta,
    Complete,
    Event,
    Failed,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
)
from bot.contracts.journal import CallOpened, Delta, Retried
from bot.contracts.messages import Usage
from bot.contracts.model import ModelRequest, Provider

NOT_WHOLE = "The model's API ended its answer without saying that it was whole."
FLUSH_CHARACTERS = 1024
FLUSH_SECONDS = 0.1
_HELD = 512
"""Characters. In no form that is looked for does a secret need more to be known for one."""

Kind = Literal["text", "thinking", "arguments"]


def receive(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    journal: Journal | SubJournal,
    turn: int,
    retrying: Callable[[Retrying], None] = lambda event: None,
) -> Complete | Failed:
    """The response to `request`. What the provider does wrong becomes a `Failed` too, never a silent end.

    `retrying` is called before the wait for another attempt.
    """
    deltas = DeltaWriter(journal, turn)
    last = drained(provider, request, cancel, retrying, lambda event: _keep(event, deltas, journal, turn))
    if isinstance(last, Failed):
        deltas.flush()
    return last


def drained(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    retrying: Callable[[Retrying], None] = lambda event: None,
    hear: Callable[[Event], None] = lambda event: None,
) -> Complete | Failed:
    """The response to a request, by itself for one whose deltas nobody looks at, as for a summary (S-042).

    `hear` is called with each event but the last.
    """
    last: Complete | Failed | None = None
    dropped = Usage()
    # To its very end: an adapter left early would drop the connection that the next request wants.
    for event in _events(provider, request, cancel):
        if isinstance(event, Complete | Failed):
            last = event
            continue
        hear(event)
        if isinstance(event, Retrying):
            dropped += usage_of_cut(event, request)
            retrying(event)
    last = accounted(last or Failed(NOT_WHOLE, canceled=cancel.fired), request)
    return replace(last, dropped=dropped)


def _events(provider: Provider, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
    try:
        yield from provider.stream(request, cancel)
    except Exception as error:  # noqa: BLE001  An adapter's bug ends the session with what it has, not the process.
        yield Failed(f"The provider broke: {type(error).__name__}: {error}.", canceled=cancel.fired)


def _keep(event: Event, deltas: DeltaWriter, journal: Journal | SubJournal, turn: int) -> None:
    match event:
        case TextDelta(text):
            deltas.add("text", text)
        case ThinkingDelta(text):
            deltas.add("thinking", text)
        case ArgumentsDelta(index, text):
            deltas.add("arguments", text, index)
        case ToolStart(index, call_id, name):
            deltas.flush()
            journal.write(CallOpened(turn, index, call_id, name))
        case ToolEnd():
            deltas.flush()
        case Retrying(attempt, delay, reason):
            deltas.flush()
            journal.write(Retried(turn, attempt, delay, reason))


class DeltaWriter:
    """Joins deltas into few journal lines: one at 1024 characters, after 100 ms, or where a block ends.

    A secret must not slip past the redactor by being cut in two. So the last 512 characters wait until the block ends,
    and a line ends only where nothing that is masked lies across its end.
    """

    def __init__(
        self, journal: Journal | SubJournal, turn: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._journal = journal
        self._turn = turn
        self._clock = clock
        self._block: tuple[Kind, int] = ("text", -1)
        self._waiting: list[str] = []
        self._size = 0
        self._least = 0
        self._written_at = clock()

    def add(self, kind: Kind, text: str, index: int = -1) -> None:
        if (kind, index) != self._block:
            self.flush()
            self._block = (kind, index)
        self._waiting.append(text)
        self._size += len(text)
        now = self._clock()
        if self._size >= _HELD + FLUSH_CHARACTERS or now - self._written_at >= FLUSH_SECONDS:
            self._write_safe_part(now)

    def flush(self) -> None:
        """Write everything that waits: the block has ended."""
        self._write("".join(self._waiting), "")

    def _write_safe_part(self, now: float) -> None:
        self._written_at = now
        if self._size <= max(_HELD, self._least):
            return
        text = "".join(self._waiting)
        first, rest = text[:-_HELD], text[-_HELD:]
        shown = self._journal.redact(text)
        if shown == text or shown == self._journal.redact(first) + self._journal.redact(rest):
            self._write(first, rest)
        else:
            self._waiting = [text]
            self._least = 2 * len(text)  # else a long one would be looked through with each delta

    def _write(self, text: str, rest: str) -> None:
        self._waiting = [rest] if rest else []
        self._size = len(rest)
        self._least = 0
        if text:
            kind, index = self._block
            self._journal.write(Delta(self._turn, kind, text, index))
