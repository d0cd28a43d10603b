"""The output of checkers for JavaScript and TypeScript."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.ecosystems.checker_output import (
    ERROR,
    WARNING,
    Find,
    Form,
    FormError,
    entries,
    mapping,
    number_of,
    parsed,
)


def _oxlint(output: str) -> Iterator[Find]:
    for entry in entries(mapping(parsed(output)).get("diagnostics")):
        labels = entry.get("labels")
        label = mapping(labels[0]) if isinstance(labels, list) and labels else {}
        span = mapping(label.get("span"))
        severity = entry.get("severity")
        if severity in (ERROR, WARNING):
            yield Find(
                entry.get("filename"), span.get("line"), span.get("column"), str(severity), entry.get("code"),
                entry.get("message"),
            )  # fmt: skip


def _eslint(output: str) -> Iterator[Find]:
    """Parse the last line that is a list: settings are code, which may print before it. A message on a file as a
    whole has no line: that no settings apply to the file is an error, that it is ignored is not."""
    lines = (line for line in reversed(output.split("\n")) if line.startswith("["))
    files = entries(parsed(next(lines, output)))
    if not files:
        raise FormError("there was no file for it to look at")
    reasons = [_unplaced(entry) for entry in files]
    if all(reasons):
        raise FormError(reasons[0])
    for entry in files:
        for message in entries(entry.get("messages")):
            severity = {2: ERROR, 1: WARNING}.get(number_of(message.get("severity")))
            line, code, text = number_of(message.get("line")), message.get("ruleId"), message.get("message")
            if message.get("fatal"):
                line, code, text = line or 1, "parsing-error", str(text).removeprefix("Parsing error: ")
            if severity is not None and line:
                yield Find(
                    entry.get("filePath"), line, message.get("column"), severity, code, text, message.get("endLine"),
                    message.get("endColumn"),
                )  # fmt: skip


def _unplaced(entry: Mapping[str, Any]) -> str:
    """Why the checker could not check a file at all."""
    messages = entries(entry.get("messages"))
    fatal = (each for each in messages if each.get("fatal") and not number_of(each.get("line")))
    return next((str(each.get("message")) for each in fatal), "")


_TSC = re.compile(r"^([^\s(][^(\n]*)\((\d{1,9}),(\d{1,9})\): (error|warning) (TS\d{1,6}): (.*)$")
_TSC_OF_NO_FILE = re.compile(r"^error (TS\d{1,6}: .*)$", re.MULTILINE)


def _tsc(output: str) -> Iterator[Find]:
    if wrong := _TSC_OF_NO_FILE.search(output):
        raise FormError(wrong[1])
    for line in output.splitlines():
        if match := _TSC.match(line):
            path, row, column, severity, code, message = match.groups()
            yield Find(path, int(row), int(column), severity, code, message)


FORMS: Mapping[str, Form] = {"eslint": _eslint, "oxlint": _oxlint, "tsc": _tsc}
