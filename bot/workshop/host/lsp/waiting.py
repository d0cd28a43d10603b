"""When a server has said all it has to say about a text. It says so itself where it can be asked (pull); one that
only tells (push) has no word for it, so its silence is measured.

Measured over twelve servers: what they publish first is often stale, without meaning, or not the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.workshop.host.lsp.bounds import Pauses
from bot.workshop.host.lsp.rpc import ResponseError

CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802


class Progress:
    """What a server says it is busy with."""

    _MOST = 100

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses
        self._heard: dict[int | str, float] = {}
        self.last_end = 0.0

    def hear(self, token: object, kind: object, now: float) -> None:
        if type(token) not in (int, str):
            return
        if kind == "end":
            if self._heard.pop(token, None) is not None:  # type: ignore[call-overload]  # an int or a str
                self.last_end = now
        elif token in self._heard or len(self._heard) < self._MOST:
            self._heard[token] = now  # type: ignore[index]  # the same

    @property
    def going_on(self) -> bool:
        """Whether it said that something began, and not that it ended, however long ago that was."""
        return bool(self._heard)

    def busy_until(self, now: float) -> float:
        """Until when it has to be taken for busy if nothing more is heard; 0 where it is not."""
        last = max(self._heard.values(), default=0.0)
        until = last + self._pauses.stale_progress
        return until if last and until > now else 0.0


@dataclass(slots=True)
class Told:
    """What a server published about one open file."""

    version: int
    """Of the text that was sent last."""

    sent: float
    opened: bool = True
    """Nothing was published that is of the text it was opened with, or newer."""

    items: object = None
    published: float = 0.0
    """When, 0 where there is nothing of the text that was sent last."""

    named_version: bool = False
    stirred: float = 0.0
    """When another file changed, which may change what there is to say about this one."""

    def change(self, version: int, now: float) -> None:
        self.version, self.sent, self.published = version, now, 0.0

    def publish(self, items: object, version: object, now: float) -> bool:
        """Whether it is about the text that was sent last, as far as can be seen."""
        named = type(version) is int
        if named and version < self.version:  # type: ignore[operator]  # an int
            return False
        self.items, self.published, self.named_version = items, now, named
        return True


def look_again(told: Told, progress: Progress, now: float, pauses: Pauses) -> float | None:
    """When to look whether the server is done with the text that was sent last, 0 where it is. None where only a word
    of the server can tell: its silence never means a clean file."""
    if busy := progress.busy_until(now):
        return busy
    if not told.published:
        return None
    quiet = max(told.published, progress.last_end) + _quiet(told, pauses)
    until = max(quiet, told.stirred + pauses.unversioned)
    return 0.0 if now >= until else until


def _quiet(told: Told, pauses: Pauses) -> float:
    if told.opened:
        return pauses.first_open
    return pauses.versioned if told.named_version else pauses.unversioned


@dataclass(slots=True)
class Refreshes:
    """How often a server said that its answers are no longer right. `belated` is one that says so when nothing is asked
    of it: its answers cannot be believed before a moment has passed."""

    count: int = 0
    asked: int = 0
    belated: bool = False

    def hear(self) -> None:
        self.count += 1
        self.belated = self.belated or not self.asked


async def pull(
    ask: Callable[[], Awaitable[Any]],
    refreshes: Refreshes,
    pauses: Pauses,
    *,
    first: bool = True,
    unready: Callable[[Any], bool] = lambda answer: False,
) -> Any:
    """The answer that stands, where a text's `first` one is waited upon, and every one of a server that was belated;
    longer where the answer says that it may have been `unready`. Raises what `ask` raises but for the two errors
    that mean "again"; ends only with an answer, so the caller limits the time."""
    for again in range(pauses.refreshes + 1):
        seen = refreshes.count
        refreshes.asked += 1
        try:
            answer = await _ask_until_answered(ask, pauses)
        finally:
            refreshes.asked -= 1
        if again < pauses.refreshes and (first or refreshes.belated):
            await asyncio.sleep(pauses.refresh)
            until = asyncio.get_running_loop().time() + pauses.unversioned
            while refreshes.count == seen and unready(answer) and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(pauses.refresh)
        if refreshes.count == seen:
            break
    return answer


async def _ask_until_answered(ask: Callable[[], Awaitable[Any]], pauses: Pauses) -> Any:
    while True:
        try:
            return await ask()
        except ResponseError as error:
            if error.code not in (CONTENT_MODIFIED, SERVER_CANCELLED):
                raise
        await asyncio.sleep(pauses.refresh)
