"""Values of the language server protocol: messages, URIs, positions, diagnostics. Whatever a server sends is
untrusted."""

import json
import re
from collections.abc import Sequence
from typing import Any, BinaryIO
from urllib.parse import unquote

from bot.contracts.evidence import Problem, Severity
from bot.toolhost.problem_record import code_points, one_line

Message = dict[str, Any]

MAX_MESSAGE = 8 << 20
MAX_PROBLEMS = 10_000
"""Problems per file."""

_MAX_HEADER = 4096
_LENGTH = re.compile(rb"(?:^|\r\n)content-length:[ \t]*([0-9]{1,10})[ \t]*\r\n", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\n|\r")
_MESSAGE, _CODE, _SNIPPET = 300, 60, 120
_ERROR, _WARNING = 1, 2
_UNNECESSARY, _DEPRECATED = 1, 2


class FrameError(Exception):
    """The received bytes are not a message, or over the limit. Nothing after them can be decoded."""


def encode(message: Message) -> bytes:
    body = json.dumps({"jsonrpc": "2.0"} | message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def receive(stream: BinaryIO) -> Message | None:
    """The next message; `None` at the end. Raises `FrameError`."""
    header = b""
    while not header.endswith(b"\r\n\r\n"):
        line = stream.readline(_MAX_HEADER)
        header += line
        if not line:
            return None
        if len(header) >= _MAX_HEADER:
            raise FrameError("a message whose header does not end")
    if (match := _LENGTH.search(header)) is None:
        raise FrameError("output that is not a message")
    if (length := int(match[1])) > MAX_MESSAGE:
        raise FrameError(f"a message of {length:,} bytes; {MAX_MESSAGE:,} are allowed")
    body = stream.read(length)
    if len(body) < length:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise FrameError("a message that is not a JSON object")
    return message


def path_of(uri: object) -> str:
    """The path that a URI names. Servers escape one file's name in several ways: compare paths, never URIs."""
    return unquote(uri.removeprefix("file://"), errors="surrogateescape") if isinstance(uri, str) else ""


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def parse_diagnostics(items: object, *, tool: str, path: str, text: str) -> tuple[Problem, ...] | None:
    """Parse diagnostics: errors and warnings in the order of lines, at most `MAX_PROBLEMS`; `None` if `items` is not a
    list. One that is not as in the protocol is left out. A line after the last of `text` becomes the last."""
    if not isinstance(items, list):
        return None
    lines = _LINE_END.split(text)  # `splitlines` has more line ends than the protocol
    problems = (_problem(item, tool, path, lines) for item in items[:MAX_PROBLEMS])
    return tuple(sorted(filter(None, problems), key=lambda problem: (problem.line, problem.column)))


def _problem(item: Any, tool: str, path: str, lines: Sequence[str]) -> Problem | None:
    """`None` also for information and hints. A diagnostic tagged unnecessary or deprecated is a hint unless a rule is
    named for it, as linters do. A missing severity is an error."""
    match item:
        case {"range": {"start": {"line": int(line), "character": int(character)}}, "message": text}:
            code, tags, level = item.get("code"), item.get("tags"), item.get("severity")
        case _:
            return None
    code = code.get("value") if isinstance(code, dict) else code
    tagged = isinstance(tags, list) and any(tag in tags for tag in (_UNNECESSARY, _DEPRECATED))
    is_hint = level not in (None, _ERROR, _WARNING) or (tagged and not (level and code))
    if is_hint or line < 0 or character < 0:
        return None
    index = min(line, len(lines) - 1)
    column = min(code_points(lines[index], character + 1, "utf-16"), len(lines[index]) + 1)
    # MarkupContent, which the protocol allows since 3.18.
    message = one_line(text.get("value") if isinstance(text, dict) else text, _MESSAGE)
    severity = Severity.WARNING if level == _WARNING else Severity.ERROR
    code, snippet = one_line(code, _CODE), one_line(lines[index], _SNIPPET)
    return Problem(tool, path, index + 1, column, severity, code, message, snippet=snippet)
