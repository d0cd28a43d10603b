"""Receive one response from a provider; estimates of tokens, and how much of a model's window a conversation may use.

Some servers report no tokens, and for an interrupted response vendors report the input and little of the output.
Without an estimate, neither the limits on tokens and money nor compaction would take effect. The vendor's count of the
last request is exact; what was added since is estimated, at a cost that does not grow with the conversation (S-167)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable

from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import retry_at_capacity
from bot.contracts.errors import AgentError
from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import (
    Complete,
    Failed,
    ModelInfo,
    ModelRequest,
    OnRetry,
    Provider,
    Retrying,
    unreported,
)
from bot.contracts.tools import ToolSpec

_BYTES_A_TOKEN = 4
_IMAGE_TOKENS = 1_200
_MIN_FREE = 16_384
_MESSAGE_TOKENS = 8


def tokens_of_text(text: str) -> int:
    """Estimate the tokens of `text`."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // _BYTES_A_TOKEN)


def tokens_of(message: Message) -> int:
    """Estimate the tokens of `message`."""
    return _MESSAGE_TOKENS + sum(map(_part_tokens, message.parts))


def fixed_tokens(system: str, tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of the system text and the tools, which are part of every request."""
    texts = (json.dumps([spec.name, spec.description, spec.parameters]) for spec in tools)
    return tokens_of_text(system) + sum(map(tokens_of_text, texts))


def max_response(info: ModelInfo) -> int:
    """Return the cap on one response in tokens, constant for a session: the policy's, 0 for the model's own.

    Some servers have none of their own, and generate until their window is full. A model whose longest response would
    fill much of its window is limited to a sixth of it, since the space reserved for a response is lost for the
    conversation.
    """
    if info.output_capped:
        return info.max_output
    if info.max_output <= info.context_window // 4:
        return 0
    return max(info.context_window // 6, 1)


def usable_tokens(info: ModelInfo) -> int:
    """Return how many tokens a conversation may hold when a request is sent, so that the response still fits."""
    response = max_response(info) or info.max_output
    margin = info.context_window // 50
    free = max(min(_MIN_FREE, info.context_window // 4), response) + margin
    return max(info.context_window - free, info.context_window // 4)


def _part_tokens(part: Part) -> int:
    if isinstance(part, Text):
        return tokens_of_text(part.text)
    if isinstance(part, Thinking):
        return tokens_of_text(part.text) + tokens_of_text(f"{part.redacted or ''}{part.extra or ''}")
    if isinstance(part, ToolCall):
        return tokens_of_text(part.name) + tokens_of_text(part.arguments)
    if isinstance(part, ToolResult):
        return tokens_of_text(part.content)
    assert isinstance(part, Image)
    return _IMAGE_TOKENS


def with_timeout(cancel: CancelToken, seconds: float) -> CancelToken:
    """Return a token that fires with `cancel`, or after `seconds`. To be fired at the end, which ends the timer."""
    token = CancelToken()
    timer = threading.Timer(seconds, token.fire, args=("time",))
    timer.daemon = True
    retry_at_capacity(timer.start)
    forget = cancel.on_fire(lambda: token.fire(cancel.reason))
    token.on_fire(timer.cancel)
    token.on_fire(forget)
    return token


def receive(
    provider: Provider, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
) -> Complete | Failed:
    """Return the response to `request`. Every error of the provider becomes a `Failed`. `retrying` is called before
    the wait for another attempt."""
    discarded = Usage()

    def report(event: Retrying) -> None:
        nonlocal discarded
        discarded += partial_usage(event, request)
        retrying(event)

    try:
        response = provider.respond(request, cancel, report)
    except AgentError:
        raise  # of `retrying`: the journal cannot be written
    except Exception as error:  # noqa: BLE001  An adapter's bug ends the session with what it has, not the process.
        response = Failed(f"The provider broke: {type(error).__name__}: {error}.", canceled=cancel.fired)
    return with_usage(response, request)._replace(discarded=discarded)


def with_usage(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """Return `response` with its reported or estimated usage."""
    if isinstance(response, Failed):
        return response._replace(usage=partial_usage(response, request))
    if response.usage.total:
        return response
    return response._replace(usage=_estimated_usage(request, response.message))


def partial_usage(event: Failed | Retrying, request: ModelRequest) -> Usage:
    """Return the usage of an interrupted response. One without any content counts as reported."""
    if event.partial is None:
        return event.usage
    if not event.usage.total:
        return _estimated_usage(request, event.partial)
    return event.usage._replace(output=max(event.usage.output, tokens_of(event.partial)))


def _estimated_usage(request: ModelRequest, message: Message) -> Usage:
    input_tokens = fixed_tokens(request.system, request.tools) + sum(map(tokens_of, request.messages))
    return Usage(input=input_tokens, output=tokens_of(message))
