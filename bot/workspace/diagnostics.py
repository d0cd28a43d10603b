"""Validate the diagnostics of a tool host field by field, since the host may be compromised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bot.contracts.checkers import LANGUAGE_SERVERS
from bot.contracts.evidence import Answer, Problem, ServerUse, Severity
from bot.contracts.plain_text import printable
from bot.contracts.wire import WireError

_MOST_PROBLEMS = 20
_MOST_FILES = 100
_MOST_LINES = 5
_MOST_ANNOUNCEMENTS = 50
_MOST_NUMBER = 1 << 40
_LONGEST_PATH = 4096
_LONGEST = 1000
_LONGEST_TIME = 86_400.0
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class Diagnosis(NamedTuple):
    """The diagnostics of one tool result. `announcements` are the keys of notes that the model gets once a run."""

    tools: tuple[tuple[str, str], ...]
    new: tuple[Problem, ...]
    new_count: int
    fixed: int
    hidden: int
    waited: float
    note: str
    announcements: tuple[str, ...]
    servers: tuple[ServerUse, ...]


def diagnosis(message: object) -> Diagnosis:
    """Parse the diagnostics of a tool result. Raises `WireError` for an invalid message."""
    value = _mapping(message)
    new = tuple(_problem(one) for one in _list(value, "new", _MOST_PROBLEMS))
    new_count = _number(value, "new_count")
    if new_count < len(new):
        raise WireError("it lists more problems than it counts")
    return Diagnosis(
        tuple(_tool(one) for one in _list(value, "tools", len(LANGUAGE_SERVERS))),
        new,
        new_count,
        _number(value, "fixed"),
        _number(value, "hidden"),
        _seconds(value, "waited"),
        _text(value, "note"),
        tuple(_line(one, 100) for one in _list(value, "said", _MOST_ANNOUNCEMENTS)),
        tuple(_use(one) for one in _list(value, "servers", 2 * len(LANGUAGE_SERVERS))),
    )


def _problem(one: object) -> Problem:
    value = _mapping(one)
    return Problem(
        _name(value, "tool", LANGUAGE_SERVERS),
        _text(value, "path", _LONGEST_PATH),
        _number(value, "line"),
        _number(value, "column"),
        Severity(_name(value, "severity", tuple(Severity))),
        _text(value, "code", 100),
        _text(value, "message"),
        _number(value, "end_line"),
        _number(value, "end_column"),
        _text(value, "snippet"),
    )


def _tool(one: object) -> tuple[str, str]:
    if (
        not isinstance(one, list)
        or len(one) != 2
        or one[0] not in LANGUAGE_SERVERS
        or one[1] not in tuple(Answer)
    ):
        raise WireError("a diagnostic tool has no known name or no known answer")
    return str(one[0]), str(one[1])


def _use(one: object) -> ServerUse:
    value = _mapping(one)
    return ServerUse(
        _name(value, "name", LANGUAGE_SERVERS),
        _text(value, "version", 100),
        _text(value, "note"),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise WireError("its diagnostics are no object")
    return value


def _list(value: Mapping[str, Any], name: str, most: int) -> list[Any]:
    item = value.get(name)
    if not isinstance(item, list) or len(item) > most:
        raise WireError(f"the field {name!r} of its problems is no list, or too long")
    return item


def _name(value: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    item = value.get(name)
    if not isinstance(item, str) or item not in known:
        raise WireError(f"the field {name!r} of its problems has no known value")
    return item


def _number(value: Mapping[str, Any], name: str) -> int:
    item = value.get(name)
    if type(item) is not int or not 0 <= item <= _MOST_NUMBER:
        raise WireError(f"the field {name!r} of its problems is no number, or too large")
    return item


def _seconds(value: Mapping[str, Any], name: str) -> float:
    item = value.get(name)
    if isinstance(item, bool) or not isinstance(item, int | float) or not 0 <= item <= _LONGEST_TIME:
        raise WireError(f"the field {name!r} of its problems is no time")  # NaN is in no range
    return float(item)


def _text(value: Mapping[str, Any], name: str, longest: int = _LONGEST) -> str:
    return _line(value.get(name), longest)


def _line(value: object, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise WireError("a text of its problems is no text, or too long")
    return " ".join(printable(value).split("\n"))
