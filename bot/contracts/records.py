"""Records as plain data, and with the texts in them masked. A record is a named tuple."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

Value = TypeVar("Value")
_MAX_DEPTH = 40
_TOO_DEEP = "(nested too deeply to keep)"


def as_data(value: Any) -> Any:
    """Return `value` with each record in it as a dictionary, for JSON."""
    if hasattr(value, "_fields"):
        return {name: as_data(item) for name, item in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [as_data(item) for item in value]
    return value


def masked(value: Value, mask: Callable[[str], str]) -> Value:
    """Return `value` with each text in it masked, names of mappings and bytes too; the same object if nothing changes.
    It consists of tuples, lists, mappings and records."""
    return cast(Value, _masked(value, mask, 0))


def _masked(value: Any, mask: Callable[[str], str], depth: int) -> Any:
    kind = type(value)
    if kind is str:
        text = mask(value) if value else value
        return value if text == value else text
    if kind is bytes:
        data = mask(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return value if data == value else data
    if not isinstance(value, tuple | list | Mapping):
        return value
    if depth > _MAX_DEPTH:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        clean: Any = {mask(str(key)): _masked(item, mask, depth + 1) for key, item in value.items()}
        return clean if clean != value else value
    clean = [_masked(item, mask, depth + 1) for item in value]
    if all(new is old for new, old in zip(clean, value, strict=True)):
        return value
    return kind(*clean) if hasattr(kind, "_fields") else kind(clean)
