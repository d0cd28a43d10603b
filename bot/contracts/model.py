"""The provider interface: a function from a `ModelRequest` to a `Complete` or a `Failed`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Usage
from bot.contracts.tools import ToolSpec

ThinkingKind = Literal["off", "adaptive", "budget", "effort"]
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Levels of effort of all models, from low to high."""


class LongPrompts(NamedTuple):
    """A higher price for requests with a prompt over `above` tokens, as factors of the listed one."""

    above: int
    input: float
    output: float


class ModelInfo(NamedTuple):
    """A model's limits in tokens, its prices in USD per million tokens, and its capabilities.

    `known` is false for a guess. `vision`: it accepts images. `thinking`: how reasoning is requested, `off` for
    not at all. `streams_tools`: it can stream a call's arguments as they are generated, unchecked.
    `allowed_tools`: it accepts a list of the tools allowed now, beside all tools. `forced_choice`: it can be forced
    to call a tool. `timeout`: seconds until the first byte of a response. `efforts`: those of `EFFORTS` that it
    accepts. `hour_cache`: a prefix can be cached for an hour, at twice the input price. `output_capped`: the policy
    set `max_output`, so every request has it.
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
    allowed_tools: bool = False
    forced_choice: bool = False
    timeout: int = 900
    efforts: tuple[str, ...] = ()
    hour_cache: bool = False
    output_capped: bool = False
    long_prompts: LongPrompts | None = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of one response in USD."""
        prompt = (
            usage.input * self.input_price
            + usage.cache_read * self.cache_read_price
            + (usage.cache_write - usage.hour_write) * self.cache_write_price
            + usage.hour_write * max(2 * self.input_price, self.cache_write_price)
        )
        answer = usage.output * self.output_price
        long = self.long_prompts
        if long is not None and usage.input + usage.cache_read + usage.cache_write > long.above:
            prompt, answer = prompt * long.input, answer * long.output
        return (prompt + answer) / 1_000_000


ModelOverride = Mapping[str, Any]
"""The policy's settings for a model: values of `ModelInfo` by the names of its fields."""


class ModelRequest(NamedTuple):
    """One request. `system` and `tools` are frozen for the session; `messages` only ever grows at its end.

    `allowed` names the tools that may be called now, `None` for all; `required` demands a call of one of them. Not
    every vendor supports this, and some refuse it while a model thinks, so the caller still checks the calls. `session`
    is the session's id, a vendor's cache key. `max_output` caps the response in tokens; 0 is the model's own limit.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]
    required: bool = False
    allowed: tuple[str, ...] | None = None
    session: str = ""
    max_output: int = 0
    effort: str = ""
    long_cache: bool = False


class Retrying(NamedTuple):
    """A request failed and is sent again after `delay` seconds. `partial` is the discarded part of its
    response, `usage` the vendor's count for it."""

    attempt: int
    delay: float
    reason: str
    partial: Message | None
    usage: Usage


OnRetry = Callable[[Retrying], None]
"""Called before the wait for another attempt."""


def unreported(event: Retrying) -> None:
    """Report no retry."""


class Complete(NamedTuple):
    """The whole assistant message, blocks in stream order, with its finish reason and the vendor's raw value.

    `discarded` is the usage of interrupted responses to the same request. `refusal` is why the vendor
    refused to answer, as a clause for people.
    """

    message: Message
    finish: FinishReason
    raw_reason: str
    usage: Usage
    discarded: Usage = Usage()
    refusal: str = ""


class Failed(NamedTuple):
    """There is no response. `message` is for people; `status` is the HTTP status, if any.

    `canceled` is true only when the run's cancel token fired. `partial` is what had arrived. `overflow` is true
    if the conversation is longer than the model can read: only a shorter one may succeed. `unavailable` is true if
    the server is down or over a limit, and nothing of an answer was emitted: another model may answer. `discarded`
    is the same as in `Complete`.
    """

    message: str
    status: int | None = None
    canceled: bool = False
    partial: Message | None = None
    usage: Usage = Usage()
    overflow: bool = False
    discarded: Usage = Usage()
    unavailable: bool = False


class Provider(Protocol):
    """One wire format behind the values of this module."""

    @property
    def info(self) -> ModelInfo: ...

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        """Return the response. Never raises for what a server does."""
        ...

    def close(self) -> None: ...
