"""Write and read journals: JSON Lines, append-only, redacted before they are written.

Each line is one system call, so a killed process loses at most the answer that is arriving. Only `close` syncs to
disk, which takes milliseconds. A journal that is read comes from another job or another machine, may be damaged or end
anywhere: every line is validated, lines that cannot be read are left out and counted, and numbers are always finite."""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from bot.contracts.errors import AgentError, UsageError
from bot.contracts.formatting import count_of, first_of
from bot.contracts.journal import RECORDS, SCHEMA_VERSION, Header, Note, Record, Response, Result
from bot.contracts.messages import PARTS, FinishReason, Message, ToolCall
from bot.contracts.model import Complete
from bot.contracts.progress import View, Written
from bot.contracts.records import masked
from bot.contracts.regular_files import TO_CREATE, read_regular

_TAGS: Mapping[type, str] = {cls: tag for tags in (RECORDS, PARTS) for tag, cls in tags.items()}


class JournalError(AgentError):
    """The journal cannot be written: a full disk, a missing folder."""


class Journal:
    """One run's journal, open for appending. Thread-safe. `view` is told what is written, each record with its call.

    The first failed write raises `JournalError`; from then on writes do nothing and `failure` is the reason, so
    that the code which ends the run does not fail on the same full disk again. Written lines stay readable.
    """

    def __init__(
        self,
        path: Path,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
        view: View | None = None,
    ) -> None:
        self.path = path
        self.failure = ""
        self._view = view
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._clock = clock
        self._opened = clock()
        self._lock = threading.Lock()
        self._redact = redact
        self._empty = True
        try:
            self._fd = os.open(path, TO_CREATE | os.O_APPEND, 0o600)
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
            line = _row(clean, self._clock() - self._opened, agent)
            self._append(line)
        self._show(clean, agent, line)

    def _show(self, record: Record, agent: str, line: bytes) -> None:
        if isinstance(record, Response):
            calls = (part for part in record.parts if isinstance(part, ToolCall))
            self._calls |= {(agent, call.id): call for call in calls}
        key = (agent, getattr(record, "call_id", ""))
        call = self._calls.pop(key, None) if isinstance(record, Result) else self._calls.get(key)
        if self._view is None:
            return
        try:
            self._view.tell(Written(record, line, agent, call))
        except Exception as error:  # noqa: BLE001  a terminal or a bug of ours: that ends no run
            self._view = None
            self.write(Note(f"What goes on is not shown any more: {type(error).__name__}: {error}"))

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


def _row(record: Record, at: float, agent: str) -> bytes:
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


MAX_JOURNAL = 512 * 1024 * 1024
_NAMED = 5

R = TypeVar("R")


class JournalLine(NamedTuple):
    """One line after the header. `at` is in seconds since the journal was opened. `agent` is the subagent that the line
    belongs to, empty for the run itself."""

    at: float
    record: Record
    agent: str = ""


class JournalFile(NamedTuple):
    """A journal as read. `lines` are the run's own, `everything` includes those of its subagents, in the order
    of writing. `unread` are the numbers of the lines that could not be read, from 1 on."""

    header: Header
    lines: tuple[JournalLine, ...]
    everything: tuple[JournalLine, ...]
    unread: tuple[int, ...] = ()

    @property
    def damage(self) -> str:
        """A sentence on the lines that could not be read; empty if all were."""
        if not self.unread:
            return ""
        lines, numbers = count_of(self.unread, "line"), first_of([*map(str, self.unread)], _NAMED)
        return f"{lines} of the journal could not be read and left out: {numbers}."

    def of(self, agent: str) -> JournalFile:
        """Return the lines of one subagent as a journal of its own."""
        return self._replace(lines=tuple(line for line in self.everything if line.agent == agent))

    def records(self, kind: type[R]) -> Iterator[R]:
        """The records of one type, in order."""
        return (line.record for line in self.lines if isinstance(line.record, kind))

    def responses(self) -> tuple[Complete, ...]:
        """The model's complete responses, for the replay provider."""
        return tuple(
            Complete(Message("assistant", item.parts), FinishReason(item.finish), item.raw_reason, item.usage)
            for item in self.records(Response)
        )


def read_journal(path: Path) -> JournalFile:
    """Read a journal, also of a killed run. Raises `UsageError` if it is missing or has no header."""
    try:
        data = read_regular(path, MAX_JOURNAL + 1)
    except OSError as error:
        raise UsageError(f"The journal {path} cannot be read: {error.strerror}.") from error
    return parse_journal(data, str(path))


def parse_journal(data: bytes, name: str) -> JournalFile:
    """Like `read_journal`, for bytes; `name` is for messages."""
    if len(data) > MAX_JOURNAL:
        raise UsageError(f"{name} is over {MAX_JOURNAL} bytes; a journal is never that large.")
    first, *rows = data.removesuffix(b"\n").split(b"\n")
    try:
        header = _line(first).record
    except ValueError as error:
        why = str(error)
        if isinstance(error, ValidationError):
            first_problem = error.errors(include_url=False, include_input=False)[0]
            why = f"{'.'.join(map(str, first_problem['loc']))}: {first_problem['msg']}"
        raise UsageError(f"{name} is no journal: its first line cannot be read ({why}).") from error
    if not isinstance(header, Header):
        raise UsageError(f"{name} is no journal: its first line is no header.")
    if header.schema > SCHEMA_VERSION:
        raise UsageError(
            f"{name} was written by Slash Agent {header.version} in journal schema {header.schema}; this one "
            f"reads up to {SCHEMA_VERSION}: install a newer one."
        )
    everything: list[JournalLine] = []
    unread: list[int] = []
    for number, row in enumerate(rows, start=2):
        try:
            line = _line(row)
        except ValueError:
            unread.append(number)
        else:
            everything.append(line)
    own = tuple(line for line in everything if not line.agent)
    return JournalFile(header, own, tuple(everything), tuple(unread))


_adapter = cache(TypeAdapter[Any])
"""Cached: creating all of them takes as long as the rest of reading a journal."""


def _line(row: bytes) -> JournalLine:
    """Raises `ValueError`."""
    try:
        plain = json.loads(row, **_NUMBERS)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    kind: Any = RECORDS.get(str(plain.pop("type", ""))) if isinstance(plain, dict) else None
    if kind is None:
        raise ValueError("it has no type of a journal's line")
    at, agent = plain.pop("at", 0.0), plain.pop("agent", "")
    if not isinstance(at, float | int) or not isinstance(agent, str):
        raise ValueError("its time or its agent is none")
    # The two shapes that pydantic does not know: parts name their `type`, bytes are text or base64.
    for name in ("parts", "images"):
        if isinstance(plain.get(name), list):
            plain[name] = tuple(map(_part, plain[name]))
    for file in plain["files"] if isinstance(plain.get("files"), list) else ():
        for key in ("before_content", "content"):
            if isinstance(file, dict) and isinstance(file.get(key), dict):
                file[key] = _bytes(file[key])
    return JournalLine(float(at), _adapter(kind).validate_python(plain), agent)


def _part(part: Any) -> Any:
    tag = part.pop("type", "") if isinstance(part, dict) else ""
    kind: Any = PARTS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise ValueError(f"there is no message part {tag!r}")
    if isinstance(part.get("data"), dict):
        part["data"] = _bytes(part["data"])
    return _adapter(kind).validate_python(part)


_DIGITS = 18
_MOST = 10.0**_DIGITS
_NUMBERS: Mapping[str, Any] = {
    "parse_float": lambda text: value if abs(value := float(text)) < _MOST else 0.0,
    "parse_int": lambda text: int(text) if len(text) < _DIGITS else 0,
    "parse_constant": lambda _: 0.0,
}
"""Implausible numbers become 0, since a page adds them up."""


def _bytes(value: Mapping[str, Any]) -> bytes:
    if isinstance(value.get("text"), str):
        return str(value["text"]).encode("utf-8", "replace")
    try:
        return base64.b64decode(value.get("base64", ""), validate=True)
    except (TypeError, binascii.Error) as error:
        raise ValueError("the bytes are neither text nor base64") from error
