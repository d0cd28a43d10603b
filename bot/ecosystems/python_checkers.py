"""The output of checkers for Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.ecosystems.checker_output import (
    ERROR,
    WARNING,
    Find,
    Form,
    entries,
    from_one,
    mapping,
    parsed,
)


def _ruff(output: str) -> Iterator[Find]:
    for entry in entries(parsed(output)):
        start, end = mapping(entry.get("location")), mapping(entry.get("end_location"))
        # What has no rule's name, or the one for it, is a syntax error: code that cannot be run.
        severity = WARNING if _is_style(entry.get("code")) else ERROR
        yield Find(
            entry.get("filename"), start.get("row"), start.get("column"), severity,
            entry.get("code") or "invalid-syntax", entry.get("message"), end.get("row"), end.get("column"),
        )  # fmt: skip


def _is_style(code: object) -> bool:
    """Whether the rule is about style. Errors of pycodestyle and pyflakes are not, except those about unused names."""
    if not isinstance(code, str) or code in ("invalid-syntax", "syntax-error"):
        return False
    return not re.match(r"E9|F(?![A-Z])", code) or code in (
        "F401",
        "F403",
        "F405",
        "F541",
        "F811",
        "F841",
        "F842",
    )


def _pyright(output: str) -> Iterator[Find]:
    for entry in entries(mapping(parsed(output)).get("generalDiagnostics")):
        span = mapping(entry.get("range"))
        start, end = mapping(span.get("start")), mapping(span.get("end"))
        severity = entry.get("severity")
        if severity in (ERROR, WARNING):
            yield Find(
                entry.get("file"), from_one(start.get("line")), from_one(start.get("character")), str(severity),
                entry.get("rule") or "", entry.get("message"), from_one(end.get("line")),
                from_one(end.get("character")),
            )  # fmt: skip


_MYPY = re.compile(
    r"^([^\s:][^:\n]*):(\d{1,9}):(?:(\d{1,9}):)? (error|warning): (.*?)(?:  \[([\w-]{1,60})\])?$"
)


def _mypy(output: str) -> Iterator[Find]:
    for line in output.splitlines():
        if match := _MYPY.match(line):
            path, row, column, severity, message, code = match.groups()
            yield Find(path, int(row), int(column or 0), severity, code or "", message)


FORMS: Mapping[str, Form] = {"mypy": _mypy, "pyright": _pyright, "ruff": _ruff}
