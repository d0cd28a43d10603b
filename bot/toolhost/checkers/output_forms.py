"""Parse the output of checkers, one function for each format. The output is untrusted: a wrong format raises
`FormError`, and `problem_record.py` bounds every value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.toolhost.checkers.problem_record import Find

Form = Callable[[str], Iterator[Find]]

_ERROR, _WARNING = "error", "warning"


class FormError(ValueError):
    """The output does not have the checker's format."""


def _ruff(output: str) -> Iterator[Find]:
    for entry in _list(_json(output)):
        start, end = _object(entry.get("location")), _object(entry.get("end_location"))
        # What has no rule's name, or the one for it, is a syntax error: code that cannot be run.
        severity = _WARNING if _is_style(entry.get("code")) else _ERROR
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


def _gitlab(output: str) -> Iterator[Find]:
    levels = {"blocker": _ERROR, "critical": _ERROR, "major": _ERROR, "minor": _WARNING}
    for entry in _list(_json(output)):
        where = _object(entry.get("location"))
        begin, end, code = *_positions(where), entry.get("check_name")
        severity = levels.get(str(entry.get("severity")))
        if severity is not None and code:
            message = entry.get("description")
            if isinstance(message, str) and isinstance(code, str):
                message = message.removeprefix(f"{code}: ")
            yield Find(
                where.get("path"), begin.get("line"), begin.get("column"), severity, code, message,
                end.get("line"), end.get("column"),
            )  # fmt: skip


def _positions(where: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    positions, lines = _object(where.get("positions")), _object(where.get("lines"))
    if positions:
        return _object(positions.get("begin")), _object(positions.get("end"))
    return {"line": lines.get("begin")}, {"line": lines.get("end")}


def _pyright(output: str) -> Iterator[Find]:
    for entry in _list(_object(_json(output)).get("generalDiagnostics")):
        span = _object(entry.get("range"))
        start, end = _object(span.get("start")), _object(span.get("end"))
        severity = entry.get("severity")
        if severity in (_ERROR, _WARNING):
            yield Find(
                entry.get("file"), _after(start.get("line")), _after(start.get("character")), str(severity),
                entry.get("rule") or "", entry.get("message"), _after(end.get("line")), _after(end.get("character")),
            )  # fmt: skip


def _rdjson(output: str) -> Iterator[Find]:
    levels = {"ERROR": _ERROR, "WARNING": _WARNING}
    for entry in _list(_object(_json(output)).get("diagnostics")):
        where = _object(entry.get("location"))
        span = _object(where.get("range"))
        start, end = _object(span.get("start")), _object(span.get("end"))
        severity = levels.get(str(entry.get("severity", "ERROR")))
        if (
            severity and where
        ):  # a message without a location is about the run: a file that is too large to check
            yield Find(
                where.get("path"), start.get("line"), start.get("column"), severity,
                _object(entry.get("code")).get("value"), entry.get("message"), end.get("line"), end.get("column"),
            )  # fmt: skip


def _oxlint(output: str) -> Iterator[Find]:
    for entry in _list(_object(_json(output)).get("diagnostics")):
        labels = entry.get("labels")
        label = _object(labels[0]) if isinstance(labels, list) and labels else {}
        span = _object(label.get("span"))
        severity = entry.get("severity")
        if severity in (_ERROR, _WARNING):
            yield Find(
                entry.get("filename"), span.get("line"), span.get("column"), str(severity), entry.get("code"),
                entry.get("message"),
            )  # fmt: skip


def _eslint(output: str) -> Iterator[Find]:
    """Parse the last line that is a list: settings are code, which may print before it. A message on a file as a
    whole has no line: that no settings apply to the file is an error, that it is ignored is not."""
    lines = (line for line in reversed(output.split("\n")) if line.startswith("["))
    files = _list(_json(next(lines, output)))
    if not files:
        raise FormError("there was no file for it to look at")
    reasons = [_unplaced(entry) for entry in files]
    if all(reasons):
        raise FormError(reasons[0])
    for entry in files:
        for message in _list(entry.get("messages")):
            severity = {2: _ERROR, 1: _WARNING}.get(_number(message.get("severity")))
            line, code, text = _number(message.get("line")), message.get("ruleId"), message.get("message")
            if message.get("fatal"):
                line, code, text = line or 1, "parsing-error", str(text).removeprefix("Parsing error: ")
            if severity is not None and line:
                yield Find(
                    entry.get("filePath"), line, message.get("column"), severity, code, text, message.get("endLine"),
                    message.get("endColumn"),
                )  # fmt: skip


def _unplaced(entry: Mapping[str, Any]) -> str:
    """Why the checker could not check a file at all."""
    messages = _list(entry.get("messages"))
    fatal = (each for each in messages if each.get("fatal") and not _number(each.get("line")))
    return next((str(each.get("message")) for each in fatal), "")


def _shellcheck(output: str) -> Iterator[Find]:
    for entry in _list(_object(_json(output)).get("comments")):
        level, code = entry.get("level"), entry.get("code")
        if level in (_ERROR, _WARNING):
            yield Find(
                entry.get("file"), entry.get("line"), entry.get("column"), str(level), f"SC{code}"[:20],
                entry.get("message"), entry.get("endLine"), entry.get("endColumn"),
            )  # fmt: skip


def _cargo(output: str) -> Iterator[Find]:
    """Parse one object a line. A library is compiled twice, as itself and for its tests: duplicates are left out."""
    seen: set[str] = set()
    for line in filter(None, map(str.strip, output.splitlines())):
        entry = _object(_json(line))
        message = _object(entry.get("message"))
        if entry.get("reason") != "compiler-message" or message.get("level") not in (_ERROR, _WARNING):
            continue
        spans = [span for span in _list(message.get("spans")) if span.get("is_primary") is True]
        if not spans:
            continue  # "aborting due to 2 previous errors", and what concerns no file
        span = spans[0]
        find = Find(
            span.get("file_name"), span.get("line_start"), span.get("column_start"), message["level"],
            _object(message.get("code")).get("code"), message.get("message"), span.get("line_end"),
            span.get("column_end"),
        )  # fmt: skip
        if (same := repr(find)) not in seen:
            seen.add(same)
            yield find


_TSC = re.compile(r"^([^\s(][^(\n]*)\((\d{1,9}),(\d{1,9})\): (error|warning) (TS\d{1,6}): (.*)$")
_TSC_OF_NO_FILE = re.compile(r"^error (TS\d{1,6}: .*)$", re.MULTILINE)


def _tsc(output: str) -> Iterator[Find]:
    if wrong := _TSC_OF_NO_FILE.search(output):
        raise FormError(wrong[1])
    for line in output.splitlines():
        if match := _TSC.match(line):
            path, row, column, severity, code, message = match.groups()
            yield Find(path, int(row), int(column), severity, code, message)


_MYPY = re.compile(
    r"^([^\s:][^:\n]*):(\d{1,9}):(?:(\d{1,9}):)? (error|warning): (.*?)(?:  \[([\w-]{1,60})\])?$"
)


def _mypy(output: str) -> Iterator[Find]:
    for line in output.splitlines():
        if match := _MYPY.match(line):
            path, row, column, severity, message, code = match.groups()
            yield Find(path, int(row), int(column or 0), severity, code or "", message)


_POSITIONED = re.compile(
    r"^(?:vet: )?([^\s:#][^:\n]*):(\d{1,9})(?::(\d{1,9})(?:-\d{1,9}(?::\d{1,9})?)?)?: (.*)$"
)


def _positioned(output: str) -> Iterator[Find]:
    """`path:line:column: message`, as Go's programs print it, and our own syntax check."""
    for line in output.splitlines():
        if match := _POSITIONED.match(line):
            path, row, column, message = match.groups()
            yield Find(path, int(row), int(column or 0), _ERROR, "", message)


_BASH = re.compile(r"^([^:\n]+): line (\d{1,9}): (.*)$")


def _bash(output: str) -> Iterator[Find]:
    for line in output.splitlines():
        match = _BASH.match(line)
        if match and not match[3].startswith("`"):  # which quotes the line itself
            yield Find(match[1], int(match[2]), 0, _ERROR, "syntax", match[3])


FORMS: Mapping[str, Form] = {
    "bash": _bash, "cargo": _cargo, "eslint": _eslint, "gitlab": _gitlab, "mypy": _mypy, "oxlint": _oxlint,
    "placed": _positioned, "pyright": _pyright, "rdjson": _rdjson, "ruff": _ruff,
    "shellcheck": _shellcheck, "tsc": _tsc,
}  # fmt: skip


def _json(text: str) -> object:
    """Raises `FormError`, also for an empty output: it is not an empty list."""
    try:
        return json.loads(text)
    except RecursionError:
        raise FormError("its output is nested too deeply") from None
    except ValueError:
        raise FormError("its output is no JSON") from None


def _list(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise FormError("its output is no list of problems")
    return value


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _after(number: object) -> object:
    """Convert a number that counts from 0 to one that counts from 1; 0 for an invalid value."""
    return number + 1 if type(number) is int else 0
