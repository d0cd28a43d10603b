"""A part of the conversation as plain text: for its summary, and for the file in which the model can look it up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.contracts.messages import Image, Message, Text, Thinking, ToolCall, ToolResult


def as_text(messages: Iterable[Message], longest: int | None = None) -> str:
    """`messages` one after the other. With `longest`, what one call or result holds is cut to so many characters;
    what the model thought is left out then."""
    return "\n\n".join(_lines(messages, longest))


def _lines(messages: Iterable[Message], longest: int | None) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                yield f"[{'user' if message.role == 'user' else 'agent'}]\n{part.text.strip()}"
            elif isinstance(part, Thinking) and longest is None and part.text.strip():
                yield f"[agent, thinking]\n{part.text.strip()}"
            elif isinstance(part, ToolCall):
                yield f"[agent calls {part.name}]\n{_cut(part.arguments, longest)}"
            elif isinstance(part, ToolResult):
                yield f"[{'error' if part.is_error else 'result'} of {part.name}]\n{_cut(part.content, longest)}"
            elif isinstance(part, Image):
                yield f"[picture {part.name}]"


def _cut(text: str, longest: int | None) -> str:
    text = text.strip("\n")
    if longest is None or len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]}\n[... {len(text) - head - tail} characters ...]\n{text[-tail:]}"
