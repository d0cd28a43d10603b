"""The query language: text to fields, arguments and fragments. Directives are not known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""(?:[\s,\ufeff]|\#[^\n]*)*
    (?P<token>
        \.\.\. | [!$()\[\]{}:=|&@]
      | -?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?
      | [A-Za-z_]\w*
      | \"\"\"(?:[^\"]|\"(?!\"\"))*\"\"\"
      | "(?:[^"\\\n]|\\.)*"
      | $
    )""",
    re.VERBOSE,
)


class Unparsable(Exception):
    """The message is for the client."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """`key` is its name in the answer: the alias, else the name."""

    key: str
    name: str
    arguments: Mapping[str, Any]
    selections: tuple[Selection, ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """`on` is the type it is for, None for any."""

    on: str | None
    selections: tuple[Selection, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    name: str


Selection = Field | Fragment | Spread


@dataclass(slots=True)
class Document:
    """One operation and the fragments beside it. `defaults` has every declared variable."""

    kind: str = "query"
    selections: tuple[Selection, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    fragments: dict[str, Fragment] = field(default_factory=dict)


def parse(text: str) -> Document:
    """Raises `Unparsable`."""
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        end = 0
        while not self._tokens or self._tokens[-1] != "":
            match = _TOKEN.match(text, end)
            if match is None:
                raise Unparsable(f"Parse error on {text[end : end + 10]!r}")
            self._tokens.append(match["token"])
            end = match.end()
        self._next = 0

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self, wanted: str | None = None) -> str:
        token = self._peek()
        if token == "" or (wanted is not None and token != wanted):
            raise Unparsable(f"Parse error on {token!r}, expected {wanted or 'more'!r}")
        self._next += 1
        return token

    def _took(self, token: str) -> bool:
        if self._peek() == token:
            self._next += 1
            return True
        return False

    def document(self) -> Document:
        made = Document()
        operations = 0
        while self._peek():
            if self._took("fragment"):
                name = self._take()
                self._take("on")
                made.fragments[name] = Fragment(self._take(), self._selections())
                continue
            operations += 1
            self._operation(made)
        if operations != 1:
            raise Unparsable(
                "An operation name is required" if operations else "A query attribute must be given"
            )
        return made

    def _operation(self, made: Document) -> None:
        if self._peek() in ("query", "mutation"):
            made.kind = self._take()
            if self._peek() not in ("(", "{"):
                self._take()
            if self._took("("):
                while not self._took(")"):
                    self._take("$")
                    name = self._take()
                    self._take(":")
                    self._type()
                    made.defaults[name] = self._value() if self._took("=") else None
        made.selections = self._selections()

    def _type(self) -> None:
        if self._took("["):
            self._type()
            self._take("]")
        else:
            self._take()
        self._took("!")

    def _selections(self) -> tuple[Selection, ...]:
        self._take("{")
        found: list[Selection] = []
        while not self._took("}"):
            found.append(self._spread() if self._took("...") else self._field())
        return tuple(found)

    def _spread(self) -> Selection:
        if self._took("on"):
            return Fragment(self._take(), self._selections())
        if self._peek() == "{":
            return Fragment(None, self._selections())
        return Spread(self._take())

    def _field(self) -> Field:
        key = name = self._take()
        if self._took(":"):
            name = self._take()
        arguments = {}
        if self._took("("):
            while not self._took(")"):
                argument = self._take()
                self._take(":")
                arguments[argument] = self._value()
        return Field(key, name, arguments, self._selections() if self._peek() == "{" else ())

    def _value(self) -> Any:
        if self._took("$"):
            return Variable(self._take())
        if self._took("["):
            items = []
            while not self._took("]"):
                items.append(self._value())
            return items
        if self._took("{"):
            fields = {}
            while not self._took("}"):
                name = self._take()
                self._take(":")
                fields[name] = self._value()
            return fields
        token = self._take()
        if token.startswith('"""'):
            return token[3:-3].strip()
        if token[0] in '"-0123456789' or token in ("true", "false", "null"):
            return json.loads(token)
        # An enumeration's value.
        return token
