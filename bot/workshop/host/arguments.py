"""Arguments of a call, read with the type the schema promised. The supervisor validated them already; this keeps
a mistake there from becoming a traceback here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.workshop.host.context import ToolFailure


def text(arguments: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """The string `name`; `default` where it is absent or null. Raises `ToolFailure` when there is neither."""
    value = arguments.get(name)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise ToolFailure(f'"{name}" must be a string. Send the call again with it.')
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ToolFailure(
            f'"{name}" holds half a surrogate pair, which no encoding can write. Send the whole character.'
        ) from None
    return value


def integer(arguments: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """The integer `name`, cut to `high`. Raises `ToolFailure` when it is no integer or under `low`."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ToolFailure(f'"{name}" must be an integer of at least {low}. Send the call again with one.')
    return min(value, high)


def flag(arguments: Mapping[str, Any], name: str) -> bool:
    """The boolean `name`, false where it is absent."""
    value = arguments.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ToolFailure(f'"{name}" must be true or false. Send the call again with one of them.')
    return value


def choice(arguments: Mapping[str, Any], name: str, allowed: Sequence[str]) -> str:
    """One of `allowed`; the first where it is absent."""
    value = text(arguments, name, allowed[0])
    if value not in allowed:
        raise ToolFailure(f'"{name}" must be one of {", ".join(allowed)}, not "{value}".')
    return value
