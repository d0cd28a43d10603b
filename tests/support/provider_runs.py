"""Running an adapter against the scripted server, for the tests of `bot/providers`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, Part, Text, Thinking, ToolCall
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, OnRetry, Provider, unreported
from bot.contracts.tools import ToolSpec
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.connect import connect
from bot.providers.endpoint import Endpoint
from bot.providers.openai_chat import OpenAIChat
from bot.providers.openai_responses import OpenAIResponses
from bot.providers.retry import RetryPolicy
from bot.providers.streaming import StreamingProvider
from bot.providers.vendors import VENDORS
from tests.support.model_script import Raw, Script, Step, chat_frames, messages_frames, responses_frames
from tests.support.model_server import ModelServer, Received

MODELS = ("anthropic/claude-sonnet-5-5", "openai-chat/gpt-6.2-sol", "openai-responses/gpt-6.2-sol")
FRAMES = dict(zip(MODELS, (messages_frames, chat_frames, responses_frames), strict=True))
NO_DELAY = RetryPolicy(base=0.0)
BASH = ToolSpec(
    "bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": []},
)
INFO = ModelInfo("scripted", 1000, 100, 1.0, 2.0, 0.1, 1.25)

# The vendors' words for why an answer ended, by what it means: Messages, Chat Completions, Responses.
STOPS = {
    "length": ("max_tokens", "length", "max_output_tokens"),
    "content_filter": ("refusal", "content_filter", "content_filter"),
}


def stop_word(model: str, meaning: str) -> str:
    """The word of `model`'s format for `meaning`; one that has none is sent as it is."""
    words = STOPS.get(meaning)
    return words[MODELS.index(model)] if words else meaning


def ask(*messages: Message, system: str = "Be brief.", tools: tuple[ToolSpec, ...] = (BASH,)) -> ModelRequest:
    return ModelRequest(system, tools, messages or (user("hello"),))


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def run(
    model: str,
    script: Sequence[Step] | Script,
    request: ModelRequest | None = None,
    *,
    policy: RetryPolicy = NO_DELAY,
    cancel: CancelToken | None = None,
    retrying: OnRetry = unreported,
) -> tuple[Complete | Failed, list[Received]]:
    """One response, and the requests to the server."""
    with ModelServer(script) as server:
        provider = connect(model, server.environment(), policy=policy)
        try:
            end = provider.respond(request or ask(), cancel or CancelToken(), retrying)
        finally:
            provider.close()
        return end, server.requests


def sse(*frames: Mapping[str, Any], done: bool = False) -> Raw:
    """The frames as server-sent events, each named by its type if it has one; `done`: with the last line of Chat
    Completions."""
    named = (f"event: {frame['type']}\n" if "type" in frame else "" for frame in frames)
    rows = (f"{name}data: {json.dumps(frame)}\n\n" for name, frame in zip(named, frames, strict=True))
    return Raw(("".join(rows) + "data: [DONE]\n\n" * done).encode())


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of Chat Completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def raw_values(body: bytes) -> dict[str, str]:
    """The values of a JSON object, each as it was written."""
    text, decoder, at = body.decode(), json.JSONDecoder(), 1
    values: dict[str, str] = {}
    while text[at - 1] != "}":
        name, at = decoder.raw_decode(text, at)
        _, end = decoder.raw_decode(text, at + 1)
        values[name], at = text[at + 1 : end], end + 1
    return values


def provider_with_timeouts(
    model: str, server: ModelServer, *, patience: int = 30, idle: float = 0.2, attempts: int = 1
) -> Provider:
    """The adapter for `model` with short time-outs."""
    kind = model.partition("/")[0]
    wires: dict[str, Any] = {
        "anthropic": AnthropicMessages,
        "openai-chat": OpenAIChat,
        "openai-responses": OpenAIResponses,
    }
    url = server.url if kind == "anthropic" else f"{server.url}/v1"
    endpoint = Endpoint(VENDORS[kind], url, "test-key")
    quick = type("Quick", (wires[kind],), {"idle": idle})
    provider: StreamingProvider = quick(endpoint, INFO._replace(timeout=patience))
    provider.policy = RetryPolicy(attempts=attempts, base=0.0)
    return provider


def without_extras(message: Message) -> tuple[Part, ...]:
    """The parts without their vendor data."""
    return tuple(
        part._replace(extra={}) if isinstance(part, Text | Thinking | ToolCall) else part
        for part in message.parts
    )


def completed(end: Complete | Failed) -> Complete:
    assert isinstance(end, Complete), end
    return end


def failed(end: Complete | Failed) -> Failed:
    assert isinstance(end, Failed), end
    return end
