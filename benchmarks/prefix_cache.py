"""A prefix cache by Anthropic's rules, as they describe it (platform.claude.com, "Prompt caching").

A request is its blocks in the order tools, system, messages. At each of at most four marks what lies before it is
kept, where it is long enough; a later request is served the longest such prefix that it finds within 20 blocks back
from one of its own marks, that mark's block counted. What is kept can be used once the response has begun, and for
five minutes after its last use. `tool_choice`, thinking and images count as part of the messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

MOST_MARKS = 4
LOOK_BACK = 20
LIFETIME = 300.0
"""Seconds."""

_BYTES_A_TOKEN = 4


class TooManyMarksError(Exception):
    """The vendor refuses such a request."""


@dataclass(frozen=True, slots=True)
class Block:
    """`prefix` stands for it and everything before it, `tokens` are as many as that is."""

    prefix: bytes
    tokens: int
    marked: bool


class Served(NamedTuple):
    """Of one request, in tokens: all of it, what came from the cache, and what was put there."""

    tokens: int
    read: int
    written: int


class PrefixCache:
    """`minimum` is the model's shortest prefix that is kept, in tokens."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._kept: dict[bytes, tuple[float, float]] = {}
        """When each may be used first, and until when."""

    def serve(self, body: Mapping[str, Any], arrived: float, began: float) -> Served:
        """One request, in the order of arrival; `began` is when its response did, both in seconds."""
        blocks = list(blocks_of(body))
        marks = [place for place, block in enumerate(blocks) if block.marked]
        if len(marks) > MOST_MARKS:
            raise TooManyMarksError(f"{len(marks)} marks; the vendor takes {MOST_MARKS}")
        read = max((self._found(blocks, mark, arrived) for mark in marks), default=0)
        written = read
        for mark in marks:
            block = blocks[mark]
            if block.tokens >= self._minimum:
                self._keep(block.prefix, arrived, began)
                written = max(written, block.tokens)
        return Served(blocks[-1].tokens if blocks else 0, read, written - read)

    def _found(self, blocks: list[Block], mark: int, now: float) -> int:
        for place in range(mark, max(-1, mark - LOOK_BACK), -1):
            prefix = blocks[place].prefix
            usable, until = self._kept.get(prefix, (now + 1, now))
            if usable <= now <= until:
                self._kept[prefix] = (usable, max(until, now + LIFETIME))
                return blocks[place].tokens
        return 0

    def _keep(self, prefix: bytes, arrived: float, began: float) -> None:
        usable, until = self._kept.get(prefix, (began, 0.0))
        if until < arrived:
            usable = began
        self._kept[prefix] = (min(usable, began), began + LIFETIME)


def blocks_of(body: Mapping[str, Any]) -> Iterator[Block]:
    """The request's blocks in their order."""
    chain, tokens = sha256(str(body.get("model")).encode()), 0
    for kind, block in _parts(body):
        content = json.dumps({key: value for key, value in block.items() if key != "cache_control"})
        chain.update(f"{kind}\0{content}\0".encode())
        if kind == "parameters":
            continue
        tokens += -(-len(content) // _BYTES_A_TOKEN)
        yield Block(chain.digest(), tokens, "cache_control" in block)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in body.get("tools", ()):
        yield "tool", tool
    for block in _blocks(body.get("system", ())):
        yield "system", block
    has_images = '"type": "image"' in json.dumps(body["messages"])
    parameters = {name: body.get(name) for name in ("tool_choice", "thinking")}
    yield "parameters", {**parameters, "images": has_images}
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            yield message["role"], block


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
