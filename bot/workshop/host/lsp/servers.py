"""Language servers for the tool host: a face that blocks no longer than it is told to and never raises. Behind it one
thread runs one loop for all of them; it begins with the first server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, TypeVar

from bot.contracts.problems import Answer, ServerUse
from bot.workshop.host.lsp import processes
from bot.workshop.host.lsp.bounds import Bounds, Pauses
from bot.workshop.host.lsp.programs import Answered, Program

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any

    from bot.workshop.host.lsp.service import Service

__all__ = ["Answered", "Bounds", "Hub", "Pauses", "Program", "Server"]

_GRACE = 1.0
"""Seconds for the loop to come to a call, beyond what the call itself may take."""

_T = TypeVar("_T")


class Hub:
    """All servers of one tool host."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._servers: list[Server] = []

    def start(self, program: Program) -> Server:
        """Returns at once; what comes of it shows in `off` and in the answers."""
        from bot.workshop.host.lsp.service import Service

        with self._lock:
            loop = self._loop = self._loop or self._new_loop()
            service = Service(program)
            server = Server(self, service)
            self._servers.append(server)
        loop.call_soon_threadsafe(service.life.begin)
        return server

    def diagnostics(
        self, wanted: Mapping[Server, Iterable[str]], seconds: float
    ) -> dict[Server, dict[str, Answered]]:
        """Ask several servers about their files at the same time, with one deadline for all."""
        asked = {server: list(paths) for server, paths in wanted.items()}
        began = time.monotonic()
        answers = self._wait(lambda: _ask({s.service: p for s, p in asked.items()}, seconds), seconds) or {}
        waited = time.monotonic() - began
        for server, paths in asked.items():
            server.waited += waited if paths else 0.0
        return {
            server: answers.get(server.service) or dict.fromkeys(paths, server.no_answer)
            for server, paths in asked.items()
        }

    def stop(self) -> None:
        """End all servers, side by side, and the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            servers, self._servers = self._servers, []
        if loop is None or thread is None:
            return
        self._stop(servers)
        with self._lock:
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_GRACE)

    def stop_one(self, server: Server) -> None:
        self._stop([server])

    def call(self, function: Callable[..., None], *arguments: object) -> None:
        """Have it called on the loop's thread, in the order of calls."""
        if (loop := self._loop) is not None:
            with contextlib.suppress(RuntimeError):  # the loop ended meanwhile
                loop.call_soon_threadsafe(function, *arguments)

    def result_of(self, function: Callable[[], _T]) -> _T | None:
        """What it returns on the loop's thread; None where that does not come to it."""

        async def called() -> _T:
            return function()

        return self._wait(called, 0.0)

    def _stop(self, servers: list[Server]) -> None:
        longest = max((server.service.program.pauses.stop for server in servers), default=0.0)
        self._wait(lambda: _stop_all([server.service for server in servers]), longest)
        for server in servers:
            server.service.life.end_by_force()

    def _wait(self, made: Callable[[], Coroutine[Any, Any, _T]], seconds: float) -> _T | None:
        """The result of a coroutine that ends by itself after `seconds`; None where the loop does not come to it."""
        import asyncio

        if (loop := self._loop) is None:
            return None
        coroutine = made()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:  # the loop ended meanwhile
            coroutine.close()
            return None
        try:
            return future.result(max(0.0, seconds) + _GRACE)
        except (TimeoutError, CancelledError):  # the loop does not come to it, or ended meanwhile
            future.cancel()
            return None

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run, args=(loop,), name="language servers", daemon=True)
        self._thread.start()
        return loop


class Server:
    """One server. Its methods may be called from any thread; only `diagnostics` and `stop` wait for anything."""

    def __init__(self, hub: Hub, service: Service) -> None:
        self.service = service
        self.waited = 0.0
        self._hub = hub
        self._peak = 0

    @property
    def name(self) -> str:
        return self.service.program.name

    @property
    def version(self) -> str:
        """As it says itself; empty before `initialize` was answered."""
        return self.service.life.version

    @property
    def off(self) -> str:
        """Why it is of no use any more; empty while it is."""
        return self.service.off

    @property
    def loading(self) -> bool:
        """Whether it is still to come to what it is asked, since it starts, or reads the project."""
        return self.service.loading

    @property
    def left_out(self) -> tuple[str, ...]:
        """Files that it took too long over, and is not asked about any more."""
        return self.service.left_out

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return self.service.life.client.last_words

    @property
    def no_answer(self) -> Answered:
        """For when the loop does not come to it."""
        if self.off:
            return Answered(Answer.UNAVAILABLE, note=self.off)
        return Answered(Answer.TIMED_OUT, note="no answer in time")

    def open(self, path: str, text: str, language_id: str) -> None:
        """`path` is absolute or below the root; the same words name the file in all calls and answers."""
        self._hub.call(self.service.open, path, text, language_id)

    def change(self, path: str, text: str) -> None:
        self._hub.call(self.service.change, path, text)

    def saved(self, path: str) -> None:
        self._hub.call(self.service.saved, path)

    def close_file(self, path: str) -> None:
        self._hub.call(self.service.close_file, path)

    def touched(self, changes: Mapping[str, str]) -> None:
        """Files on disk, and whether each was `created`, `changed` or `deleted`."""
        self._hub.call(self.service.touched, dict(changes))

    def diagnostics(self, paths: Iterable[str], seconds: float) -> dict[str, Answered]:
        return self._hub.diagnostics({self: paths}, seconds)[self]

    def late(self) -> dict[str, Answered]:
        """Complete answers that came after a deadline, or instead of an earlier one; each once, and only while the
        file is still as it was."""
        return self._hub.result_of(self.service.late) or {}

    def memory(self) -> int:
        """Bytes that it holds now, with all that it started; 0 when it is gone."""
        pid = self.service.life.client.pid
        held = processes.memory(pid) if pid else 0
        self._peak = max(self._peak, held)
        return held

    def use(self) -> ServerUse:
        """What it took so far; its memory is the most that `memory` found."""
        self.memory()
        service = self.service
        return ServerUse(
            self.name, self.version, service.first_answer, service.asked, self.waited, self._peak, service.off
        )

    def stop(self) -> None:
        self._hub.stop_one(self)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()


async def _ask(wanted: Mapping[Service, list[str]], seconds: float) -> dict[Service, dict[str, Answered]]:
    import asyncio

    answers = await asyncio.gather(
        *(service.diagnostics(paths, seconds) for service, paths in wanted.items())
    )
    return dict(zip(wanted, answers, strict=True))


async def _stop_all(services: list[Service]) -> None:
    import asyncio

    await asyncio.gather(*(service.life.stop() for service in services))
