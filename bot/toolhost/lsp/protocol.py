"""Values of the language server protocol: positions, URIs, capabilities, open documents, diagnostics."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from bot.contracts.evidence import Problem, Severity
from bot.contracts.plain_text import printable

if TYPE_CHECKING:
    import asyncio

    from bot.toolhost.lsp.process import FileDiagnostics

TSSERVER_COMMAND = "typescript.tsserverRequest"

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
OFFERED = (UTF8, UTF16)

_LINE_END = re.compile(r"\r\n|\n|\r")
_LAST_OF_BMP = "\uffff"


def lines_of(text: str) -> list[str]:
    """Lines without their ends, by the protocol's three line ends (`splitlines` has more)."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


def units(text: str, encoding: str) -> int:
    """Length of `text` in code units of an encoding."""
    if text.isascii() or encoding == UTF32:
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "replace"))
    return len(text) + sum(c > _LAST_OF_BMP for c in text)


def code_points(line: str, character: int, encoding: str) -> int:
    """Convert a column of the protocol, from 0, to a number of characters. A column within a character is rounded
    down; one after the line is its end."""
    if line.isascii() or encoding == UTF32:
        return min(character, len(line))
    codec, width = ("utf-8", 1) if encoding == UTF8 else ("utf-16-le", 2)
    before = line[:character].encode(codec, "replace")[: width * character]
    return len(before.decode(codec, "ignore"))


def end_of(text: str, encoding: str) -> tuple[int, int]:
    """Line and column, both from 0, after the last character of a text."""
    if "\r" not in text:
        return text.count("\n"), units(text[text.rfind("\n") + 1 :], encoding)
    lines = lines_of(text)
    return len(lines) - 1, units(lines[-1], encoding)


_SCHEME = "file://"


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


NO_SYNC, FULL, INCREMENTAL = 0, 1, 2
_NUMBER = re.compile(r"\d[\w.+-]{0,40}")
_MAX_VERSION = 40

_CLIENT_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": list(OFFERED)},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        # Without it basedpyright falls back to push silently.
        "diagnostic": {"dynamicRegistration": True},
    },
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
        "diagnostics": {"refreshSupport": True},
    },
    "window": {"workDoneProgress": True},
}


def initialize_params(root: Path, options: object) -> dict[str, Any]:
    uri = uri_of(str(root))
    params: dict[str, Any] = {
        "processId": os.getpid(),
        "clientInfo": {"name": "slash-agent"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": root.name or "root"}],
        "capabilities": _CLIENT_CAPABILITIES,
    }
    return params if options is None else params | {"initializationOptions": options}


@dataclass(frozen=True, slots=True)
class ServerCapabilities:
    """`pull` are the options of `textDocument/diagnostic`, None if the answer to `initialize` has none;
    `tsserver`: it executes requests of TypeScript's own server instead."""

    sync: int = FULL
    saves: bool = False
    saves_text: bool = False
    pull: Mapping[str, Any] | None = None
    tsserver: bool = False
    encoding: str = UTF16
    version: str = ""


def server_capabilities(answer: object) -> ServerCapabilities:
    """Parse the untrusted answer to `initialize`."""
    answer = _mapping(answer)
    capabilities = _mapping(answer.get("capabilities"))
    sync = capabilities.get("textDocumentSync")
    save = sync.get("save") if isinstance(sync, dict) else type(sync) is int and sync > 0
    kind = sync.get("change") if isinstance(sync, dict) else sync
    provider = capabilities.get("diagnosticProvider")
    encoding = capabilities.get("positionEncoding")
    commands = _mapping(capabilities.get("executeCommandProvider")).get("commands")
    version = _mapping(answer.get("serverInfo")).get("version")
    return ServerCapabilities(
        sync=kind if type(kind) is int and kind in (NO_SYNC, INCREMENTAL) else FULL,
        saves=bool(save),
        saves_text=_mapping(save).get("includeText") is True,
        pull=_mapping(provider) if isinstance(provider, dict) or provider is True else None,
        tsserver=isinstance(commands, list) and TSSERVER_COMMAND in commands,
        encoding=encoding if encoding in (*OFFERED, UTF32) else UTF16,
        version=_number(version) if isinstance(version, str) else "",
    )


def _number(version: str) -> str:
    """The number in a version: clangd adds its name and platform, gopls sends all of its build in JSON."""
    if version.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            version = str(_mapping(json.loads(version)).get("Version"))
    match = _NUMBER.search(version[:200])
    return match[0] if match else version[:_MAX_VERSION]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class DocumentState:
    """What a server published about one open file. Times are those of the loop, in seconds."""

    version: int
    """Of the text that was sent last."""

    opened: bool = True
    """Nothing was published since the file was opened."""

    items: object = None
    published: float = 0.0
    """0 if nothing was published of the text that was sent last."""

    named_version: bool = False
    stirred: float = 0.0
    """When another file changed, which may change the problems of this one."""

    def change(self, version: int) -> None:
        self.version, self.published = version, 0.0

    def publish(self, items: object, version: object, now: float) -> bool:
        """Record a publication; return False if it names an older version of the text."""
        named = type(version) is int
        if named and version < self.version:  # type: ignore[operator]  # an int
            return False
        self.items, self.published, self.named_version = items, now, named
        return True


@dataclass(slots=True)
class Document:
    """An open file. `path` is the caller's name of it; `version` counts the texts that were sent."""

    path: str
    absolute: str
    language: str
    text: str
    version: int = 1
    state: DocumentState = field(default_factory=lambda: DocumentState(1))
    check: asyncio.Task[FileDiagnostics] | None = None
    """The last one that was started for this text."""

    revision: int = 0
    """The server's count of changes to all files when the check started."""

    unreported: bool = False
    """Its result came after the deadline, or replaces one that was returned."""

    last_result: FileDiagnostics | None = None

    @property
    def identifier(self) -> dict[str, Any]:
        return {"uri": uri_of(self.absolute)}

    @property
    def item(self) -> dict[str, Any]:
        return self.identifier | {
            "languageId": self.language,
            "version": self.version,
            "text": self.text,
        }


def change_params(document: Document, old: str, capabilities: ServerCapabilities) -> dict[str, Any] | None:
    """The parameters of `didChange`, from the text `old`; None for a server that wants none.

    One replacement of the whole old text, with its range where the server takes ranges: without it, vtsls applies a
    shorter text wrongly and reports problems on lines that no longer exist.
    """
    if capabilities.sync == NO_SYNC:
        return None
    content: dict[str, Any] = {"text": document.text}
    if capabilities.sync == INCREMENTAL:
        line, character = end_of(old, capabilities.encoding)
        content["range"] = {
            "start": {"line": 0, "character": 0},
            "end": {"line": line, "character": character},
        }
    return {
        "textDocument": document.identifier | {"version": document.version},
        "contentChanges": [content],
    }


def sendable(text: str) -> str:
    """`text` with lone surrogates replaced: servers refuse the whole message for one."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


MAX_PROBLEMS = 10_000
"""Problems per file."""

_LONG_LINE = 10_000
"""Characters; on a longer line columns are not computed, which would take seconds for many problems."""

_MESSAGE = 1000
_CODE = 100
_SNIPPET = 300
_ERROR, _WARNING, _INFORMATION, _HINT = 1, 2, 3, 4
_UNNECESSARY, _DEPRECATED = 1, 2


def parse_diagnostics(
    items: object, *, tool: str, path: str, lines: Sequence[str], encoding: str
) -> tuple[tuple[Problem, ...], int]:
    """Parse untrusted diagnostics: errors and warnings in the order of lines, and how many were over `MAX_PROBLEMS`.
    An odd value costs only its own field. `lines` are those of the checked text; a line after the last becomes the
    last."""
    if not isinstance(items, list):
        return (), 0
    file = _File(tool, path, lines, encoding)
    problems = [
        _problem(item, severity, file)
        for item in items[:MAX_PROBLEMS]
        if isinstance(item, dict) and (severity := _severity(item)) is not None
    ]
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return tuple(problems), max(0, len(items) - MAX_PROBLEMS)


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


@dataclass(slots=True)
class _File:
    tool: str
    path: str
    lines: Sequence[str]
    encoding: str
    snippets: dict[int, str] = field(default_factory=dict)

    def snippet(self, line: int) -> str:
        """`line` is counted from 1; cached, since many problems may be on one line."""
        if line and line not in self.snippets:
            self.snippets[line] = _one_line(self.lines[line - 1], _SNIPPET)
        return self.snippets.get(line, "")


def _problem(item: dict[str, Any], severity: Severity, file: _File) -> Problem:
    line, column = _position(item, "start", file)
    end_line, end_column = _position(item, "end", file)
    return Problem(
        tool=file.tool,
        path=file.path,
        line=line,
        column=column,
        severity=severity,
        code=_one_line(_code(item.get("code")), _CODE),
        message=_one_line(item.get("message"), _MESSAGE),
        end_line=end_line,
        end_column=end_column,
        snippet=file.snippet(line),
    )


def _position(item: dict[str, Any], end: str, file: _File) -> tuple[int, int]:
    text_range = item.get("range")
    position = text_range.get(end) if isinstance(text_range, dict) else None
    if not isinstance(position, dict):
        return 0, 0
    line, character = position.get("line"), position.get("character")
    if type(line) is not int or line < 0 or not file.lines:
        return 0, 0
    column = character if type(character) is int and character >= 0 else 0
    index = min(line, len(file.lines) - 1)
    text = file.lines[index]
    if not text.isascii() and len(text) > _LONG_LINE:
        return index + 1, 0
    return index + 1, code_points(text, column, file.encoding) + 1


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
    if value.isascii() and value.isprintable():  # as limit are; an answer may have thousands
        return value.rstrip()[:limit]
    clean = printable(value[: 4 * limit].encode("utf-8", "replace").decode("utf-8"))
    return next((line.rstrip() for line in clean.split("\n") if line.strip()), "")[:limit]
