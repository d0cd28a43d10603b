"""Fenced code blocks of a Markdown text, as a CommonMark parser sees them.

A line ends at a line feed only. Carriage returns and characters that do not show are the caller's to remove first.
How deep and for how long a parser looks is limited: a text that was made to be slow is not worth the wait.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import StateBase
    from markdown_it.token import Token

# A parser stops at this depth; what is deeper counts as text.
MAX_NESTING = 40
SECONDS = 0.5
"""Of processor time, for one parse. A long comment takes a tenth of it."""
# An info string is more than a word only if somebody hides what it is: entities and escapes are decoded in it.
LANGUAGE = re.compile(r"(?!suggest)[A-Za-z0-9_+#.-]{0,30}", re.IGNORECASE)


class SlowText(Exception):
    """A text took its parser longer than `SECONDS`."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block: its lines, `end` excluded, and its content without the marks of what it is in."""

    start: int
    end: int
    fence: str
    info: str
    content: str
    nested: bool

    def canonical(self, info: str) -> str:
        """The block at the margin, where every parser sees where it begins and ends."""
        fence = self.fence
        if re.search(rf"^ {{0,3}}{re.escape(fence)}", self.content, re.MULTILINE):
            longest = max(map(len, re.findall(f"{re.escape(fence[0])}+", self.content)))
            fence = fence[0] * (longest + 1)
        ending = "" if not self.content or self.content.endswith("\n") else "\n"
        return f"{fence}{info}\n{self.content}{ending}{fence}\n"


def code_blocks(text: str, *, html: bool = False) -> list[CodeBlock]:
    """The fenced blocks of `text` in order. Without `html`, tags do not begin HTML blocks. May raise `SlowText`."""
    if "```" not in text and "~~~" not in text:
        return []
    blocks = []
    for token in parsed(_block_parser(html), text):
        if token.type == "fence" and token.map:
            start, end = token.map
            blocks.append(
                CodeBlock(start, end, token.markup, token.info.strip(), token.content, token.level > 0)
            )
    return blocks


def parsed(parser: MarkdownIt, text: str) -> list[Token]:
    """The tokens of `text`. Raises `SlowText`; `parser` must have been through `limited`."""
    return parser.parse(text, {"ends": thread_time() + SECONDS})


def limited(parser: MarkdownIt) -> MarkdownIt:
    """`parser`, which looks at the clock wherever it tries to find a block or an inline element."""

    def clock(state: StateBase, *_: object) -> bool:
        if thread_time() > state.env["ends"]:
            raise SlowText
        return False

    parser.block.ruler.before("table", "clock", clock)
    parser.inline.ruler.before("text", "clock", clock)
    return parser


@lru_cache(maxsize=2)
def _block_parser(html: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": html, "maxNesting": MAX_NESTING}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return limited(parser)
