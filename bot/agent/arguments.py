"""A call's raw JSON text becomes the tool's arguments.

Parsed strictly, and mended only where the damage is one of the few that models really do and the meaning is
beyond doubt. Nothing here closes what was left open: arguments that were cut off stay an error (invariant 4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from bot.agent.schema import check

_EXCERPT = 200
_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?```\s*\Z", re.DOTALL)
# A whole string is stepped over, so that only commas outside strings are seen; the possessive `*+` keeps the
# search linear.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)


class BadArgumentsError(Exception):
    """The arguments cannot be used; the message tells the model what is wrong and where."""


class Arguments(NamedTuple):
    """`values` fit the schema; `repairs` says in words what was mended to get there."""

    values: Mapping[str, Any]
    repairs: tuple[str, ...] = ()


def parse(raw: str, schema: Mapping[str, Any]) -> Arguments:
    """The arguments in `raw`, fit for `schema`. Raises `BadArgumentsError`."""
    value, repairs = _load_object(raw)
    checked = check(value, schema)
    if checked.problems:
        lines = "\n".join(f"- {problem}" for problem in (*checked.problems, *checked.unknown))
        empty = " (they were empty)" if not raw.strip() else ""
        raise BadArgumentsError(f"The arguments{empty} do not fit the tool:\n{lines}")
    return Arguments(checked.value, (*repairs, *checked.repairs))


def _load_object(raw: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    if not raw.strip():
        return {}, ()
    value, repairs = _load(raw)
    if isinstance(value, str):
        value, inner = _load(value)
        repairs = (*repairs, "the arguments were JSON inside a JSON string", *inner)
    if not isinstance(value, dict):
        raise BadArgumentsError(
            f"The arguments must be one JSON object, but they are {type_name(value)}: {raw[:_EXCERPT]}"
        )
    return value, repairs


def _load(raw: str) -> tuple[Any, tuple[str, ...]]:
    try:
        return _strict(raw), ()
    except json.JSONDecodeError as error:
        first_error = error
    except RecursionError as error:
        raise BadArgumentsError("The arguments are nested too deeply.") from error
    mended = _mend(raw)
    if mended is None:
        raise BadArgumentsError(_explain(raw, first_error)) from first_error
    return mended


def _mend(raw: str) -> tuple[Any, tuple[str, ...]] | None:
    text, repairs = raw, []
    if fenced := _FENCE.match(text):
        text = fenced[1]
        repairs.append("removed the Markdown fence around them")
    without_commas = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
    for candidate, notes in ((text, []), (without_commas, ["removed a trailing comma"])):
        for strict, more in ((True, []), (False, ["took raw line breaks inside strings as \\n"])):
            try:
                return _strict(candidate, strict=strict), (*repairs, *notes, *more)
            except (json.JSONDecodeError, RecursionError):
                continue
    return None


def _strict(text: str, *, strict: bool = True) -> Any:
    def refuse(name: str) -> NoReturn:
        raise json.JSONDecodeError(f"{name} is not a JSON value", text, text.find(name))

    value = json.loads(text, parse_constant=refuse, strict=strict)
    # Half a surrogate pair, written as an escape, is no text: no file and no pipe takes it.
    return _without_halves(value) if "\\ud" in text.lower() else value


def _without_halves(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _explain(raw: str, error: json.JSONDecodeError) -> str:
    start = max(0, error.pos - _EXCERPT // 2)
    return (
        f"The arguments are not JSON: {error.msg} at line {error.lineno}, column {error.colno} "
        f"(character {error.pos} of {len(raw)}). Around there: {raw[start : start + _EXCERPT]!r}. "
        "Send the call again with one valid JSON object."
    )


def type_name(value: Any) -> str:
    """The JSON word for a value's type."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
