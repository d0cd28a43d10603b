"""GitHub's expression language, as much of it as our workflows use: `${{ … }}` and `if:`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(\d+)|(==|!=|&&|\|\||[!(),])|([A-Za-z_][\w.-]*))")
_TEMPLATE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_STATUS = re.compile(r"\b(?:always|success|failure|cancelled)\(\)")

Context = Mapping[str, Any]


def evaluate(text: str, context: Context, functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The value of one expression. A name that is not there is null, as GitHub has it."""
    reader = _Reader(text, context, {**_FUNCTIONS, **(functions or {})})
    value = reader.either()
    if reader.rest:
        raise ValueError(f"not understood from {reader.rest} on: {text}")
    return value


def fill(text: object, context: Context) -> str:
    """`text` with every `${{ … }}` in it replaced."""
    return _TEMPLATE.sub(lambda match: as_text(evaluate(match.group(1), context)), as_text(text))


def holds(condition: str | None, context: Context, *, failed: bool) -> bool:
    """Whether a step or job with this `if:` is run."""
    text = (condition or "success()").strip()
    whole = _TEMPLATE.fullmatch(text)
    text = whole.group(1) if whole else text
    functions = {
        "always": lambda: True,
        "success": lambda: not failed,
        "failure": lambda: failed,
        "cancelled": lambda: False,
    }
    if not _STATUS.search(text):
        text = f"success() && ({text})"
    return bool(evaluate(text, context, functions))


def as_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _contains(whole: object, part: object) -> bool:
    if isinstance(whole, list):
        return part in whole
    return as_text(part).lower() in as_text(whole).lower()


def _format(text: str, *values: object) -> str:
    return text.format(*map(as_text, values))


def _starts_with(text: object, start: object) -> bool:
    return as_text(text).lower().startswith(as_text(start).lower())


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "format": _format,
    "startsWith": _starts_with,
}


class _Reader:
    """Recursive descent; each method reads one level of precedence, loosest first."""

    def __init__(self, text: str, context: Context, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.rest = _tokens(text)
        self._context = context
        self._functions = functions

    def either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = value or other
        return value

    def _both(self) -> Any:
        value = self._equality()
        while self._take("&&"):
            other = self._equality()
            value = value and other
        return value

    def _equality(self) -> Any:
        value = self._one()
        while self.rest and self.rest[0] in ("==", "!="):
            equal = self.rest.pop(0) == "=="
            other = self._one()
            value = (_folded(value) == _folded(other)) is equal
        return value

    def _one(self) -> Any:
        if self._take("!"):
            return not self._one()
        if self._take("("):
            value = self.either()
            self._expect(")")
            return value
        token = self.rest.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.isdigit():
            return int(token)
        if self._take("("):
            return self._functions[token](*self._arguments())
        return self._look_up(token)

    def _arguments(self) -> list[Any]:
        values: list[Any] = []
        while not self._take(")"):
            values.append(self.either())
            self._take(",")
        return values

    def _look_up(self, path: str) -> Any:
        named = {"true": True, "false": False, "null": None}
        if path in named:
            return named[path]
        value: Any = self._context
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def _take(self, token: str) -> bool:
        if self.rest and self.rest[0] == token:
            self.rest.pop(0)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(f"{token} expected before {self.rest}")


def _folded(value: object) -> object:
    """For comparing: case counts for nothing, and null equals an empty text."""
    return (value or "").lower() if isinstance(value, str | None) else value


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"not understood: {text[position:]}")
        tokens.append(match.group().strip())
        position = match.end()
    return tokens
