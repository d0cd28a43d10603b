"""Read journals: tolerant of an incomplete last line of a killed run, strict about everything else.

A journal comes from another job or another machine, so every line is validated. A lenient reader, for display
only, skips invalid lines and reports their numbers; numbers are always finite.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from bot.contracts.errors import UsageError
from bot.contracts.journal import RECORDS, SCHEMA_VERSION, FileVersion, Header, Record, Response
from bot.contracts.messages import PARTS, FinishReason, Message
from bot.contracts.model import Complete
from bot.contracts.regular_files import read_regular

MAX_JOURNAL = 512 * 1024 * 1024

R = TypeVar("R")


class JournalLine(NamedTuple):
    """One line after the header. `at` is in seconds since the journal was opened; `number` counts from 1.
    `agent` is the subagent that the line belongs to, empty for the run itself."""

    number: int
    at: float
    masked: bool
    record: Record
    agent: str = ""


class JournalFile(NamedTuple):
    """A journal as read. `lines` are the run's own, `everything` includes those of its subagents, in the order
    of writing. `cut` is a sentence if the last line is incomplete, else empty. `unread` are the numbers of the
    lines that a lenient reader skipped."""

    header: Header
    lines: tuple[JournalLine, ...]
    cut: str = ""
    everything: tuple[JournalLine, ...] = ()
    unread: tuple[int, ...] = ()

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


def read_journal(path: Path, *, lenient: bool = False) -> JournalFile:
    """Read a journal, also of a killed run. Raises `UsageError` for an invalid one.

    `lenient` is for display: lines and fields of a newer or of another program are skipped.
    """
    try:
        data = read_regular(path, MAX_JOURNAL + 1)
    except OSError as error:
        raise UsageError(f"The journal {path} cannot be read: {error.strerror}.") from error
    return parse_journal(data, str(path), lenient=lenient)


def parse_journal(data: bytes, name: str, *, lenient: bool = False) -> JournalFile:
    """Like `read_journal`, for bytes; `name` is for messages."""
    if len(data) > MAX_JOURNAL:
        raise UsageError(f"{name} is over {MAX_JOURNAL} bytes; a journal is never that large.")
    rows = data.split(b"\n")
    whole, last = rows[:-1], rows[-1]
    reader = _Reader(name, lenient)
    lines: list[JournalLine] = []
    unread: list[int] = []
    for number, row in enumerate(whole, start=1):
        try:
            lines.append(reader.line(number, row))
        except UsageError:
            if not lenient or number == 1:
                raise
            unread.append(number)
    cut = ""
    if last:
        try:
            lines.append(reader.line(len(rows), last))
        except UsageError:
            cut = f"The last line of {name} is cut off: the run was killed while it wrote line {len(rows)}."
    if not lines:
        raise UsageError(f"{name} holds no journal: it has no whole line.")
    header = lines[0].record
    assert isinstance(header, Header)
    everything = tuple(lines[1:])
    own = tuple(line for line in everything if not line.agent)
    return JournalFile(header, own, cut, everything, tuple(unread))


@functools.cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    """Return the cached adapter: creating all of them takes as long as the rest of reading a journal. Imports
    pydantic lazily, since writing a journal does not need it."""

    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which the cache takes for any key


class _Reader:
    """Validates line after line."""

    def __init__(self, name: str, lenient: bool) -> None:
        self._name = name
        self._lenient = lenient
        self._numbers = _FINITE_NUMBERS if lenient else _ALL_NUMBERS

    def line(self, number: int, row: bytes) -> JournalLine:
        where = f"{self._name}, line {number}"
        try:
            plain = json.loads(row, **self._numbers)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where} is not JSON.") from error
        kind = RECORDS.get(str(plain.pop("type", ""))) if isinstance(plain, dict) else None
        if kind is None or (number == 1) != (kind is Header):
            raise UsageError(
                f"{where} is not a line of a journal." if number > 1 else f"{where} is no header."
            )
        if kind is Header and not self._lenient:
            _refuse_newer(plain, self._name)
        at, masked, agent = plain.pop("at", 0.0), plain.pop("masked", False), plain.pop("agent", "")
        if not isinstance(at, float | int) or not isinstance(masked, bool) or not isinstance(agent, str):
            raise UsageError(f"{where} is not a line of a journal.")
        if self._lenient:
            plain = _known_fields(kind, plain)
        try:
            record = self._validate(kind, self._decode(plain))
        except ValueError as error:
            raise UsageError(f"{where}: {_first_sentence(error)}.") from error
        return JournalLine(number, float(at), masked, record, agent)

    def _validate(self, kind: type[R], value: Any) -> R:
        checked: R = _adapter(kind).validate_python(value)  # type: ignore[arg-type]  # a type can be hashed
        return checked

    def _decode(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Decode the two shapes that pydantic does not know: parts name their `type`, bytes are text or base64."""
        if isinstance(plain.get("parts"), list):
            plain["parts"] = tuple(self._part(part) for part in plain["parts"])
        if isinstance(plain.get("files"), list):
            files = plain["files"]
            if self._lenient:
                files = [
                    _known_fields(FileVersion, file) if isinstance(file, dict) else file for file in files
                ]
            plain["files"] = [_with_bytes(file) for file in files]
        if isinstance(plain.get("images"), list):
            plain["images"] = tuple(self._part(image) for image in plain["images"])
        return plain

    def _part(self, part: Any) -> Any:
        tag = part.pop("type", "") if isinstance(part, dict) else ""
        kind = PARTS.get(tag) if isinstance(tag, str) else None
        if kind is None:
            raise ValueError(f"there is no message part {tag!r}")
        if isinstance(part.get("data"), dict):
            part["data"] = _bytes(part["data"])
        if isinstance(part.get("images"), list):
            part["images"] = tuple(self._part(image) for image in part["images"])
        return self._validate(kind, part)


def _known_fields(kind: type, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the record type has; those of a newer program are removed."""
    return {name: value for name, value in plain.items() if name in getattr(kind, "_fields", ())}


def _finite(text: str) -> float:
    value = float(text)
    return value if abs(value) < _MOST else 0.0


def _sane(text: str) -> int:
    return int(text) if len(text) < _DIGITS else 0


_DIGITS = 16
_MOST = 10.0**_DIGITS
_ALL_NUMBERS: Mapping[str, Any] = {}
_FINITE_NUMBERS: Mapping[str, Any] = {
    "parse_float": _finite,
    "parse_int": _sane,
    "parse_constant": lambda _: 0.0,
}
"""Implausible numbers become 0, since a page adds them up."""


def _refuse_newer(plain: Mapping[str, Any], name: str) -> None:
    schema = plain.get("schema")
    if isinstance(schema, int) and schema > SCHEMA_VERSION:
        raise UsageError(
            f"{name} was written by Slash Agent {plain.get('version')} in journal schema {schema}; this one "
            f"reads up to {SCHEMA_VERSION}: install a newer one."
        )


def _with_bytes(file: Any) -> Any:
    if not isinstance(file, dict):
        return file
    for key in ("before_content", "content"):
        value = file.get(key)
        if isinstance(value, dict):
            file[key] = _bytes(value)
    return file


def _bytes(value: Mapping[str, Any]) -> bytes:
    if isinstance(value.get("text"), str):
        return str(value["text"]).encode("utf-8", "replace")
    try:
        return base64.b64decode(value.get("base64", ""), validate=True)
    except (TypeError, binascii.Error) as error:
        raise ValueError("the bytes are neither text nor base64") from error


def _first_sentence(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
    return str(error)
