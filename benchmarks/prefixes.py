"""Whether each request of a conversation extends the one before it byte by byte, its cache marks aside."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.long_script import first_words

# As the adapters write it. Inside a JSON string its quotes would be escaped, so nothing else can be it.
_MARK = b',"cache_control":{"type":"ephemeral"}'


@dataclass(frozen=True)
class Broken:
    """Request `number` does not extend `previous`; `at` is the first byte that differs. `excused` where the
    conversation was made shorter in between."""

    number: int
    previous: int
    at: int
    excused: bool


@dataclass(frozen=True)
class Prefixes:
    """`followers` are the requests that have one before them, `conversations` the main one and each subagent's."""

    conversations: int
    followers: int
    broken: tuple[Broken, ...]

    @property
    def extending(self) -> int:
        return self.followers - len(self.broken)

    @property
    def violations(self) -> tuple[Broken, ...]:
        return tuple(one for one in self.broken if not one.excused)


def prefixes(bodies: Sequence[bytes], summaries: Collection[int]) -> Prefixes:
    """`bodies` in the order of their arrival; `summaries` are the numbers of those that asked for a summary, which is
    what makes a conversation shorter: the first request of a conversation after one need not extend the last."""
    last: dict[str, tuple[int, bytes]] = {}
    broken: list[Broken] = []
    followers = 0
    for number, body in enumerate(bodies):
        if number in summaries:
            continue
        parsed = json.loads(body)
        plain = body.replace(_MARK, b"")
        conversation = first_words(parsed)
        if conversation in last:
            followers += 1
            previous, start = last[conversation]
            if not _extends(plain, start):
                excused = any(previous < summary < number for summary in summaries)
                broken.append(Broken(number, previous, _differs_at(start, plain), excused))
        last[conversation] = (number, _lasting(plain, parsed))
    return Prefixes(len(last), followers, tuple(broken))


def _lasting(plain: bytes, parsed: dict[str, Any]) -> bytes:
    """The body up to the end of its last message: the list is closed behind it, and parameters may follow."""
    keys = list(parsed)
    behind = keys[keys.index("messages" if "messages" in parsed else "input") + 1 :]
    tail = b"]" + b"".join(_written(parsed, key) for key in behind) + b"}"
    return plain.removesuffix(tail)


def _written(parsed: dict[str, Any], key: str) -> bytes:
    return b"," + json.dumps({key: parsed[key]}, ensure_ascii=False, separators=(",", ":")).encode()[1:-1]


def _extends(plain: bytes, start: bytes) -> bool:
    """A further message follows, or it is the same request again."""
    return plain.startswith(start) and plain[len(start) : len(start) + 1] in (b",", b"]")


def _differs_at(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def described(bodies: Sequence[bytes], broken: Sequence[Broken]) -> Iterator[str]:
    """Where each goes another way, for people."""
    for one in broken:
        text = bodies[one.number].replace(_MARK, b"")[max(0, one.at - 60) : one.at + 60]
        yield f"request {one.number} parts from {one.previous} at byte {one.at}: {text!r}"
