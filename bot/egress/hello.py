"""The host that a TLS client says it means: the server name in its first message (RFC 8446, 4.1.2; RFC 6066, 3).

A tunnel to an allowed address could carry a session with another host behind the same front; so the two names must
be one. A client that hides the name (encrypted client hello) or leaves it out cannot be judged, and is refused.
"""

from __future__ import annotations

RECORD_HEADER = 5
LARGEST_RECORD = 16384 + 256

_HANDSHAKE = 22
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_ENCRYPTED_HELLO = 0xFE0D
_HOST_NAME = 0


class HelloError(Exception):
    """What comes first is not a client hello whose server name can be read. The text says what it is."""


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
        """What stands behind a length of `width` bytes."""
        return _Bytes(self.take(self.number(width)))

    def rest(self) -> bytes:
        return self._data[self._at :]

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)


def record_length(header: bytes) -> int:
    """How many bytes follow `header`, the first five of a connection. Raises `HelloError` where it is no TLS."""
    length = int.from_bytes(header[3:5], "big")
    if len(header) != RECORD_HEADER or header[0] != _HANDSHAKE or header[1] != 3 or length > LARGEST_RECORD:
        raise HelloError("not TLS")
    return length


def server_name(record: bytes) -> str:
    """The server name in `record`, the first record without its header. Raises `HelloError`."""
    message = _Bytes(record)
    if message.number(1) != _CLIENT_HELLO:
        raise HelloError("TLS that does not begin with a client hello")
    hello = message.vector(3)  # all of it in the first record: no client of a registry splits it
    if not message.at_end:
        raise HelloError("more than a client hello in the first record")
    hello.take(2 + 32)  # legacy version, random
    for width in (1, 2, 1):  # session, cipher suites, compression methods
        hello.vector(width)
    extensions = hello.vector(2)
    found: list[str] = []
    while not extensions.at_end:
        kind, body = extensions.number(2), extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            raise HelloError("a client hello whose server name is encrypted")
        if kind == _SERVER_NAME:
            found.append(_name(body))
    if len(found) != 1:
        raise HelloError(
            "a client hello that names no server" if not found else "a client hello that names two"
        )
    return found[0]


def _name(body: _Bytes) -> str:
    names = body.vector(2)
    kind, name = names.number(1), names.vector(2)
    if kind != _HOST_NAME or not names.at_end or not body.at_end:
        raise HelloError("a client hello that names two servers")
    try:
        return name.rest().decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise HelloError("a server name that is no plain text") from error
