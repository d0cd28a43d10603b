"""The pipe between supervisor and tool host: JSON in frames with a four-byte length.

Both sides limit the frame size, so neither can make the other allocate without bound.
`bot/workspace/protocol.md` describes the frames.
"""

from __future__ import annotations

import os
from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False  # without importing it: the start waits for this, and `typing` costs 6 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_FRAME = 16 * 1024 * 1024
_HEADER = 4


class WireError(Exception):
    """The peer sent an invalid frame, or closed the pipe in the middle of one."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the frame for `message`. Raises `WireError` if it is over `MAX_FRAME`."""
    body = _dumps(message).encode()
    if len(body) > MAX_FRAME:
        raise WireError(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME}")
    return len(body).to_bytes(_HEADER, "big") + body


def send(fd: int, message: Mapping[str, Any]) -> None:
    """Write one frame to `fd`; not thread-safe. Raises `WireError` when the reader is gone."""
    send_encoded(fd, encode(message))


def send_encoded(fd: int, frame: bytes) -> None:
    """Write a frame from `encode`. Raises `WireError` when the reader is gone."""
    view = memoryview(frame)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        raise WireError(f"the other side of the pipe is gone: {error.strerror}") from error


def receive(fd: int) -> dict[str, Any] | None:
    """Read one frame from `fd`; `None` at a clean end. Raises `WireError` for anything else."""
    header = _read_exactly(fd, _HEADER, at_boundary=True)
    if header is None:
        return None
    length = int.from_bytes(header, "big")
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes is over the limit of {MAX_FRAME}")
    body = _read_exactly(fd, length, at_boundary=False)
    assert body is not None
    return decode(body)


def decode(body: bytes) -> dict[str, Any]:
    """Return the message in a frame's body. Raises `WireError` for anything but strict JSON."""
    try:
        message = _loads(body.decode())
    except ValueError as error:
        raise WireError(f"a frame is not JSON: {error}") from error
    except RecursionError as error:
        raise WireError("a frame is nested too deeply") from error
    if not isinstance(message, dict):
        raise WireError("a frame is not a JSON object")
    return message


# What `json` does, by its C code alone: the module around that takes a tool host 8 ms to import, and its start is
# waited for.


def _dumps(message: Mapping[str, Any]) -> str:
    encoder = make_encoder({}, _not_json, encode_basestring_ascii, None, ":", ",", False, False, False)
    return "".join(encoder(message, 0))


def _loads(text: str) -> Any:
    try:
        message, end = make_scanner(_Scanned())(text, 0)  # type: ignore[arg-type]  # its stub wants itself
    except StopIteration:
        raise ValueError("it does not begin like any") from None
    if end != len(text):
        raise ValueError("something follows it")
    return message


class _Scanned:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")


def _not_json(value: object) -> None:
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _read_exactly(fd: int, size: int, *, at_boundary: bool) -> bytes | None:
    chunks: list[bytes] = []
    missing = size
    while missing:
        try:
            chunk = os.read(fd, min(missing, 1 << 20))
        except OSError as error:
            raise WireError(f"the pipe cannot be read: {error.strerror}") from error
        if not chunk:
            if at_boundary and missing == size:
                return None
            raise WireError("the pipe ended in the middle of a frame")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)
