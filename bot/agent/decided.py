"""What summaries of one conversation must not lose from one to the next: what was asked later, and what was decided.

A model that sums up a summary rounds it off each time. These two sections are carried over by the program, word for
word; the model only adds to them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HEADINGS = ("Asked and constrained", "Decided")

LONGEST = 8_000
"""Characters of one section; what is older than fits is in the transcript alone."""

_HEADING = re.compile(r"##+ +(.+?)\s*\Z")
_BULLET = re.compile(r"[-*] ")
_OLDER = "- (Older ones are in the transcript.)"


def with_earlier(summary: str, earlier: str) -> str:
    """`summary` with the bullets under `HEADINGS` of the `earlier` one before its own."""
    sections = _sections(summary)
    for heading in HEADINGS:
        kept = _bullets(_under(_sections(earlier), heading))
        own = _bullets(_under(sections, heading))
        new = [bullet for bullet in own if bullet not in kept]
        if kept:
            sections = _put(sections, heading, _fitted([*kept, *new]))
    return "\n\n".join(filter(None, (_text(*section) for section in sections)))


Section = tuple[str, list[str]]
"""A heading, empty for what stands before the first, and the lines below it."""


def _sections(text: str) -> list[Section]:
    sections: list[Section] = [("", [])]
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            sections.append((heading[1], []))
        else:
            sections[-1][1].append(line)
    return sections


def _under(sections: Sequence[Section], heading: str) -> list[str]:
    return [line for name, lines in sections if name.casefold() == heading.casefold() for line in lines]


def _bullets(lines: Sequence[str]) -> list[str]:
    """Each bullet with the lines that belong to it."""
    found: list[str] = []
    for line in lines:
        if _BULLET.match(line) or not found:
            found.append(line.rstrip())
        elif line.strip():
            found[-1] += f"\n{line.rstrip()}"
    return [bullet for bullet in found if bullet.strip() and bullet != _OLDER]


def _fitted(bullets: Sequence[str]) -> list[str]:
    kept: list[str] = []
    room = LONGEST
    for bullet in reversed(bullets):
        room -= len(bullet) + 1
        if room < 0:
            kept.append(_OLDER)
            break
        kept.append(bullet)
    return kept[::-1]


def _put(sections: Sequence[Section], heading: str, bullets: list[str]) -> list[Section]:
    """The section with these lines, in its place; as the first where there was none."""
    others = [name.casefold() for name, _ in sections]
    if heading.casefold() not in others:
        return [*sections[:1], (heading, bullets), *sections[1:]]
    at = others.index(heading.casefold())
    rest = [section for section in sections[at + 1 :] if section[0].casefold() != heading.casefold()]
    return [*sections[:at], (heading, bullets), *rest]


def _text(heading: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines).strip("\n")
    return f"## {heading}\n{body}".rstrip() if heading else body
