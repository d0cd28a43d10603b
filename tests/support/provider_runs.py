"""Running an adapter against the scripted server, for the tests of `bot/providers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Event, Failed
from bot.contracts.messages import Message, Text
from bot.contracts.model import ModelInfo, ModelRequest, Provider
from bot.contracts.tools import ToolSpec
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.connect import connect
from bot.providers.endpoint import Endpoint
from bot.providers.openai_chat import OpenAIChat
from bot.providers.retry import Policy
from bot.providers.streaming import StreamingProvider
from tests.support.model_script import Script, Step
from tests.support.model_server import ModelServer, Received

MODELS = ("anthropic/claude-sonnet-5-5", "openai/gpt-6.2-sol")
AT_ONCE = Policy(base=0.0)
BASH = ToolSpec(
    "bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": []},
)
INFO = ModelInfo("scripted", 1000, 100, 1.0, 2.0, 0.1, 1.25)


def ask(*messages: Message, system: str = "Be brief.", tools: tuple[ToolSpec, ...] = (BASH,)) -> ModelRequest:
    return ModelRequest(system, tools, messages or (user("hello"),))


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def run(
    model: str,
    script: Sequence[Step] | Script,
    request: ModelRequest | None = None,
    *,
    policy: Policy = AT_ONCE,
    cancel: CancelToken | None = None,
) -> tuple[list[Event], list[Received]]:
    """All events of one stream, and what the server was sent."""
    with ModelServer(script) as server:
        provider = connect(model, server.environment(), policy=policy)
        try:
            events = list(provider.stream(request or ask(), cancel or CancelToken()))
        finally:
            provider.close()
        return events, server.requests


def impatient(model: str, server: ModelServer, *, patience: float = 5.0, idle: float = 0.2) -> Provider:
    """The adapter for `model` with short time-outs and a single attempt."""
    kind = model.partition("/")[0]
    wires: dict[str, Any] = {"anthropic": AnthropicMessages, "openai": OpenAIChat}
    url = server.url if kind == "anthropic" else f"{server.url}/v1"
    endpoint = Endpoint(url, "test-key", "THE_URL", "THE_KEY")
    wire = wires[kind](endpoint, INFO, patience=patience, idle=idle)
    return StreamingProvider(wire, INFO, Policy(attempts=1))


def completed(events: list[Event]) -> Complete:
    last = events[-1]
    assert isinstance(last, Complete), last
    return last


def failed(events: list[Event]) -> Failed:
    last = events[-1]
    assert isinstance(last, Failed), last
    return last
