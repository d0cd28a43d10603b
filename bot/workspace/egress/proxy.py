"""The only network access of a workspace: a proxy that opens tunnels to allowed hosts.

It runs in the supervisor, on a thread of its own, and accepts on a socket in the workspace's network. CONNECT only. The
name is resolved once, here, and the proxy connects to one of those addresses, which must be public. The first bytes
must be a TLS client hello that names the same host. Every tunnel is counted, limited and reported.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Collection, Sequence

from bot.contracts.capacity import retry_at_capacity
from bot.contracts.sandbox import HostUse
from bot.policy.registry_mirrors import Target
from bot.workspace.egress.tunnel import HEADER_LIMIT, Resolve, Serving, hang_up
from bot.workspace.egress.tunnel_limits import NOT_LISTED, Ledger, TunnelLimits

_MOST_OPEN = 256
"""Connections, tunnels or not; further ones are closed without an answer, so that our descriptors suffice."""


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """The addresses by this machine's resolver. Raises `OSError`."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


class Proxy:
    """Serves `listener`, and closes it at the end. `targets` may be replaced at any time."""

    def __init__(
        self,
        listener: socket.socket,
        targets: Collection[Target],
        *,
        resolve: Resolve,
        limits: TunnelLimits | None = None,
    ) -> None:
        self.targets = targets
        self._resolve = resolve
        self._ledger = Ledger(limits or TunnelLimits())
        self._loop = asyncio.new_event_loop()
        self._serving = threading.Event()
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, args=(listener,), name="egress", daemon=True)
        retry_at_capacity(self._thread.start)

    @property
    def uses(self) -> tuple[HostUse, ...]:
        """The uses so far, refused ones included, by host and result."""
        return tuple(self._ledger.uses.values())

    def close(self) -> None:
        """End every tunnel and stop listening. May be called again, from any thread."""
        with self._closing:
            if self._thread.is_alive():
                self._serving.wait()
                with contextlib.suppress(RuntimeError):  # it closed meanwhile
                    self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

    def _run(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        loop = self._loop
        asyncio.set_event_loop(loop)
        serve = asyncio.start_server(self._serve, sock=listener, limit=HEADER_LIMIT)
        try:
            server = loop.run_until_complete(serve)
        finally:
            self._serving.set()
        loop.run_forever()
        server.close()
        for task in (tasks := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        # Its threads are not joined: one may hang in a resolver.
        loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ledger.open += 1
        self._ledger.begun += 1
        try:
            if self._ledger.open <= _MOST_OPEN:
                await Serving(reader, writer, self._ledger).serve(self.targets, self._resolve)
            else:
                self._ledger.note(HostUse("", False, NOT_LISTED, 1))
        finally:
            # `close` may cancel this, which asyncio of Python 3.11 would log as an error.
            with contextlib.suppress(asyncio.CancelledError):
                await hang_up(writer, self._ledger.limits.goodbye)
            self._ledger.open -= 1
