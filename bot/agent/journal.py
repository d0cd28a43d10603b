"""Write journals: JSON Lines, append-only, one system call a line, redacted before it is written.

A killed process loses at most the answer that is arriving, since each line goes to the kernel as it happens.
Only `close` syncs to disk, which takes milliseconds.
"""

from __future__ import annotations

import base64
import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from bot.contracts.errors import AgentError
from bot.contracts.journal import RECORDS, Header, Record
from bot.contracts.messages import PARTS
from bot.contracts.records import masked

_TAGS: Mapping[type, str] = {cls: tag for tags in (RECORDS, PARTS) for tag, cls in tags.items()}


class JournalError(AgentError):
    """The journal cannot be written: a full disk, a missing folder."""


class Journal:
    """One run's journal, open for appending. Thread-safe.

    The first failed write raises `JournalError`; from then on writes do nothing and `failure` is the reason, so
    that the code which ends the run does not fail on the same full disk again. Written lines stay readable.
    `watch(record, agent, line)` is called after each write, with the record as it is written, and must not raise.
    """

    def __init__(
        self, path: Path, redact: Callable[[str], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self.failure = ""
        self.watch: Callable[[Record, str, bytes], None] = lambda record, agent, line: None
        self._clock = clock
        self._opened = clock()
        self._lock = threading.Lock()
        self._redact = redact
        self._empty = True
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise JournalError(f"The journal {path} cannot be created: {error.strerror}.") from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, record: Record, agent: str = "") -> None:
        """Append one line. The first must be the `Header`. `agent` names the subagent that it belongs to."""
        with self._lock:
            if self.failure:
                return
            if self._fd < 0 or self._empty != isinstance(record, Header):
                raise ValueError(
                    f"{type(record).__name__}: a journal is one header, then other lines, then closed"
                )
            self._empty = False
            clean = masked(record, self._redact)
            line = _line(clean, self._clock() - self._opened, agent)
            self._append(line)
        self.watch(clean, agent, line)

    def close(self) -> None:
        """Sync to disk and close. Further calls do nothing."""
        with self._lock:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            try:
                os.fsync(fd)
            except OSError as error:
                self.failure = self.failure or f"The journal {self.path} cannot be kept: {error.strerror}."
            finally:
                os.close(fd)

    def _append(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError as error:
            self.failure = f"The journal {self.path} cannot be written: {error.strerror}."
            raise JournalError(self.failure) from error


def _line(record: Record, at: float, agent: str) -> bytes:
    plain = {"type": _TAGS[type(record)], "at": round(at, 4), **_object(record)}
    if agent:
        plain["agent"] = agent
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate is no text; it becomes a question mark, since readers of JSON refuse it.
    return text.encode("utf-8", "replace") + b"\n"


def _plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is tuple or kind is list:
        return [_plain(item) for item in value]
    if kind is bytes:
        return _content(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    tag = _TAGS.get(kind)
    plain = _object(value)
    return plain if tag is None else {"type": tag, **plain}


def _object(record: Any) -> dict[str, Any]:
    """Return the fields of a record that are not at their default."""
    defaults = record._field_defaults
    return {
        name: _plain(item)
        for name, item in zip(record._fields, record, strict=True)
        if name not in defaults or item != defaults[name]
    }


def _content(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}
