"""Read one response from a provider's event stream, write it to the journal as it arrives, and estimate missing
usage.

Some servers report no tokens, and for an interrupted response vendors report the input and little of the
output. Without an estimate, neither the limits on tokens and money nor compaction would take effect.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from bot.agent.context_budget import tokens_of, tokens_of_text
from bot.agent.journal import Journal, SubJournal
from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import retry_at_capacity
from bot.contracts.journal import CallOpened, Delta, ProviderRetry
from bot.contracts.messages import Message, Usage
from bot.contracts.model import (
    ArgumentsDelta,
    Complete,
    Event,
    Failed,
    ModelRequest,
    Provider,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
)

INCOMPLETE = "The model's API ended its answer without saying that it was whole."
FLUSH_CHARACTERS = 1024
FLUSH_SECONDS = 0.1
_UNWRITTEN = 512
"""Characters at the end of a block that wait for more. No secret is longer in any form that the redactor matches."""


def with_timeout(cancel: CancelToken, seconds: float) -> CancelToken:
    """Return a token that fires with `cancel`, or after `seconds`. To be fired at the end, which ends the timer."""
    token = CancelToken()
    timer = threading.Timer(seconds, token.fire, args=("time",))
    timer.daemon = True
    retry_at_capacity(timer.start)
    forget = cancel.on_fire(lambda: token.fire(cancel.reason))
    token.on_fire(timer.cancel)
    token.on_fire(forget)
    return token


Kind = Literal["text", "thinking", "arguments"]


def receive_response(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    journal: Journal | SubJournal,
    turn: int,
    *,
    retrying: Callable[[Retrying], None] = lambda event: None,
    clock: Callable[[], float] = time.monotonic,
) -> Complete | Failed:
    """Return the response to `request`. Every error of the provider becomes a `Failed`.

    `retrying` is called before the wait for another attempt.
    """
    deltas = DeltaWriter(journal, turn)
    start_time, first = clock(), 0.0

    def on_event(event: Event) -> None:
        nonlocal first
        if isinstance(event, Retrying):
            first = 0.0
        elif not first:
            first = clock() - start_time
        _journal_event(event, deltas, journal, turn)

    last = drain(provider, request, cancel, retrying, on_event)
    if isinstance(last, Failed):
        deltas.flush()
        return last
    return replace(last, first_token=round(first, 3))


def drain(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    retrying: Callable[[Retrying], None] = lambda event: None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Complete | Failed:
    """Return the response to a request without writing its deltas, as for a summary.

    `on_event` is called with each event but the last.
    """
    last: Complete | Failed | None = None
    discarded = Usage()
    # To its very end: an adapter left early would drop the connection that the next request wants.
    for event in _events(provider, request, cancel):
        if isinstance(event, Complete | Failed):
            last = event
            continue
        on_event(event)
        if isinstance(event, Retrying):
            discarded += partial_usage(event, request)
            retrying(event)
    last = with_usage(last or Failed(INCOMPLETE, canceled=cancel.fired), request)
    return replace(last, discarded=discarded)


def _events(provider: Provider, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
    try:
        yield from provider.stream(request, cancel)
    except Exception as error:  # noqa: BLE001  An adapter's bug ends the session with what it has, not the process.
        yield Failed(f"The provider broke: {type(error).__name__}: {error}.", canceled=cancel.fired)


def _journal_event(event: Event, deltas: DeltaWriter, journal: Journal | SubJournal, turn: int) -> None:
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
            journal.write(ProviderRetry(turn, attempt, delay, reason))


class DeltaWriter:
    """Joins deltas into few journal lines: one at 1024 characters, after 100 ms, or at the end of a block.

    A secret must not escape the redactor by being split. So the last 512 characters are held until the block
    ends, and a line ends only where no redacted text crosses its end.
    """

    def __init__(
        self, journal: Journal | SubJournal, turn: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._journal = journal
        self._turn = turn
        self._clock = clock
        self._block: tuple[Kind, int] = ("text", -1)
        self._pending: list[str] = []
        self._size = 0
        self._min_size = 0
        self._last_write = clock()

    def add(self, kind: Kind, text: str, index: int = -1) -> None:
        if (kind, index) != self._block:
            self.flush()
            self._block = (kind, index)
        self._pending.append(text)
        self._size += len(text)
        now = self._clock()
        if self._size >= _UNWRITTEN + FLUSH_CHARACTERS or now - self._last_write >= FLUSH_SECONDS:
            self._write_safe_part(now)

    def flush(self) -> None:
        """Write all pending text: the block has ended."""
        self._write("".join(self._pending), "")

    def _write_safe_part(self, now: float) -> None:
        self._last_write = now
        if self._size <= max(_UNWRITTEN, self._min_size):
            return
        text = "".join(self._pending)
        first, rest = text[:-_UNWRITTEN], text[-_UNWRITTEN:]
        redacted = self._journal.redact(text)
        if redacted == text or redacted == self._journal.redact(first) + self._journal.redact(rest):
            self._write(first, rest)
        else:
            self._pending = [text]
            self._min_size = 2 * len(text)  # else a long one would be looked through with each delta

    def _write(self, text: str, rest: str) -> None:
        self._pending = [rest] if rest else []
        self._size = len(rest)
        self._min_size = 0
        if text:
            kind, index = self._block
            self._journal.write(Delta(self._turn, kind, text, index))


def with_usage(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """Return `response` with its reported or estimated usage."""
    if isinstance(response, Failed):
        return replace(response, usage=partial_usage(response, request))
    return (
        response
        if response.usage.total
        else replace(response, usage=_estimated_usage(request, response.message))
    )


def partial_usage(event: Failed | Retrying, request: ModelRequest) -> Usage:
    """Return the usage of an interrupted response. One without any content counts as reported."""
    if event.partial is None:
        return event.usage
    if not event.usage.total:
        return _estimated_usage(request, event.partial)
    return replace(event.usage, output=max(event.usage.output, tokens_of(event.partial)))


def _estimated_usage(request: ModelRequest, message: Message) -> Usage:
    tools = sum(
        tokens_of_text(json.dumps([one.name, one.description, one.parameters])) for one in request.tools
    )
    input_tokens = tokens_of_text(request.system) + tools + sum(map(tokens_of, request.messages))
    return Usage(input=input_tokens, output=tokens_of(message))
