"""Frames to and from a hostile tool host: each wait has a deadline, each buffer a limit, and each frame is
validated field by field.

`Channel` is the non-blocking half of `bot.contracts.wire`. Validation is by hand: with the standard library alone the
sandbox is tested under any Python of a machine.
"""

import base64
import binascii
import hashlib
import math
import os
import re
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bot.contracts import wire
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import FileVersion, Question
from bot.contracts.plain_text import printable
from bot.contracts.tools import ToolOutcome
from bot.contracts.wire import Frame, WireError
from bot.toolhost.subreaper import milliseconds_to

_HEADER = 4

_STOP_CHECK_INTERVAL = 1.0
"""Seconds after which it is checked whether the host is stopped; twice in a row is an error."""

_TICK = 50
"""Milliseconds between two looks at a cancellation."""

_DEPTH = 12
LONGEST_PRINTED = 200
_MOST_FILES = 10_000
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class Facts(NamedTuple):
    """The facts in the frame `ready`. `leaks` are the names of the canaries that the host reached."""

    pid: int
    leaks: tuple[str, ...]


def facts(frame: Frame) -> Facts:
    """Parse the frame `ready`. Raises `WireError`, like all parsers here, for any other frame."""
    _shape(frame, "ready", {"pid": int, "leaks": list})
    if not all(isinstance(leak, str) for leak in frame["leaks"]):
        raise WireError("its list of leaks is not a list of sentences")
    return Facts(frame["pid"], tuple(map(plain, frame["leaks"])))


def question(frame: Frame, identity: int) -> Question:
    _shape(frame, "ask", {"tool": str, "files": list, "diff": str}, identity)
    if not 0 < len(frame["files"]) <= _MOST_FILES:
        raise WireError("it asked about no file, or about too many")
    files = [_fields(file, {"path": str, "action": str}) for file in frame["files"]]
    if not all(file["action"] in ("create", "change", "delete") for file in files):
        raise WireError("it asked about an action that does not exist")
    actions = tuple((plain(file["path"]), file["action"]) for file in files)
    return Question(plain(frame["tool"]), actions, plain(frame["diff"]))


def outcome(frame: Frame, identity: int) -> ToolOutcome:
    _shape(frame, "result", {"content": str, "is_error": bool, "metadata": dict}, identity)
    return ToolOutcome(plain(frame["content"]), frame["is_error"], _plain_json(frame["metadata"], _DEPTH))


def printed(frame: Frame, identity: int) -> str:
    """The last line that a command printed: at most `LONGEST_PRINTED` characters, without control characters."""
    _shape(frame, "printed", {"line": str}, identity)
    return " ".join(printable(plain(frame["line"][: 4 * LONGEST_PRINTED])).split())[:LONGEST_PRINTED]


def changes(frame: Frame, identity: int) -> tuple[tuple[FileVersion, ...], bool, str]:
    """The files of one frame, whether it was the last, and its note."""
    _shape(frame, "changes", {"files": list, "done": bool, "note": str}, identity)
    return tuple(map(_change, frame["files"])), frame["done"], plain(frame["note"])


def plain(text: str) -> str:
    """`text` without halves of surrogate pairs, which JSON may contain and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _change(entry: Any) -> FileVersion:
    optional = dict.fromkeys(("before", "after", "content", "link"), (str, type(None)))
    _fields(entry, {"path": str, "mode": int, **optional})
    path, after, link, content = entry["path"], entry["after"], entry["link"], None
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise WireError(f"it named a changed file {path[:200]!r}, which is no path in the work tree")
    if any(digest and not _SHA256.match(digest) for digest in (entry["before"], after)) or after == "":
        raise WireError("a changed file's hash is no hash")
    if entry["content"] is not None:
        try:
            content = base64.b64decode(entry["content"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise WireError("a changed file's content is not base64") from error
        if hashlib.sha256(content).hexdigest() != after:
            raise WireError(f"the content of {path[:200]!r} is not what its hash says")
    link = None if link is None else plain(link)
    return FileVersion(path, entry["before"], after, entry["mode"] & 0o7777, content, link)


def _shape(frame: Frame, kind: str, fields: Mapping[str, type], identity: int | None = None) -> None:
    """Check a frame; `identity` is the call that it belongs to."""
    if frame.get("type") != kind:
        raise WireError(f"it sent {str(frame.get('type'))[:40]!r} where {kind!r} was due")
    _fields(frame, {"type": str, **fields, **({} if identity is None else {"id": int})})
    if frame.get("id") != identity:
        raise WireError("a message belongs to no call that is open")


def _fields(value: Any, fields: Mapping[str, type | tuple[type, ...]]) -> Frame:
    if not isinstance(value, dict) or value.keys() != fields.keys():
        raise WireError("a message has other fields than it should")
    for name, wanted in fields.items():
        item = value[name]
        if not isinstance(item, wanted) or (wanted is int and isinstance(item, bool)):
            raise WireError(f"the field {name!r} of a message has the wrong type")
    return value


def _plain_json(value: Any, depth: int) -> Any:
    if depth == 0:
        raise WireError("a result's metadata is nested too deeply")
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float) and not math.isfinite(value):  # 1e999 is JSON, and is parsed to infinity
        raise WireError("a result's metadata contains an infinite number")
    if isinstance(value, list):
        return [_plain_json(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {plain(key): _plain_json(item, depth - 1) for key, item in value.items()}
    return value


class Channel:
    """Owns both descriptors. One thread at a time sends and receives; `hang_up` may be called from any."""

    def __init__(self, incoming: int, outgoing: int, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._is_stopped = is_stopped
        self._incoming = incoming
        self._outgoing = outgoing
        self._closing = threading.Lock()
        self._closed = False
        self._buffer = bytearray()
        os.set_blocking(incoming, False)
        os.set_blocking(outgoing, False)
        self._reading = select.poll()
        self._reading.register(incoming, select.POLLIN)

    def send(self, message: Frame, deadline: float) -> None:
        """Raises `WireError` if the host closed the pipe, or reads nothing until `deadline` (monotonic)."""
        view = memoryview(wire.encode(message))
        while view:
            try:
                view = view[os.write(self._outgoing, view) :]
            except BlockingIOError:
                writing = select.poll()
                writing.register(self._outgoing, select.POLLOUT)
                if not writing.poll(milliseconds_to(deadline)):
                    raise WireError("the other side does not read what it is sent") from None
            except OSError as error:
                raise WireError(f"the other side of the pipe is gone: {error.strerror}") from error

    def receive(self, deadline: float, cancel: CancelToken | None = None) -> Frame:
        """The next message; an empty one if `cancel` fired before. Raises `WireError` at the end of the pipe, for an
        invalid frame, for a host that a signal stopped, and at `deadline` (monotonic)."""
        if time.monotonic() > deadline:
            raise WireError("no answer within the time limit")  # also if it sends other frames without end
        stopped, check_at = False, time.monotonic() + _STOP_CHECK_INTERVAL
        while (message := self._take()) is None:
            if self._reading.poll(min(milliseconds_to(deadline), _TICK)):
                try:
                    piece = os.read(self._incoming, 1 << 16)  # as much as a pipe holds
                except OSError as error:
                    raise WireError(f"the pipe cannot be read: {error.strerror}") from error
                if not piece:
                    raise WireError("the tool host ended")
                self._buffer += piece
            elif cancel is not None and cancel.fired:
                return {}
            elif time.monotonic() >= deadline:
                raise WireError("no answer within the time limit")
            elif time.monotonic() >= check_at:
                check_at += _STOP_CHECK_INTERVAL
                stopped, before = self._is_stopped(), stopped
                if stopped and before:
                    raise WireError("a signal stopped it")
        if not message:
            raise WireError("a message has other fields than it should")
        return message

    def hang_up(self) -> None:
        """End the pipe to the other side. Safe while another thread uses the channel: no descriptor is freed."""
        with self._closing:
            if not self._closed:
                null = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(null, self._outgoing, inheritable=False)
                os.close(null)

    def close(self) -> None:
        with self._closing:
            if not self._closed:
                self._closed = True
                os.close(self._incoming)
                os.close(self._outgoing)

    def _take(self) -> Frame | None:
        if len(self._buffer) < _HEADER:
            return None
        length = int.from_bytes(self._buffer[:_HEADER], "big")
        if length > wire.MAX_FRAME:
            raise WireError(f"a frame of {length} bytes is over the limit of {wire.MAX_FRAME}")
        if len(self._buffer) < _HEADER + length:
            return None
        body = bytes(self._buffer[_HEADER : _HEADER + length])
        del self._buffer[: _HEADER + length]
        return wire.decode(body)
