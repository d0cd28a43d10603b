"""Values of the language server protocol: messages, URIs, positions, diagnostics. Whatever a server sends is
untrusted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn
from urllib.parse import quote, unquote_to_bytes

from bot.contracts.evidence import Problem, Severity
from bot.contracts.plain_text import printable

Message = dict[str, Any]

MAX_MESSAGE = 8 << 20
MAX_PROBLEMS = 10_000
"""Problems per file."""

_MAX_HEADER = 4096
_HEADER_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?:^|\r\n)content-length:[ \t]*([0-9]{1,10})[ \t]*(?:\r\n|$)", re.IGNORECASE)
_SCHEME = "file://"
_LINE_END = re.compile(r"\r\n|\n|\r")
_LONG_LINE = 10_000
"""Characters; on a longer line columns are not computed, which would take seconds for many problems."""

_MESSAGE = 1000
_CODE = 100
_SNIPPET = 300
_ERROR, _WARNING, _INFORMATION, _HINT = 1, 2, 3, 4
_UNNECESSARY, _DEPRECATED = 1, 2


class FrameError(Exception):
    """The received bytes are not a message, or over the limit. Nothing after them can be decoded."""


def encode(message: Message) -> bytes:
    body = json.dumps({"jsonrpc": "2.0"} | message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Decoder:
    """Decodes incrementally; buffers at most one message and a header."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are now complete. Raises `FrameError`."""
        self._buffer += data
        while (body := self._next()) is not None:
            try:
                message = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
            except (ValueError, RecursionError) as error:
                raise FrameError("a message that is not JSON") from error
            if not isinstance(message, dict):
                raise FrameError("a message that is not a JSON object")
            yield message

    def _next(self) -> bytes | None:
        if self._length < 0:
            end = self._buffer.find(_HEADER_END, 0, _MAX_HEADER)
            if end < 0:
                if len(self._buffer) >= _MAX_HEADER:
                    raise FrameError("a message whose header does not end")
                return None
            match = _LENGTH.search(self._buffer[:end])
            if match is None:
                raise FrameError("output that is not a message")
            self._length = int(match[1])
            if self._length > MAX_MESSAGE:
                raise FrameError(f"a message of {self._length:,} bytes; {MAX_MESSAGE:,} are allowed")
            del self._buffer[: end + len(_HEADER_END)]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = -1
        return body


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def uri_of(path: str) -> str:
    """Of an absolute path; bytes that are not UTF-8 survive."""
    return _SCHEME + quote(os.fsencode(path))


def path_of(uri: object) -> str:
    """The normalised path; empty if the URI names no local file. Servers write one file's URI in several ways:
    compare paths, never URIs."""
    if not isinstance(uri, str) or uri[: len(_SCHEME)].lower() != _SCHEME:
        return ""
    host, slash, path = uri[len(_SCHEME) :].partition("/")
    if not slash or host not in ("", "localhost"):
        return ""
    decoded = unquote_to_bytes(path.encode("utf-8", "replace"))
    return "" if b"\0" in decoded else os.path.normpath("/" + os.fsdecode(decoded).lstrip("/"))


def sendable(text: str) -> str:
    """`text` with lone surrogates replaced: servers refuse the whole message for one."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def code_points(line: str, character: int) -> int:
    """Convert a column in UTF-16, from 0, to a number of characters. A column within a character is rounded down; one
    after the line is its end."""
    if line.isascii():
        return min(character, len(line))
    before = line[:character].encode("utf-16-le", "replace")[: 2 * character]
    return len(before.decode("utf-16-le", "ignore"))


def parse_diagnostics(items: object, *, tool: str, path: str, text: str) -> tuple[Problem, ...] | None:
    """Parse diagnostics: errors and warnings in the order of lines, at most `MAX_PROBLEMS`; `None` if `items` is not a
    list. An odd value costs only its own field. A line after the last of `text` becomes the last."""
    if not isinstance(items, list):
        return None
    lines = _LINE_END.split(text)  # `splitlines` has more line ends than the protocol
    problems = [
        _problem(item, severity, tool, path, lines)
        for item in items[:MAX_PROBLEMS]
        if isinstance(item, dict) and (severity := _severity(item)) is not None
    ]
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))


def _severity(item: dict[str, Any]) -> Severity | None:
    """None for information and hints. A diagnostic tagged unnecessary or deprecated is a hint unless a rule is named
    for it, as linters do. A missing severity is an error, an unknown one a warning."""
    tags, severity = item.get("tags"), item.get("severity")
    tagged = isinstance(tags, list) and any(tag in tags for tag in (_UNNECESSARY, _DEPRECATED))
    if tagged and (severity not in (_ERROR, _WARNING) or not _code(item.get("code"))):
        return None
    if severity is None or severity == _ERROR:
        return Severity.ERROR
    return None if severity in (_INFORMATION, _HINT) else Severity.WARNING


def _problem(item: dict[str, Any], severity: Severity, tool: str, path: str, lines: Sequence[str]) -> Problem:
    line, column = _position(item, "start", lines)
    end_line, end_column = _position(item, "end", lines)
    return Problem(
        tool,
        path,
        line,
        column,
        severity,
        code=_one_line(_code(item.get("code")), _CODE),
        message=_one_line(item.get("message"), _MESSAGE),
        end_line=end_line,
        end_column=end_column,
        snippet=_one_line(lines[line - 1][:_LONG_LINE], _SNIPPET) if line else "",
    )


def _position(item: dict[str, Any], end: str, lines: Sequence[str]) -> tuple[int, int]:
    position = mapping(mapping(item.get("range")).get(end))
    line, character = position.get("line"), position.get("character")
    if type(line) is not int or line < 0:
        return 0, 0
    column = character if type(character) is int and character >= 0 else 0
    index = min(line, len(lines) - 1)
    text = lines[index]
    if not text.isascii() and len(text) > _LONG_LINE:
        return index + 1, 0
    return index + 1, code_points(text, column) + 1


def _code(code: object) -> object:
    return code.get("value") if isinstance(code, dict) else code


def _one_line(value: object, limit: int) -> str:
    """The first line that is not blank, or an integer as text; empty for any other value."""
    if type(value) is int:
        return str(value)[:limit]
    if isinstance(value, dict):  # MarkupContent, which the protocol allows since 3.18
        value = value.get("value")
    if not isinstance(value, str):
        return ""
    clean = printable(value[: 4 * limit].encode("utf-8", "replace").decode("utf-8"))
    return next((line.rstrip() for line in clean.split("\n") if line.strip()), "")[:limit]
