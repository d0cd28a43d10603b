"""A conversation as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.contracts.messages import Image, Message, Text, Thinking, ToolCall, ToolResult


def transcript_text(messages: Iterable[Message], max_length: int | None = None) -> str:
    """Return `messages` as plain text. With `max_length`, each call and result is cut to that many characters
    and thinking is left out."""
    return "\n\n".join(_transcript_parts(messages, max_length))


def _transcript_parts(messages: Iterable[Message], max_length: int | None) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                yield f"[{'user' if message.role == 'user' else 'agent'}]\n{part.text.strip()}"
            elif isinstance(part, Thinking) and max_length is None and part.text.strip():
                yield f"[agent, thinking]\n{part.text.strip()}"
            elif isinstance(part, ToolCall):
                yield f"[agent calls {part.name}]\n{_cut(part.arguments, max_length)}"
            elif isinstance(part, ToolResult):
                yield f"[{'error' if part.is_error else 'result'} of {part.name}]\n{_cut(part.content, max_length)}"
            elif isinstance(part, Image):
                yield f"[picture {part.name}]"


def _cut(text: str, max_length: int | None) -> str:
    text = text.strip("\n")
    if max_length is None or len(text) <= max_length:
        return text
    head, tail = max_length * 2 // 3, max_length // 3
    return f"{text[:head]}\n[... {len(text) - head - tail} characters ...]\n{text[-tail:]}"
