"""Parse and execute GraphQL queries with variables: no mutations, fragments, directives, and no schema."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

_MAX_PAGE = 100


class QueryError(Exception):
    """One entry of `errors`; its field becomes null."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Undefined(Exception):
    """The query is invalid; nothing is executed."""


@dataclass(frozen=True, slots=True)
class Object:
    """`fields` are values, or functions of the field's arguments."""

    type: str
    fields: Mapping[str, Any]


def connection(
    name: str, type: str, items: Sequence[T], render: Callable[[T], Object]
) -> Callable[[Mapping[str, Any]], Object]:
    """A list of `type` in pages. `first` is required, at most 100."""

    def page(arguments: Mapping[str, Any]) -> Object:
        start = _index(arguments["after"]) + 1 if arguments.get("after") else 0
        end = min(start + _size(name, arguments.get("first")), len(items))
        info = {"hasNextPage": end < len(items), "endCursor": _cursor(end - 1) if end > start else None}
        fields = {"nodes": [render(item) for item in items[start:end]], "totalCount": len(items)}
        return Object(f"{type}Connection", {**fields, "pageInfo": Object("PageInfo", info)})

    return page


def _size(name: str, size: Any) -> int:
    if size is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise QueryError("MISSING_PAGINATION_BOUNDARIES", message)
    if not isinstance(size, int) or size > _MAX_PAGE:
        message = (
            f"Requesting {size} records on the `{name}` connection exceeds the `first` limit of 100 records."
        )
        raise QueryError("EXCESSIVE_PAGINATION", message)
    return size


def _cursor(index: int) -> str:
    return base64.b64encode(f"cursor:{index}".encode()).decode()


def _index(cursor: str) -> int:
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("cursor:"))
    except (ValueError, binascii.Error) as error:
        raise QueryError(
            "INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor."
        ) from error


class Execution:
    """One query on one root. `run` collects field errors in `errors`."""

    def __init__(self, document: Document, variables: Mapping[str, Any]) -> None:
        self._document = document
        self._variables = {**document.defaults, **variables}
        self.errors: list[dict[str, Any]] = []

    def run(self, root: Object) -> dict[str, Any]:
        return self._select(root, self._document.selections, ())

    def _select(
        self, source: Object, requested: Sequence[Field], path: tuple[str | int, ...]
    ) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for chosen in requested:
            here = (*path, chosen.name)
            try:
                answer[chosen.name] = self._complete(self._value(source, chosen), chosen, here)
            except QueryError as error:
                answer[chosen.name] = None
                self.errors.append({"type": error.kind, "path": list(here), "message": str(error)})
        return answer

    def _value(self, source: Object, field: Field) -> Any:
        if field.name == "__typename":
            return source.type
        if field.name not in source.fields:
            raise Undefined(f"Field '{field.name}' doesn't exist on type '{source.type}'")
        value = source.fields[field.name]
        if not callable(value):
            return value
        return value({name: self._argument(argument) for name, argument in field.arguments.items()})

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, Variable):
            if argument.name not in self._variables:
                raise Undefined(f"Variable ${argument.name} is used but not declared")
            return self._variables[argument.name]
        return argument

    def _complete(self, value: Any, field: Field, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, list):
            return [self._complete(one, field, (*path, index)) for index, one in enumerate(value)]
        if not isinstance(value, Object):
            return value
        if not field.selections:
            raise Undefined(f"Field must have selections (field '{field.name}' returns {value.type})")
        return self._select(value, field.selections, path)


_TOKEN = re.compile(
    r"""(?:[\s,\ufeff]|\#[^\n]*)*
    (?P<token>
        [!$()\[\]{}:=]
      | -?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?
      | [A-Za-z_]\w*
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
    name: str
    arguments: Mapping[str, Any]
    selections: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One query. `defaults` has every declared variable."""

    selections: tuple[Field, ...]
    defaults: Mapping[str, Any]


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

    def _take(self, requested: str | None = None) -> str:
        token = self._peek()
        if token == "" or (requested is not None and token != requested):
            raise Unparsable(f"Parse error on {token!r}, expected {requested or 'more'!r}")
        self._next += 1
        return token

    def _take_if(self, token: str) -> bool:
        if self._peek() == token:
            self._next += 1
            return True
        return False

    def _type(self) -> None:
        if self._take_if("["):
            self._type()
            self._take("]")
        else:
            self._take()
        self._take_if("!")

    def document(self) -> Document:
        defaults: dict[str, Any] = {}
        if self._take_if("query"):
            if self._peek() not in ("(", "{"):
                self._take()
            if self._take_if("("):
                while not self._take_if(")"):
                    self._take("$")
                    name = self._take()
                    self._take(":")
                    self._type()
                    defaults[name] = self._value() if self._take_if("=") else None
        document = Document(self._selections(), defaults)
        if self._peek():
            raise Unparsable("An operation name is required")
        return document

    def _selections(self) -> tuple[Field, ...]:
        self._take("{")
        fields: list[Field] = []
        while not self._take_if("}"):
            fields.append(self._field())
        return tuple(fields)

    def _field(self) -> Field:
        name = self._take()
        arguments = {}
        if self._take_if("("):
            while not self._take_if(")"):
                argument = self._take()
                self._take(":")
                arguments[argument] = self._value()
        return Field(name, arguments, self._selections() if self._peek() == "{" else ())

    def _value(self) -> Any:
        """A variable, a text, a number, a truth value or null."""
        if self._take_if("$"):
            return Variable(self._take())
        token = self._take()
        try:
            return json.loads(token)
        except ValueError as error:
            raise Unparsable(f"Parse error on {token!r}, expected a value") from error
