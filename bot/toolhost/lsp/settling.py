"""Decide when a server's diagnostics of a text are final. A pull request has an answer; a server that only publishes
(push) sends no end, so its silence is measured.

Measured over twelve servers: the first publication is often stale, empty, or not the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.toolhost.lsp.jsonrpc import ResponseError
from bot.toolhost.lsp.process import Timeouts
from bot.toolhost.lsp.protocol import DocumentState

CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802


class WorkDoneProgress:
    """The work-done progress that a server reports."""

    _MAX_TOKENS = 100

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._tokens: dict[int | str, float] = {}
        self.last_end = 0.0

    def update(self, token: object, kind: object, now: float) -> None:
        if type(token) not in (int, str):
            return
        if kind == "end":
            if self._tokens.pop(token, None) is not None:  # type: ignore[call-overload]  # an int or a str
                self.last_end = now
        elif token in self._tokens or len(self._tokens) < self._MAX_TOKENS:
            self._tokens[token] = now  # type: ignore[index]  # the same

    @property
    def active(self) -> bool:
        """Whether a reported task has not ended, however old."""
        return bool(self._tokens)

    def busy_until(self, now: float) -> float:
        """Until when the server counts as busy without further reports; 0 if it does not."""
        last = max(self._tokens.values(), default=0.0)
        until = last + self._timeouts.stale_progress
        return until if last and until > now else 0.0


def next_check_time(
    state: DocumentState, progress: WorkDoneProgress, now: float, timeouts: Timeouts
) -> float | None:
    """When to check again whether the server is done with the text that was sent last; 0 if it is done. None where
    only a message of the server can tell: silence without a publication never means a clean file."""
    if busy := progress.busy_until(now):
        return busy
    if not state.published:
        return None
    quiet = max(state.published, progress.last_end) + _quiet(state, timeouts)
    until = max(quiet, state.stirred + timeouts.unversioned)
    return 0.0 if now >= until else until


def _quiet(state: DocumentState, timeouts: Timeouts) -> float:
    if state.opened:
        return timeouts.first_open
    return timeouts.versioned if state.named_version else timeouts.unversioned


@dataclass(slots=True)
class RefreshCount:
    """Refresh requests of a server. `late` is set once it sends one while no request is `pending`: then every answer
    is waited upon for a moment."""

    count: int = 0
    pending: int = 0
    late: bool = False

    def record(self) -> None:
        self.count += 1
        self.late = self.late or not self.pending


async def pull(
    request: Callable[[], Awaitable[Any]],
    refreshes: RefreshCount,
    timeouts: Timeouts,
    *,
    first: bool = True,
    unready: Callable[[Any], bool] = lambda answer: False,
) -> Any:
    """Return an answer that no refresh request made stale. The `first` answer of a text, and each of a server with
    late refreshes, is waited upon; longer if it may be `unready`. Raises what `request` raises except the two
    errors that mean "try again". It has no time limit of its own."""
    for attempt in range(timeouts.refreshes + 1):
        seen = refreshes.count
        refreshes.pending += 1
        try:
            answer = await _request_until_answered(request, timeouts)
        finally:
            refreshes.pending -= 1
        if attempt < timeouts.refreshes and (first or refreshes.late):
            await asyncio.sleep(timeouts.refresh)
            until = asyncio.get_running_loop().time() + timeouts.unversioned
            while refreshes.count == seen and unready(answer) and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(timeouts.refresh)
        if refreshes.count == seen:
            break
    return answer


async def _request_until_answered(request: Callable[[], Awaitable[Any]], timeouts: Timeouts) -> Any:
    while True:
        try:
            return await request()
        except ResponseError as error:
            if error.code not in (CONTENT_MODIFIED, SERVER_CANCELLED):
                raise
        await asyncio.sleep(timeouts.refresh)
