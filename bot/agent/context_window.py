"""Token estimates, and how much of a model's window a conversation may use. Pure.

The vendor's count of the last request is exact; messages added since are estimated, at a cost that does not grow with
the conversation (S-167).
"""

import json
from collections.abc import Iterable

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo
from bot.contracts.tools import ToolSpec

_BYTES_A_TOKEN = 4
_IMAGE_TOKENS = 1_200
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
