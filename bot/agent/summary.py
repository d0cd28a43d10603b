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

_HEADING = re.compile(r"##+ +(.+?)\s*\Z")
_BULLET = re.compile(r"[-*] ")
_OLDER_NOTE = "- (Older ones are in the transcript.)"


def carry_over_sections(summary: str, earlier: str) -> str:
    """Return `summary` with the bullets under `HEADINGS` of the `earlier` summary before its own."""
    sections = _sections(summary)
    for heading in HEADINGS:
        earlier_bullets = _bullets(_lines_under(_sections(earlier), heading))
        own = _bullets(_lines_under(sections, heading))
        new = [bullet for bullet in own if bullet not in earlier_bullets]
        if earlier_bullets:
            sections = _replace_section(sections, heading, _newest_fitting([*earlier_bullets, *new]))
    return "\n\n".join(filter(None, (_section_text(*section) for section in sections)))


Section = tuple[str, list[str]]
"""A heading, empty for the text before the first one, and the lines below it."""


def _sections(text: str) -> list[Section]:
    sections: list[Section] = [("", [])]
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            sections.append((heading[1], []))
        else:
            sections[-1][1].append(line)
    return sections


def _lines_under(sections: Sequence[Section], heading: str) -> list[str]:
    return [line for name, lines in sections if name.casefold() == heading.casefold() for line in lines]


def _bullets(lines: Sequence[str]) -> list[str]:
    """Return each bullet with its continuation lines."""
    bullets: list[str] = []
    for line in lines:
        if _BULLET.match(line) or not bullets:
            bullets.append(line.rstrip())
        elif line.strip():
            bullets[-1] += f"\n{line.rstrip()}"
    return [bullet for bullet in bullets if bullet.strip() and bullet != _OLDER_NOTE]


def _newest_fitting(bullets: Sequence[str]) -> list[str]:
    newest: list[str] = []
    remaining = MAX_SECTION
    for bullet in reversed(bullets):
        remaining -= len(bullet) + 1
        if remaining < 0:
            newest.append(_OLDER_NOTE)
            break
        newest.append(bullet)
    return newest[::-1]


def _replace_section(sections: Sequence[Section], heading: str, bullets: list[str]) -> list[Section]:
    """Replace the section's lines, or insert it as the first section."""
    names = [name.casefold() for name, _ in sections]
    if heading.casefold() not in names:
        return [*sections[:1], (heading, bullets), *sections[1:]]
    index = names.index(heading.casefold())
    rest = [section for section in sections[index + 1 :] if section[0].casefold() != heading.casefold()]
    return [*sections[:index], (heading, bullets), *rest]


def _section_text(heading: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines).strip("\n")
    return f"## {heading}\n{body}".rstrip() if heading else body


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
