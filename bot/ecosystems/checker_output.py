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


def by_line(pattern: str) -> Form:
    """Return the reader of an output with one problem a line. `pattern` has the groups `path`, `line` and `message`,
    and may have `column`, `severity` and `code`."""
    expression = re.compile(pattern)

    def read(output: str) -> Iterator[Find]:
        for match in filter(None, map(expression.match, output.splitlines())):
            groups = {"column": None, "severity": ERROR, "code": "", **match.groupdict()}
            line, column = int(groups["line"] or 0), int(groups["column"] or 0)
            yield Find(
                groups["path"], line, column, str(groups["severity"]), groups["code"] or "", groups["message"]
            )

    return read


# `path:line:column: message`, as Go's programs print it.
_PLACED = (
    r"(?:vet: )?(?P<path>[^\s:#][^:\n]*):(?P<line>\d{1,9})(?::(?P<column>\d{1,9})(?:-\d{1,9}(?::\d{1,9})?)?)?: "
    r"(?P<message>.*)$"
)

FORMS: Mapping[str, Form] = {"placed": by_line(_PLACED), "rdjson": _rdjson}
