"""How the output of a checker is read, and the formats that are no one language's. The output is untrusted: a wrong
format raises `FormError`, and values are validated by who takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

ERROR, WARNING = "error", "warning"


class FormError(ValueError):
    """The output does not have the checker's format."""


class Find(NamedTuple):
    """One entry of a checker's output, not validated yet. Lines and columns begin at 1."""

    path: object
    line: object
    column: object
    severity: str
    code: object
    message: object


Form = Callable[[str], Iterator[Find]]


def parsed(text: str) -> object:
    """Raises `FormError`, also for an empty output: it is not an empty list."""
    try:
        return json.loads(text)
    except RecursionError:
        raise FormError("its output is nested too deeply") from None
    except ValueError:
        raise FormError("its output is not JSON") from None


def entries(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise FormError("its output is no list of problems")
    return value


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def number_of(value: object) -> int:
    return value if type(value) is int else 0


def from_one(number: object) -> object:
    """Convert a number that counts from 0 to one that counts from 1; 0 for an invalid value."""
    return number + 1 if type(number) is int else 0


def _gitlab(output: str) -> Iterator[Find]:
    levels = {"blocker": ERROR, "critical": ERROR, "major": ERROR, "minor": WARNING}
    for entry in entries(parsed(output)):
        where = mapping(entry.get("location"))
        begin, code = _start(where), entry.get("check_name")
        severity = levels.get(str(entry.get("severity")))
        if severity is not None and code:
            message = entry.get("description")
            if isinstance(message, str) and isinstance(code, str):
                message = message.removeprefix(f"{code}: ")
            yield Find(where.get("path"), begin.get("line"), begin.get("column"), severity, code, message)


def _start(where: Mapping[str, Any]) -> Mapping[str, Any]:
    positions, lines = mapping(where.get("positions")), mapping(where.get("lines"))
    return mapping(positions.get("begin")) if positions else {"line": lines.get("begin")}


def _rdjson(output: str) -> Iterator[Find]:
    levels = {"ERROR": ERROR, "WARNING": WARNING}
    for entry in entries(mapping(parsed(output)).get("diagnostics")):
        where = mapping(entry.get("location"))
        start = mapping(mapping(where.get("range")).get("start"))
        severity = levels.get(str(entry.get("severity", "ERROR")))
        if (
            severity and where
        ):  # a message without a location is about the run: a file that is too large to check
            yield Find(
                where.get("path"), start.get("line"), start.get("column"), severity,
                mapping(entry.get("code")).get("value"), entry.get("message"),
            )  # fmt: skip


_POSITIONED = re.compile(
    r"^(?:vet: )?([^\s:#][^:\n]*):(\d{1,9})(?::(\d{1,9})(?:-\d{1,9}(?::\d{1,9})?)?)?: (.*)$"
)


def _positioned(output: str) -> Iterator[Find]:
    """`path:line:column: message`, as Go's programs print it."""
    for line in output.splitlines():
        if match := _POSITIONED.match(line):
            path, row, column, message = match.groups()
            yield Find(path, int(row), int(column or 0), ERROR, "", message)


FORMS: Mapping[str, Form] = {"gitlab": _gitlab, "placed": _positioned, "rdjson": _rdjson}
