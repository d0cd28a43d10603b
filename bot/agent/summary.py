"""Texts of a compaction: the transcript, and the sections that every summary carries over word for word.

A model that summarises a summary loses detail each time. The program itself copies the two sections under
`HEADINGS`; the model only adds to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bot.contracts.messages import Image, Message, Text, Thinking, ToolCall, ToolResult

HEADINGS = ("Asked and constrained", "Decided")

MAX_SECTION = 8_000
"""Characters of one section. Older bullets are only in the transcript."""

_OLDER_NOTE = "- (Older ones are in the transcript.)"


def carry_over_sections(summary: str, earlier: str) -> str:
    """Return `summary` with the lines under `HEADINGS` of the `earlier` summary before its own."""
    for heading in reversed(HEADINGS):
        carried, own = _lines_under(earlier, heading), _lines_under(summary, heading)
        if not carried:
            continue
        lines = _newest_fitting([*carried, *(line for line in own if line not in carried)])
        rest = _section(heading).sub("", summary).strip()
        summary = f"## {heading}\n{lines}\n\n{rest}"
    return summary


def _section(heading: str) -> re.Pattern[str]:
    return re.compile(
        rf"^##+ +{re.escape(heading)}[ \t]*\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE
    )


def _lines_under(text: str, heading: str) -> list[str]:
    under = "\n".join(_section(heading).findall(text))
    return [line.rstrip() for line in under.split("\n") if line.strip() and line != _OLDER_NOTE]


def _newest_fitting(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    if len(text) <= MAX_SECTION:
        return text
    newest = text[-MAX_SECTION:].partition("\n")[2]
    return f"{_OLDER_NOTE}\n{newest}"


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
