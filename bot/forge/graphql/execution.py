"""Selecting from objects what a query asks for, and the errors GitHub has for what is not there."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.forge.graphql.language import Document, Field, Fragment, Selection, Variable

T = TypeVar("T")

_MOST = 100


class QueryError(Exception):
    """One entry of `errors`; the field that raised it becomes null."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Undefined(Exception):
    """Nothing is executed: the query is wrong in itself."""


@dataclass(frozen=True, slots=True)
class Object:
    """`fields` are values, or functions of the field's arguments; `interfaces` are the type's other names."""

    type: str
    fields: Mapping[str, Any]
    interfaces: frozenset[str] = frozenset()


def connection(
    name: str, type: str, items: Sequence[T], render: Callable[[T], Object]
) -> Callable[[Mapping[str, Any]], Object]:
    """A list in pages. `first` or `last` must be given, and be at most a hundred."""

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
    wanted = first if first is not None else last
    if wanted is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise QueryError("MISSING_PAGINATION_BOUNDARIES", message)
    if not isinstance(wanted, int) or wanted > _MOST:
        word = "first" if first is not None else "last"
        message = f"Requesting {wanted} records on the `{name}` connection exceeds the `{word}` limit of 100 records."
        raise QueryError("EXCESSIVE_PAGINATION", message)
    start = _index(name, arguments["after"]) + 1 if arguments.get("after") else 0
    end = _index(name, arguments["before"]) if arguments.get("before") else total
    if first is not None:
        return start, max(start, min(start + wanted, end))
    return max(start, end - wanted), end


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
    """One query on one root. `errors` is what `run` met on its way."""

    def __init__(self, document: Document, variables: Mapping[str, Any]) -> None:
        self._document = document
        self._variables = {**document.defaults, **variables}
        self.errors: list[dict[str, Any]] = []

    def run(self, root: Object) -> dict[str, Any]:
        return self._select(root, self._document.selections, ())

    def _select(
        self, source: Object, wanted: Sequence[Selection], path: tuple[str | int, ...]
    ) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for field in self._fields(source, wanted):
            here = (*path, field.key)
            try:
                answer[field.key] = self._complete(self._value(source, field), field, here)
            except QueryError as error:
                answer[field.key] = None
                self.errors.append({"type": error.kind, "path": list(here), "message": str(error)})
        return answer

    def _fields(self, source: Object, wanted: Sequence[Selection]) -> Iterator[Field]:
        for one in wanted:
            if isinstance(one, Field):
                yield one
                continue
            if isinstance(one, Fragment):
                fragment = one
            else:
                found = self._document.fragments.get(one.name)
                if found is None:
                    raise Undefined(f"Fragment {one.name} was used, but not defined")
                fragment = found
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
        return value({name: self._argument(given) for name, given in field.arguments.items()})

    def _argument(self, given: Any) -> Any:
        if isinstance(given, Variable):
            if given.name not in self._variables:
                raise Undefined(f"Variable ${given.name} is used but not declared")
            return self._variables[given.name]
        if isinstance(given, dict):
            return {name: self._argument(value) for name, value in given.items()}
        if isinstance(given, list):
            return [self._argument(value) for value in given]
        return given

    def _complete(self, value: Any, field: Field, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, list):
            return [self._complete(one, field, (*path, index)) for index, one in enumerate(value)]
        if not isinstance(value, Object):
            return value
        if not field.selections:
            raise Undefined(f"Field must have selections (field '{field.name}' returns {value.type})")
        return self._select(value, field.selections, path)
