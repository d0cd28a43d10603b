"""How much of a model's window a conversation fills, and how much must stay free. Pure.

The vendor's own count of the last request is the truth; what was added since is estimated, at a cost that does
not grow with the conversation (S-167).
"""

from __future__ import annotations

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo

_BYTES_A_TOKEN = 4
_IMAGE_TOKENS = 1_200
_LEAST_FREE = 16_384
_MESSAGE_TOKENS = 8


def tokens_of_text(text: str) -> int:
    """About how many tokens `text` is."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // _BYTES_A_TOKEN)


def tokens_of(message: Message) -> int:
    """About how many tokens `message` is."""
    return _MESSAGE_TOKENS + sum(map(_part, message.parts))


def longest_answer(info: ModelInfo) -> int:
    """The cap on one answer in tokens, the same for a whole session: 0 for the model's own.

    A model whose longest answer would fill much of its window is held to a sixth of it, since what is kept free
    for an answer cannot be used for the conversation.
    """
    if info.max_output <= info.context_window // 4:
        return 0
    return max(info.context_window // 6, 1)


def room(info: ModelInfo) -> int:
    """How many tokens a conversation may hold when a request is sent, so that the answer still fits."""
    answer = longest_answer(info) or info.max_output
    margin = info.context_window // 50
    free = max(min(_LEAST_FREE, info.context_window // 4), answer) + margin
    return max(info.context_window - free, info.context_window // 4)


class Gauge:
    """What the conversation holds now, in tokens."""

    def __init__(self) -> None:
        self._counted = 0
        self._since = 0

    @property
    def held(self) -> int:
        return self._counted + self._since

    def added(self, message: Message) -> None:
        """`message` was put into the conversation and no request has counted it yet."""
        self._since += tokens_of(message)

    def counted(self, total: int, answer: Message | None) -> None:
        """The vendor counted the request and its answer as `total`; 0 where it counts nothing."""
        if total > 0:
            self._counted, self._since = total, 0
        elif answer is not None:
            self.added(answer)

    def replaced(self, held: int) -> None:
        """The conversation was made shorter and is now estimated as `held`: older counts mean nothing."""
        self._counted, self._since = 0, held


def _part(part: Part) -> int:
    if isinstance(part, Text):
        return tokens_of_text(part.text)
    if isinstance(part, Thinking):
        return tokens_of_text(part.text) + tokens_of_text(part.redacted or "") + tokens_of_text(part.extra)
    if isinstance(part, ToolCall):
        return tokens_of_text(part.name) + tokens_of_text(part.arguments)
    if isinstance(part, ToolResult):
        return tokens_of_text(part.content)
    assert isinstance(part, Image)
    return _IMAGE_TOKENS
