"""What the loop asks of a provider. A provider is a function from a request to an event stream, no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Event
from bot.contracts.messages import Message, Usage
from bot.contracts.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model's limits in tokens and its prices in USD per million tokens. `known` is false for a guess."""

    name: str
    context_window: int
    max_output: int
    input_price: float
    output_price: float
    cache_read_price: float
    cache_write_price: float
    known: bool = True

    def cost(self, usage: Usage) -> float:
        """What `usage` costs, in USD."""
        return (
            usage.input * self.input_price
            + usage.cache_read * self.cache_read_price
            + usage.cache_write * self.cache_write_price
            + usage.output * self.output_price
        ) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `system` and `tools` are frozen for the session; `messages` only ever grows at its end."""

    system: str
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]
    tool_choice: Literal["auto", "none"] = "auto"


class Provider(Protocol):
    """One wire format behind the event grammar of `bot.contracts.events`."""

    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        """Yield events up to one `Complete` or `Failed`. Never raises for what a server does."""
        ...

    def close(self) -> None: ...
