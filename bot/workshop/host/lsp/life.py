"""The lives of one server: its process started, started again once where it dies, given up, and ended. What it has open
and what it is asked is `service`'s business. Runs on the loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.contracts.plain_text import printable
from bot.workshop.host.lsp import processes
from bot.workshop.host.lsp.client import Client
from bot.workshop.host.lsp.programs import Program
from bot.workshop.host.lsp.rpc import GoneError, ResponseError

_LIVES = 2
_STOPPED = "stopped"


class Life:
    """`on_start` is called when a server is up that has nothing open yet, `on_off` when none will be any more;
    `on_told` is the client's."""

    def __init__(
        self,
        program: Program,
        on_start: Callable[[], None],
        on_off: Callable[[], None],
        on_told: Callable[[str], None],
    ) -> None:
        self.off = ""
        self.version = ""
        self.began = 0.0
        self._program = program
        self._on_start = on_start
        self._on_off = on_off
        self._on_told = on_told
        self.client = Client(program, self._ended, on_told)
        self._starting: asyncio.Task[None] | None = None
        self._lives = 0

    def begin(self) -> None:
        self._live()

    @property
    def ready(self) -> bool:
        """Whether it is up and has all open files."""
        starting = self._starting
        return not self.off and starting is not None and starting.done() and self.client.pid != 0

    async def usable(self) -> bool:
        """Waits for a start that goes on."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        return not self.off

    def turn_off(self, why: str, *, close: bool = True) -> None:
        if not self.off:
            self.off = one_line(why)
        self._on_off()
        if close:
            self.client.close(self.off)

    async def stop(self) -> None:
        self.turn_off(_STOPPED, close=False)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            self.client.close(_STOPPED)
        await self.client.stop()

    def end_by_force(self) -> None:
        """From any thread, for when the loop does not come to it."""
        self.off = self.off or _STOPPED
        if self.client.pid and self.client.connection is not None:
            processes.end(self.client.connection.process)

    @property
    def may_begin_again(self) -> bool:
        return self._lives < _LIVES

    def begin_again(self, why: str) -> None:
        """As where it died: the next one has all open files."""
        self.client.close(why)

    def _live(self) -> None:
        self._lives += 1
        self.began = asyncio.get_running_loop().time()
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        """Ends when the server has all open files, or is off."""
        client = self.client
        if self.off:
            return None
        try:
            await client.start()
        except OSError as error:  # TimeoutError is one, but comes from the wait for `initialize` alone
            timed_out = isinstance(error, TimeoutError)
            words = f"its start took more than {self._program.pauses.start:g} s" if timed_out else str(error)
            return self.turn_off(f"could not be started: {words}")
        except (ResponseError, GoneError, ValueError) as error:
            return self.turn_off(f"could not be started: {error}{_quoted(client.last_words)}")
        self.version = one_line(client.abilities.version)
        self._on_start()
        return None

    def _ended(self) -> None:
        """The process is gone."""
        if self.off or self._starting is None or not self._starting.done():
            return  # as was wanted; or whoever starts it says so
        words = self.client.connection.ended if self.client.connection is not None else ""
        if self._lives >= _LIVES:
            self.turn_off(f"ended twice: {words}{_quoted(self.client.last_words)}")
        else:
            self.client = Client(self._program, self._ended, self._on_told)
            self._live()


def one_line(text: str, most: int = 300) -> str:
    return " ".join(printable(text).split())[:most]


def _quoted(words: str) -> str:
    """The last line that a server wrote to its standard error."""
    lines = [line.strip() for line in printable(words).split("\n") if line.strip()]
    return f": {lines[-1]}" if lines else ""
