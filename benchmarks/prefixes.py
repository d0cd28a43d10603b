"""Whether each request of a conversation extends the one before it byte by byte, its cache marks aside."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.long_script import first_words
from tests.support.provider_runs import raw_values

# As the adapters write it. Inside a JSON string its quotes would be escaped, so nothing else can be it.
_MARK = b',"cache_control":{"type":"ephemeral"}'


@dataclass(frozen=True)
class Broken:
    """Request `number` does not extend `previous`; `at` is the first character of the prompt that differs. `excused`
    where the conversation was made shorter in between."""

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
    last: dict[str, tuple[int, str]] = {}
    broken: list[Broken] = []
    followers = 0
    for number, body in enumerate(bodies):
        if number in summaries:
            continue
        prompt = _prompt(body)
        conversation = first_words(json.loads(body))
        if conversation in last:
            followers += 1
            previous, start = last[conversation]
            if not _extends(prompt, start):
                excused = any(previous < summary < number for summary in summaries)
                broken.append(Broken(number, previous, _differs_at(start, prompt), excused))
        last[conversation] = (number, prompt)
    return Prefixes(len(last), followers, tuple(broken))


def _prompt(body: bytes) -> str:
    """What a cache goes by: tools, system text and messages, each as it was written, without cache marks."""
    values = raw_values(body.replace(_MARK, b""))
    fixed = "".join(values.get(name, "") for name in ("tools", "system", "instructions"))
    return fixed + values.get("messages", values.get("input", ""))


def _extends(prompt: str, start: str) -> bool:
    """A further message follows, or it is the same request again."""
    lasting = start.removesuffix("]")
    return prompt.startswith(lasting) and prompt[len(lasting)] in ",]"


def _differs_at(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def described(bodies: Sequence[bytes], broken: Sequence[Broken]) -> Iterator[str]:
    """Where each goes another way, for people."""
    for one in broken:
        text = _prompt(bodies[one.number])[max(0, one.at - 60) : one.at + 60]
        yield f"request {one.number} parts from {one.previous} at character {one.at}: {text!r}"
