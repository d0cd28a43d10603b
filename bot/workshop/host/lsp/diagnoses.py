"""What a server says of a file, made into problems. It was told by a stranger about text by another: each value is
looked at, and a single odd one costs only itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.contracts.plain_text import printable
from bot.contracts.problems import Problem, Severity
from bot.workshop.host.lsp.positions import code_points

MOST = 10_000
"""Problems of one file that are kept."""

_LONG_LINE = 10_000
"""Letters; counting them again for each of the problems on a longer line would take seconds, so it has no columns."""

_MESSAGE = 1000
_CODE = 100
_SNIPPET = 300
_ERROR, _WARNING, _INFORMATION, _HINT = 1, 2, 3, 4
_UNNECESSARY, _DEPRECATED = 1, 2


def problems(
    items: object, *, tool: str, path: str, lines: Sequence[str], encoding: str
) -> tuple[tuple[Problem, ...], int]:
    """Errors and warnings in the order of their lines, and how many more than `MOST` there were. `lines` are those
    that the server was looking at; what it puts behind the last stands on the last."""
    if not isinstance(items, list):
        return (), 0
    file = _File(tool, path, lines, encoding)
    found = [
        _problem(item, severity, file)
        for item in items[:MOST]
        if isinstance(item, dict) and (severity := _severity(item)) is not None
    ]
    found.sort(key=lambda problem: (problem.line, problem.column))
    return tuple(found), max(0, len(items) - MOST)


def _severity(item: dict[str, Any]) -> Severity | None:
    """None of what is no more than a hint, as what is unnecessary or deprecated is unless a rule is named for it, as
    linters do: before and after the run it counts too. Where a server names no severity it is for the client to say,
    and an error here; one that the protocol does not have is a warning, since something was found."""
    tags, said = item.get("tags"), item.get("severity")
    tagged = isinstance(tags, list) and any(tag in tags for tag in (_UNNECESSARY, _DEPRECATED))
    if tagged and (said not in (_ERROR, _WARNING) or not _code(item.get("code"))):
        return None
    if said is None or said == _ERROR:
        return Severity.ERROR
    return None if said in (_INFORMATION, _HINT) else Severity.WARNING


@dataclass(slots=True)
class _File:
    tool: str
    path: str
    lines: Sequence[str]
    encoding: str
    snippets: dict[int, str] = field(default_factory=dict)

    def snippet(self, line: int) -> str:
        """From 1, as in problems; made once, since many problems may stand on one line."""
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
    place = item.get("range")
    place = place.get(end) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        return 0, 0
    line, character = place.get("line"), place.get("character")
    if type(line) is not int or line < 0 or not file.lines:
        return 0, 0
    column = character if type(character) is int and character >= 0 else 0
    within = min(line, len(file.lines) - 1)
    text = file.lines[within]
    if not text.isascii() and len(text) > _LONG_LINE:
        return within + 1, 0
    return within + 1, code_points(text, column, file.encoding) + 1


def _code(code: object) -> object:
    return code.get("value") if isinstance(code, dict) else code


def _one_line(value: object, most: int) -> str:
    """The first line that says something; a number as itself; what is neither is nothing."""
    if type(value) is int:
        return str(value)[:most]
    if isinstance(value, dict):  # MarkupContent, which the protocol allows since 3.18
        value = value.get("value")
    if not isinstance(value, str):
        return ""
    if value.isascii() and value.isprintable():  # as most are; an answer may have thousands
        return value.rstrip()[:most]
    shown = printable(value[: 4 * most].encode("utf-8", "replace").decode("utf-8"))
    return next((line.rstrip() for line in shown.split("\n") if line.strip()), "")[:most]
