"""Bytes on the wire: JSON as the vendors take it, text they do not refuse, each message encoded only once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from bot.contracts.messages import Message

Encoded = TypeVar("Encoded")


def dumps(value: Any) -> bytes:
    """Compact JSON in the order of the keys. Raises `ValueError` for infinities and NaN."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return clean(text).encode()


def clean(text: str) -> str:
    """`text` without what a vendor answers with 400: lone surrogates and NUL become U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, so that two halves that belong together are joined instead of lost.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


def clean_tree(value: Any) -> Any:
    """`clean` for every string of a JSON value, keys too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_tree(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_tree(item) for key, item in value.items()}
    return value


def argument_object(raw: str) -> dict[str, Any] | None:
    """A call's arguments as the object they are, `None` when they are anything else. Empty means `{}`."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


class History(Generic[Encoded]):
    """Each message encoded once, by identity: messages never change, and every turn sends them all again.

    At 200 turns this is the difference between 0.1 ms and 2 ms a request.
    """

    def __init__(self, encode: Callable[[Message, int], Encoded]) -> None:
        self._encode = encode
        self._known: dict[int, tuple[Message, Encoded]] = {}

    def encoded(self, messages: Sequence[Message]) -> list[Encoded]:
        """One entry per message, in order. What is no longer in the history is forgotten."""
        known = self._known
        if len(known) > len(messages) + 8:
            present = {id(message) for message in messages}
            self._known = known = {key: entry for key, entry in known.items() if key in present}
        found: list[Encoded] = []
        for position, message in enumerate(messages):
            entry = known.get(id(message))
            if entry is None:
                # The message is kept beside its bytes: an id is only unique while its object lives.
                entry = known[id(message)] = (message, self._encode(message, position))
            found.append(entry[1])
        return found
