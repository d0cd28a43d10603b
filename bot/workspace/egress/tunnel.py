"""Serve one tunnel of the proxy: check the request, the address and the server name of the TLS client hello (RFC 8446,
4.1.2; RFC 6066, 3), then move bytes in both directions and count them.

A tunnel to an allowed address could carry a session with another host behind the same front, so the two names must be
equal. A client that encrypts the name or leaves it out is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Awaitable, Callable, Collection, Sequence

from bot.contracts.sandbox import HostUse
from bot.policy.registry_mirrors import Target, authority
from bot.workspace.egress.tunnel_limits import Ledger

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as text; raises `OSError` if it has none."""

HEADER_LIMIT = 8 * 1024

_CHUNK = 64 * 1024
_LONGEST_SHOWN = 120


class _Refused(Exception):
    """A refused tunnel, or an allowed one that reached a limit; the text says why. The client gets the `status`; with
    0, after TLS began, no answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Serving:
    """Serves one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ledger: Ledger) -> None:
        self._reader = reader
        self._writer = writer
        self._ledger = ledger
        self._limits = ledger.limits
        self._host = ""
        self._up = 0
        self._down = 0

    async def serve(self, targets: Collection[Target], resolve: Resolve) -> None:
        """Serve the connection to its end, or until it is cancelled, and note it. Then tell the client if it was
        refused: who asks next finds the record. Raises nothing."""
        allowed, why, status = False, "", 0
        try:
            sink = None
            try:
                async with asyncio.timeout(self._limits.time):
                    target = await self._requested_target(targets)
                    addresses = await self._addresses(target, resolve)
                    source, sink = await self._connect(target, addresses)
                    self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await self._writer.drain()
                    sink.write(await self._read_client_hello(target))
                    allowed = True
                    await self._move_both(source, sink)
            finally:
                if sink is not None:
                    await hang_up(sink, self._limits.goodbye)
        except _Refused as refused:
            why, status = str(refused), refused.status
        except TimeoutError:
            why = f"open for longer than {self._limits.time:g} seconds"
        except (OSError, EOFError):
            why = "" if allowed else "the connection broke"
        except asyncio.CancelledError:  # one that is open at the end is reported too
            why = "cut off: the sandbox was closed"
        self._ledger.note(HostUse(self._host, allowed, why, 1, self._up, self._down))
        if status:
            reason = f"Refused by the sandbox: {why}"  # pip and Go show the status line, curl shows neither
            head = (
                f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(reason) + 2}"
            )
            with contextlib.suppress(OSError):  # it is gone
                self._writer.write(f"{head}\r\nConnection: close\r\n\r\n{reason}.\n".encode())
                await self._writer.drain()

    async def _requested_target(self, targets: Collection[Target]) -> Target:
        """The requested target. Raises `_Refused` if it is not allowed."""
        try:
            async with asyncio.timeout(self._limits.request_time):
                head = await self._reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.LimitOverrunError) as error:
            raise _Refused(400, "no whole request") from error
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        where, _, version = rest.partition(" ")
        self._host = _printable(where)
        if method != "CONNECT" or version not in ("HTTP/1.1", "HTTP/1.0"):
            raise _Refused(405, "only tunnels (CONNECT) are opened, so only https works")
        requested = authority(where)
        if requested is None:
            raise _Refused(400, "not the name of a host with a port")
        self._host = requested[0] if requested[1] == 443 else f"{requested[0]}:{requested[1]}"
        if refusal := self._ledger.refusal():
            raise _Refused(403, refusal)
        for target in targets:
            if (target.host, target.port) == requested:
                return target
        raise _Refused(403, "not on the list of allowed hosts")

    async def _addresses(self, target: Target, resolve: Resolve) -> Sequence[str]:
        try:
            async with asyncio.timeout(self._limits.connect_time):
                addresses = await resolve(target.host, target.port)
        except (TimeoutError, OSError) as error:
            raise _Refused(502, "its name has no address") from error
        allowed = [address for address in addresses if target.private or _is_public(address)]
        if not allowed:
            raise _Refused(403, "its name leads to an address that is not public")
        return allowed

    async def _connect(
        self, target: Target, addresses: Sequence[str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for address in addresses:
            with contextlib.suppress(TimeoutError, OSError):  # the next address may answer
                async with asyncio.timeout(self._limits.connect_time):
                    return await asyncio.open_connection(address, target.port, limit=_CHUNK)
        raise _Refused(502, "none of its addresses answers")

    async def _read_client_hello(self, target: Target) -> bytes:
        """The client's first record. Raises `_Refused` if it does not name `target`."""
        try:
            async with asyncio.timeout(self._limits.request_time):
                header = await self._reader.readexactly(RECORD_HEADER)
                record = await self._reader.readexactly(record_length(header))
            name = server_name(record)
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            raise _Refused(0, "what came through the tunnel is no whole client hello") from error
        except HelloError as error:
            raise _Refused(0, f"what came through the tunnel is {error}") from error
        if name != target.host:
            raise _Refused(0, f"the session in the tunnel is with {_printable(name)}")
        self._count_up(len(header) + len(record))
        return header + record

    async def _move_both(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Move bytes until the server ends, or one direction reaches a limit."""
        up = asyncio.create_task(self._move(self._reader, sink, self._count_up))
        down = asyncio.create_task(self._move(source, self._writer, self._count_down))
        try:
            done, _ = await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if up in done:
                await up  # raises what ended it
            await down
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _move(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, count: Callable[[int], None]
    ) -> None:
        while True:
            try:
                async with asyncio.timeout(self._limits.idle_time):
                    data = await source.read(_CHUNK)
            except TimeoutError:
                break  # kept open by the client for later: it will open another one
            if not data:
                break
            count(len(data))
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()

    def _count_up(self, count: int) -> None:
        self._up += count
        self._ledger.up += count
        if self._up > self._limits.up or self._ledger.up > self._limits.up_total:
            raise _Refused(0, "cut off: it sent more than a package manager has to send")

    def _count_down(self, count: int) -> None:
        self._down += count
        if self._down > self._limits.down:
            raise _Refused(0, f"cut off: more than {self._limits.down} bytes were received")


async def hang_up(writer: asyncio.StreamWriter, patience: float) -> None:
    """Close a connection, whatever its state. Unsent data is dropped after `patience` seconds: a client that does not
    read would keep the descriptor open for ever."""
    writer.close()
    try:
        with contextlib.suppress(OSError, TimeoutError):  # broken already, or nobody reads
            async with asyncio.timeout(patience):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


def _is_public(address: str) -> bool:
    """Whether `address` is on the public internet: no metadata service, no neighbour, not this machine."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False  # with a scope, such as `fe80::1%eth0`
    if parsed.version == 6 and (parsed not in _UNICAST or int(parsed) >> 32 & 0xFCFFFFFF == _ISATAP):
        return False
    return (
        parsed.is_global and not parsed.is_multicast and not any(parsed in network for network in _NOT_HOSTS)
    )


_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The allocated public addresses. Outside are embedded IPv4 addresses, translators and old site-local ones, of which
not all count as private."""

_ISATAP = 0x5EFE

_NOT_HOSTS = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "192.88.99.0/24", "2002::/16", "3fff::/20"))
)
"""Public only by their numbers: the address of Azure's host services, relays to 6to4, 6to4 itself, and examples."""


def _printable(text: str) -> str:
    """Hostile text for the report: printable ASCII, and short."""
    return "".join(character if " " <= character <= "~" else "?" for character in text[:_LONGEST_SHOWN])


RECORD_HEADER = 5
LARGEST_RECORD = 16384 + 256

_HANDSHAKE = 22
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_ENCRYPTED_HELLO = 0xFE0D
_HOST_NAME = 0


class HelloError(Exception):
    """The first bytes are no client hello with a readable server name. The text says what they are."""


class _Bytes:
    """Reads from the front; too few left is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) != count:
            raise HelloError("a broken client hello")
        self._at += count
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def vector(self, width: int) -> _Bytes:
        """The bytes after a length of `width` bytes."""
        return _Bytes(self.take(self.number(width)))

    def rest(self) -> bytes:
        return self._data[self._at :]

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)


def record_length(header: bytes) -> int:
    """The number of bytes after `header`, the first five of a connection. Raises `HelloError` if it is no TLS."""
    length = int.from_bytes(header[3:5], "big")
    if len(header) != RECORD_HEADER or header[0] != _HANDSHAKE or header[1] != 3 or length > LARGEST_RECORD:
        raise HelloError("not TLS")
    return length


def server_name(record: bytes) -> str:
    """The server name in `record`, the first record without its header. Raises `HelloError`."""
    message = _Bytes(record)
    if message.number(1) != _CLIENT_HELLO:
        raise HelloError("TLS that does not begin with a client hello")
    client_hello = message.vector(3)  # all of it in the first record: no client of a registry splits it
    if not message.at_end:
        raise HelloError("more than a client hello in the first record")
    client_hello.take(2 + 32)  # legacy version, random
    for width in (1, 2, 1):  # session, cipher suites, compression methods
        client_hello.vector(width)
    extensions = client_hello.vector(2)
    server_names: list[bytes] = []
    while not extensions.at_end:
        kind, body = extensions.number(2), extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            raise HelloError("a client hello whose server name is encrypted")
        if kind == _SERVER_NAME:
            names = body.vector(2)
            is_host, name = names.number(1) == _HOST_NAME, names.vector(2)
            if not is_host or not names.at_end or not body.at_end:
                raise HelloError("a client hello that names two servers")
            server_names.append(name.rest())
    if len(server_names) != 1:
        raise HelloError(
            "a client hello that names no server" if not server_names else "a client hello that names two"
        )
    try:
        return server_names[0].decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise HelloError("a server name that is no plain text") from error
