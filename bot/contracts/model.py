"""What the loop asks of a provider. A provider is a function from a request to an event stream, no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Event
from bot.contracts.messages import Message, Usage
from bot.contracts.tools import ToolSpec

ThinkingKind = Literal["off", "adaptive", "budget", "effort"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model's limits in tokens, its prices in USD per million tokens, and what it can do.

    `known` is false for a guess. `vision`: it takes images. `thinking`: how it is asked to reason, `off` for not at
    all. `streams_tools`: it can be asked for a call's arguments as they are made, which is to say unchecked.
    `min_cacheable`: the shortest prefix in tokens that is ever kept in a cache. `allowed_tools`: it takes a list of
    the tools that may be called now, beside all tools. `forced_choice`: it can be made to call one. `timeout`: the
    seconds that it may take until the first byte of an answer.
    """

    name: str
    context_window: int
    max_output: int
    input_price: float
    output_price: float
    cache_read_price: float
    cache_write_price: float
    known: bool = True
    vision: bool = False
    thinking: ThinkingKind = "off"
    streams_tools: bool = False
    min_cacheable: int = 1024
    allowed_tools: bool = False
    forced_choice: bool = True
    timeout: int = 900

    def cost(self, usage: Usage) -> float:
        """What `usage` costs, in USD."""
        return (
            usage.input * self.input_price
            + usage.cache_read * self.cache_read_price
            + usage.cache_write * self.cache_write_price
            + usage.output * self.output_price
        ) / 1_000_000


class ModelOverride(NamedTuple):
    """What the policy knows better of a model than this program; `None` leaves it as it is. Units as in `ModelInfo`."""

    context_window: int | None = None
    max_output: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    vision: bool | None = None
    thinking: ThinkingKind | None = None
    streams_tools: bool | None = None
    min_cacheable: int | None = None
    allowed_tools: bool | None = None
    forced_choice: bool | None = None
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `system` and `tools` are frozen for the session; `messages` only ever grows at its end.

    `tool_choice`: `auto` leaves it to the model, `required` wants a call, `none` forbids calls. `allowed` names the
    tools that may be called now, `None` for all; `required` with a single name asks for that very tool. Both are
    wishes: not every vendor knows every one of them, and some refuse them while a model thinks, so whoever runs the
    calls still checks. `session` is the session's id, by which a vendor finds its cache. `max_output` caps the answer
    in tokens; 0 is the model's own limit. `moved` is how many messages stand behind others than when they were made,
    after a summary took the place of what was before them: some vendors tie a model's thinking to that.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]
    tool_choice: Literal["auto", "required", "none"] = "auto"
    allowed: tuple[str, ...] | None = None
    session: str = ""
    max_output: int = 0
    moved: int = 0


class Provider(Protocol):
    """One wire format behind the event grammar of `bot.contracts.events`."""

    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        """Yield events up to one `Complete` or `Failed`. Never raises for what a server does."""
        ...

    def close(self) -> None: ...
