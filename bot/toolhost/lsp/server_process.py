"""The process of a language server, and its restart if it dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.contracts.plain_text import printable
from bot.toolhost.lsp import process
from bot.toolhost.lsp.client import Client
from bot.toolhost.lsp.jsonrpc import ConnectionClosedError, ResponseError
from bot.toolhost.lsp.process import ServerConfig

_MAX_STARTS = 2
_STOPPED = "stopped"


class ServerProcess:
    """The server's process, restarted once if it dies. `on_start` is called when a process is ready that has no open
    files yet, `on_off` when none will be started any more; `on_published` is the client's."""

    def __init__(
        self,
        config: ServerConfig,
        on_start: Callable[[], None],
        on_off: Callable[[], None],
        on_published: Callable[[str], None],
    ) -> None:
        self.off_reason = ""
        self.version = ""
        self.started_at = 0.0
        self._config = config
        self._on_start = on_start
        self._on_off = on_off
        self._on_published = on_published
        self.client = Client(config, self._ended, on_published)
        self._starting: asyncio.Task[None] | None = None
        self._starts = 0

    @property
    def ready(self) -> bool:
        """Whether it runs and has all open files."""
        starting = self._starting
        return not self.off_reason and starting is not None and starting.done() and self.client.pid != 0

    @property
    def may_restart(self) -> bool:
        return self._starts < _MAX_STARTS

    async def usable(self) -> bool:
        """Wait for a start in progress; return whether the server can be used."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        return not self.off_reason

    def start(self) -> None:
        self._starts += 1
        self.started_at = asyncio.get_running_loop().time()
        self._starting = asyncio.create_task(self._start())

    def restart(self, reason: str) -> None:
        """End the process; a new one is started as after a crash, with all open files."""
        self.client.close(reason)

    def turn_off(self, reason: str, *, close: bool = True) -> None:
        if not self.off_reason:
            self.off_reason = one_line(reason)
        self._on_off()
        if close:
            self.client.close(self.off_reason)

    async def stop(self) -> None:
        self.turn_off(_STOPPED, close=False)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            self.client.close(_STOPPED)
        await self.client.stop()

    def kill(self) -> None:
        """From any thread, for a loop that is stuck."""
        self.off_reason = self.off_reason or _STOPPED
        if self.client.pid and self.client.connection is not None:
            process.kill(self.client.connection.process)

    async def _start(self) -> None:
        """Ends when the server has all open files, or is off."""
        client = self.client
        if self.off_reason:
            return None
        try:
            await client.start()
        except OSError as error:  # TimeoutError is one, but comes from the wait for `initialize` alone
            timed_out = isinstance(error, TimeoutError)
            reason = (
                f"its start took more than {self._config.timeouts.start:g} s" if timed_out else str(error)
            )
            return self.turn_off(f"could not be started: {reason}")
        except (ResponseError, ConnectionClosedError, ValueError) as error:
            return self.turn_off(f"could not be started: {error}{_last_line(client.stderr_tail)}")
        self.version = one_line(client.capabilities.version)
        self._on_start()
        return None

    def _ended(self) -> None:
        if self.off_reason or self._starting is None or not self._starting.done():
            return  # it was stopped, or `_start` handles it
        reason = self.client.connection.closed_reason if self.client.connection is not None else ""
        if not self.may_restart:
            self.turn_off(f"ended twice: {reason}{_last_line(self.client.stderr_tail)}")
        else:
            self.client = Client(self._config, self._ended, self._on_published)
            self.start()


def one_line(text: str, limit: int = 300) -> str:
    return " ".join(printable(text).split())[:limit]


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in printable(stderr).split("\n") if line.strip()]
    return f": {lines[-1]}" if lines else ""
