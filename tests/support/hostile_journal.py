"""Journals with one record of each kind, and such a journal with a script in every text field.

The records are made from the types, so that a new field is included.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bot.agent.journal import Journal
from bot.contracts.journal import RECORDS, AgentStarted, Header, Record
from bot.contracts.messages import PARTS

ATTACK = (
    "</pre></title></style></script></template>--><script>window.owned=1</script><svg onload=window.owned=1>"
    "<img src=x onerror=window.owned=1>\"' autofocus onfocus='window.owned=1' {{ 7*7 }} {% x %} "
    "javascript:window.owned=1"
)
REFERENCES = frozenset({"call_id", "id", "agent"})
"""Fields by which records refer to each other; their values must be equal."""

Text = Callable[[str], str]
"""Returns the text for a field."""


def attack(name: str) -> str:
    return ATTACK


def hostile_journal(path: Path, text: Callable[[str], str] = attack, less: tuple[type, ...] = ()) -> Path:
    """Write a journal with all kinds of records but those in `less`."""
    with Journal(path, lambda unredacted: unredacted) as journal:
        journal.write(header(text))
        for record in records(text):
            if not isinstance(record, less):
                journal.write(record, text("agent") if isinstance(record, AgentStarted) else "")
    return path


def records(text: Text) -> Iterator[Record]:
    """Every kind of record but the header, for each literal value, as success and failure. `text` makes the texts."""
    for kind in RECORDS.values():
        if kind is Header:
            continue
        hints = get_type_hints(kind)
        closed = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
        values = _instance(kind, text, kind.__name__)._asdict()
        yield kind(**values)
        without = {name: False for name, hint in hints.items() if hint is bool}
        if "failure" in values:
            without["failure"] = ""
        if without:
            yield kind(**{**values, **without})
        for name, choices in closed.items():
            for choice in choices[1:]:
                yield kind(**{**values, name: choice})


def header(text: Text) -> Header:
    instance: Header = _instance(Header, text, "Header")
    return instance


def _instance(kind: Any, text: Text, name: str) -> Any:
    hints = get_type_hints(kind)
    return kind(**{field: _value(hint, text, f"{name}.{field}") for field, hint in hints.items()})


def _value(hint: Any, text: Text, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is str:
        return text(name.rpartition(".")[2] if name.rpartition(".")[2] in REFERENCES else name)
    if hint is bytes:
        return text(name).encode()
    if hint in (int, float, bool):
        return hint(1)
    if hint is Any:
        return text(name)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        if set(arguments) == set(PARTS.values()):
            raise AssertionError("parts come in tuples")
        return _value(next(one for one in arguments if one is not type(None)), text, name)
    if origin is tuple:
        return _tuple(arguments, text, name)
    if origin in (dict, Mapping) or hint is Mapping:
        return _metadata(text, name)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    return _instance(hint, text, name)


def _tuple(arguments: tuple[Any, ...], text: Text, name: str) -> tuple[Any, ...]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        if set(get_args(arguments[0])) == set(PARTS.values()):
            return tuple(_instance(part, text, f"{name}.{part.__name__}") for part in PARTS.values())
        return (_value(arguments[0], text, name),)
    return tuple(_value(one, text, f"{name}.{place}") for place, one in enumerate(arguments))


def _metadata(text: Text, name: str) -> dict[str, Any]:
    diff = f"--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-{text(f'{name}.diff')}\n+{text(f'{name}.diff')}\n"
    return {
        text(f"{name}.key"): text(f"{name}.value"),
        "path": text(f"{name}.path"),
        "diff": diff,
        "after_hash": "b" * 64,
    }
