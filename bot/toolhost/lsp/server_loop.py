"""The thread that runs the event loop of all language servers of one tool host. It starts with the first server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, TypeVar

from bot.toolhost.lsp.process import FileDiagnostics, ServerConfig

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any

    from bot.toolhost.lsp.server import LanguageServer

_GRACE = 1.0
"""Seconds that a call may wait for the loop, beyond what the call itself may take."""

_T = TypeVar("_T")


class ServerLoop:
    """Starts language servers and runs calls on the loop. Methods may be called from any other thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._servers: list[LanguageServer] = []

    def start(self, config: ServerConfig) -> LanguageServer:
        """Start a server; return at once. A failure is in its `off_reason` and its results."""
        from bot.toolhost.lsp.server import LanguageServer

        with self._lock:
            loop = self._loop = self._loop or self._new_loop()
            server = LanguageServer(self, config)
            self._servers.append(server)
        loop.call_soon_threadsafe(server.process.start)
        return server

    def diagnostics(
        self, paths: Mapping[LanguageServer, Iterable[str]], seconds: float
    ) -> dict[LanguageServer, dict[str, FileDiagnostics]]:
        """Request diagnostics from several servers at the same time, with one deadline for all."""
        requested = {server: list(names) for server, names in paths.items()}
        began = time.monotonic()
        results = self._wait(lambda: _gather(requested, seconds), seconds) or {}
        waited = time.monotonic() - began
        for server, names in requested.items():
            server.waited += waited if names else 0.0
        return {
            server: results.get(server) or dict.fromkeys(names, server.no_result)
            for server, names in requested.items()
        }

    def stop(self) -> None:
        """Stop all servers in parallel, then the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            servers, self._servers = self._servers, []
        if loop is None or thread is None:
            return
        self.stop_servers(servers)
        with self._lock:
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_GRACE)

    def stop_servers(self, servers: list[LanguageServer]) -> None:
        longest = max((server.config.timeouts.stop for server in servers), default=0.0)
        self._wait(lambda: _stop_all(servers), longest)
        for server in servers:
            server.process.kill()

    def call(self, function: Callable[..., None], *arguments: object) -> None:
        """Call `function` on the loop's thread, in the order of these calls; return at once."""
        if (loop := self._loop) is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(function, *arguments)

    def result_of(self, function: Callable[[], _T]) -> _T | None:
        """Return what `function` returns on the loop's thread; None if the loop does not run it in time."""

        async def call() -> _T:
            return function()

        return self._wait(call, 0.0)

    def _wait(self, start: Callable[[], Coroutine[Any, Any, _T]], seconds: float) -> _T | None:
        """Return the result of a coroutine that ends by itself after `seconds`; None if the loop is stuck."""
        import asyncio

        if (loop := self._loop) is None:
            return None
        coroutine = start()
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:  # the loop was closed meanwhile
            coroutine.close()
            return None
        try:
            return future.result(max(0.0, seconds) + _GRACE)
        except (TimeoutError, CancelledError):
            future.cancel()
            return None

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run, args=(loop,), name="language servers", daemon=True)
        self._thread.start()
        return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


async def _gather(
    paths: Mapping[LanguageServer, list[str]], seconds: float
) -> dict[LanguageServer, dict[str, FileDiagnostics]]:
    import asyncio

    results = await asyncio.gather(
        *(server.check_documents(names, seconds) for server, names in paths.items())
    )
    return dict(zip(paths, results, strict=True))


async def _stop_all(servers: list[LanguageServer]) -> None:
    import asyncio

    await asyncio.gather(*(server.process.stop() for server in servers))
