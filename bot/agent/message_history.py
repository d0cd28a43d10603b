"""The conversation so far: it only grows, at its end, and cannot be sent while a call has no result. Its plain text,
and estimates of its tokens.

The vendor's count of the last request is exact; messages added since are estimated, at a cost that does not grow with
the conversation (S-167).
"""

import json
from collections.abc import Iterable, Sequence

from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import ModelInfo
from bot.contracts.tools import ToolSpec


class HistoryError(Exception):
    """A call would have no result, two, or one out of order: a bug of ours, never the model's."""


class MessageHistory:
    """Messages, validated as they are added at a cost that does not grow with their number. `fixed` are the tokens of
    every request beside them."""

    def __init__(self, fixed: int = 0) -> None:
        self._messages: list[Message] = []
        self._open: tuple[ToolCall, ...] = ()
        self._ids: set[str] = set()
        self._fixed = fixed
        self.tokens = fixed
        """The size of a request: the vendor's count of the last one, and an estimate of what was added since."""

    def add_user(self, text: str, images: Sequence[Image] = ()) -> None:
        self._refuse_open("a user message")
        self._append(Message("user", (Text(text), *images)))

    def add_assistant(self, message: Message, turn: int, counted: int = 0) -> Message:
        """Add the model's message and return it as stored. An empty message is not stored. `counted` is the vendor's
        count of the request and this message in tokens, 0 for none.

        A call with an empty or used id gets a new one, since vendors refuse duplicate ids.
        """
        self._refuse_open("an assistant message")
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if not part.id or part.id in self._ids:
                    name = f"call_{turn}_{index}"
                    part = part._replace(id=f"{name}_{len(self._ids)}" if name in self._ids else name)
                self._ids.add(part.id)
            parts.append(part)
        added = message._replace(parts=tuple(parts))
        if added.parts:
            self._append(added)
            self._open = added.calls
        self.tokens = counted or self.tokens
        return added

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Add the one message with the results of all open calls, in the order of the calls."""
        expected, actual = [call.id for call in self._open], [result.call_id for result in results]
        if not expected or expected != actual:
            raise HistoryError(f"the calls {expected} were answered by {actual}")
        self._append(Message("tool", tuple(results)))
        self._open = ()

    def shorten(self, text: str, first_kept: int, *, thoughts: bool = True) -> None:
        """Replace all messages between the first one and number `first_kept` by one user message. The others keep their
        thinking only with `thoughts`."""
        self._refuse_open("a shorter history")
        recent = self._messages[first_kept:]
        if not 1 < first_kept <= len(self._messages) or (recent and recent[0].role != "assistant"):
            raise HistoryError(f"message {first_kept} is not where an answer of the model begins")
        if not thoughts:
            recent = [
                one._replace(parts=tuple(part for part in one.parts if not isinstance(part, Thinking)))
                for one in recent
            ]
        self._messages = [self._messages[0], Message("user", (Text(text),)), *recent]
        self.tokens = self._fixed + sum(map(tokens_of, self._messages))

    def _append(self, message: Message) -> None:
        self._messages.append(message)
        self.tokens += tokens_of(message)

    def view(self) -> tuple[Message, ...]:
        """Return the messages of one request. They do not change when the history grows."""
        self._refuse_open("a request")
        return tuple(self._messages)

    def _refuse_open(self, action: str) -> None:
        if self._open:
            raise HistoryError(
                f"{action} came while the calls {[call.id for call in self._open]} wait for results"
            )


def transcript_text(messages: Iterable[Message], max_length: int | None = None) -> str:
    """Return `messages` as plain text. With `max_length`, each call and result is cut to that many characters
    and thinking is left out."""
    texts: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                texts.append(f"[{'user' if message.role == 'user' else 'agent'}]\n{part.text.strip()}")
            elif isinstance(part, Thinking) and max_length is None and part.text.strip():
                texts.append(f"[agent, thinking]\n{part.text.strip()}")
            elif isinstance(part, ToolCall):
                texts.append(f"[agent calls {part.name}]\n{cut_middle(part.arguments, max_length)}")
            elif isinstance(part, ToolResult):
                kind = "error" if part.is_error else "result"
                texts.append(f"[{kind} of {part.name}]\n{cut_middle(part.content, max_length)}")
            elif isinstance(part, Image):
                texts.append(f"[picture {part.name}]")
    return "\n\n".join(texts)


def cut_middle(text: str, max_length: int | None) -> str:
    """Return `text` without its middle if it is longer than `max_length` characters."""
    text = text.strip("\n")
    if max_length is None or len(text) <= max_length:
        return text
    head, tail = max_length * 2 // 3, max_length // 3
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters are left out here …\n{text[-tail:]}"


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
