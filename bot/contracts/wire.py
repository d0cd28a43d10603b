"""The pipe between supervisor and tool host: JSON in frames with a four-byte length.

Both sides limit the frame size, so neither can make the other allocate without bound.
`bot/workspace/protocol.md` describes the frames.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, NoReturn

Frame = Mapping[str, Any]
"""What a frame holds."""

MAX_FRAME = 16 * 1024 * 1024
_HEADER = 4


class WireError(Exception):
    """The peer sent an invalid frame, or closed the pipe in the middle of one."""


def encode(message: Frame) -> bytes:
    """Return the frame for `message`. Raises `WireError` if it is over `MAX_FRAME`."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MAX_FRAME:
        raise WireError(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME}")
    return len(body).to_bytes(_HEADER, "big") + body


def send(fd: int, message: Frame) -> None:
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


def receive(fd: int) -> Frame | None:
    """Read one frame from `fd`; `None` at a clean end. Raises `WireError` for anything else."""
    header = _read(fd, _HEADER)
    if not header:
        return None
    length = int.from_bytes(header, "big")
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes is over the limit of {MAX_FRAME}")
    body = _read(fd, length)
    if len(header) < _HEADER or len(body) < length:
        raise WireError("the pipe ended in the middle of a frame")
    return decode(body)


def decode(body: bytes) -> Frame:
    """Return the message in a frame's body. Raises `WireError` for anything but strict JSON."""
    try:
        message = json.loads(body.decode(), parse_constant=_refuse)
    except ValueError as error:
        raise WireError(f"a frame is not JSON: {error}") from error
    except RecursionError as error:
        raise WireError("a frame is nested too deeply") from error
    if not isinstance(message, dict):
        raise WireError("a frame is not a JSON object")
    return message


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _read(fd: int, size: int) -> bytes:
    """Return the next `size` bytes; fewer at the end of the pipe."""
    data = bytearray()
    try:
        while chunk := os.read(fd, min(size - len(data), 1 << 20)):
            data += chunk
    except OSError as error:
        raise WireError(f"the pipe cannot be read: {error.strerror}") from error
    return bytes(data)
