"""Parse and execute GraphQL documents, without directives and without a schema."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """`fields` are values, or functions of the field's arguments; `interfaces` are the type's other names."""

    type: str
    fields: Mapping[str, Any]
    interfaces: frozenset[str] = frozenset()


def connection(
    name: str, type: str, items: Sequence[T], render: Callable[[T], Object]
) -> Callable[[Mapping[str, Any]], Object]:
    """A list in pages. `first` or `last` is required, at most 100."""

    def page(arguments: Mapping[str, Any]) -> Object:
        start, end = _bounds(name, arguments, len(items))
        cursors = [_cursor(index) for index in range(start, end)]
        info = {
            "hasNextPage": end < len(items),
            "hasPreviousPage": start > 0,
            "startCursor": cursors[0] if cursors else None,
            "endCursor": cursors[-1] if cursors else None,
        }
        chosen = [render(item) for item in items[start:end]]
        edge = f"{type.removesuffix('Connection')}Edge"
        edges = [
            Object(edge, {"node": node, "cursor": cursor})
            for node, cursor in zip(chosen, cursors, strict=True)
        ]
        return Object(
            type,
            {"nodes": chosen, "edges": edges, "totalCount": len(items), "pageInfo": Object("PageInfo", info)},
        )

    return page


def _bounds(name: str, arguments: Mapping[str, Any], total: int) -> tuple[int, int]:
    first, last = arguments.get("first"), arguments.get("last")
    size = first if first is not None else last
    if size is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise QueryError("MISSING_PAGINATION_BOUNDARIES", message)
    if not isinstance(size, int) or size > _MAX_PAGE:
        word = "first" if first is not None else "last"
        message = (
            f"Requesting {size} records on the `{name}` connection exceeds the `{word}` limit of 100 records."
        )
        raise QueryError("EXCESSIVE_PAGINATION", message)
    start = _index(name, arguments["after"]) + 1 if arguments.get("after") else 0
    end = _index(name, arguments["before"]) if arguments.get("before") else total
    if first is not None:
        return start, max(start, min(start + size, end))
    return max(start, end - size), end


def _cursor(index: int) -> str:
    return base64.b64encode(f"cursor:{index}".encode()).decode()


def _index(name: str, cursor: str) -> int:
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
        self, source: Object, requested: Sequence[Selection], path: tuple[str | int, ...]
    ) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for chosen in self._fields(source, requested):
            here = (*path, chosen.key)
            try:
                answer[chosen.key] = self._complete(self._value(source, chosen), chosen, here)
            except QueryError as error:
                answer[chosen.key] = None
                self.errors.append({"type": error.kind, "path": list(here), "message": str(error)})
        return answer

    def _fields(self, source: Object, requested: Sequence[Selection]) -> Iterator[Field]:
        for one in requested:
            if isinstance(one, Field):
                yield one
                continue
            if isinstance(one, Fragment):
                fragment = one
            else:
                match = self._document.fragments.get(one.name)
                if match is None:
                    raise Undefined(f"Fragment {one.name} was used, but not defined")
                fragment = match
            if fragment.on in (None, source.type) or fragment.on in source.interfaces:
                yield from self._fields(source, fragment.selections)

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
        if isinstance(argument, dict):
            return {name: self._argument(value) for name, value in argument.items()}
        if isinstance(argument, list):
            return [self._argument(value) for value in argument]
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

    def document(self) -> Document:
        document = Document()
        operations = 0
        while self._peek():
            if self._take_if("fragment"):
                name = self._take()
                self._take("on")
                document.fragments[name] = Fragment(self._take(), self._selections())
                continue
            operations += 1
            self._operation(document)
        if operations != 1:
            raise Unparsable(
                "An operation name is required" if operations else "A query attribute must be given"
            )
        return document

    def _operation(self, document: Document) -> None:
        if self._peek() in ("query", "mutation"):
            document.kind = self._take()
            if self._peek() not in ("(", "{"):
                self._take()
            if self._take_if("("):
                while not self._take_if(")"):
                    self._take("$")
                    name = self._take()
                    self._take(":")
                    self._type()
                    document.defaults[name] = self._value() if self._take_if("=") else None
        document.selections = self._selections()

    def _type(self) -> None:
        if self._take_if("["):
            self._type()
            self._take("]")
        else:
            self._take()
        self._take_if("!")

    def _selections(self) -> tuple[Selection, ...]:
        self._take("{")
        matches: list[Selection] = []
        while not self._take_if("}"):
            matches.append(self._spread() if self._take_if("...") else self._field())
        return tuple(matches)

    def _spread(self) -> Selection:
        if self._take_if("on"):
            return Fragment(self._take(), self._selections())
        if self._peek() == "{":
            return Fragment(None, self._selections())
        return Spread(self._take())

    def _field(self) -> Field:
        key = name = self._take()
        if self._take_if(":"):
            name = self._take()
        arguments = {}
        if self._take_if("("):
            while not self._take_if(")"):
                argument = self._take()
                self._take(":")
                arguments[argument] = self._value()
        return Field(key, name, arguments, self._selections() if self._peek() == "{" else ())

    def _value(self) -> Any:
        if self._take_if("$"):
            return Variable(self._take())
        if self._take_if("["):
            items = []
            while not self._take_if("]"):
                items.append(self._value())
            return items
        if self._take_if("{"):
            fields = {}
            while not self._take_if("}"):
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
