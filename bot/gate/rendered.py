"""What would still act on the page that GitHub makes of a Markdown text: the last look of the text gate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.gate.addresses import HOSTS
from bot.gate.blocks import LANGUAGE, MAX_NESTING, limited, parsed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MENTION = re.compile(r"(?<![\w`])@[A-Za-z0-9]")
# Where parsers do not agree what a line is (a heading, a row), its marks are text to one of them, as single tildes are.
_COMMAND = re.compile(r"^(?:[^\w\n/\0\u200b]|\[[xX]\])*/[*_~]*[A-Za-z]", re.MULTILINE)
_FOREIGN_REFERENCE = re.compile(r"[\w.-]#\d")
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)[\s:]*(?:[\w.-]+/[\w.-]+)?(?:#\d|\bGH-\d|\bhttps?://)",
    re.IGNORECASE,
)
# What inline code is replaced by, so that the words around it are not read as one.
_CODE = "\0"


def live_part(text: str) -> str:
    """What acts in `text` when it is rendered, as a noun; "" if nothing does. May raise `SlowText`."""
    for token in parsed(_parser(), text):
        if token.type == "html_block":
            return "HTML"
        if token.type == "fence" and not LANGUAGE.fullmatch(token.info.strip()):
            return "a block that is more than code"
        if token.type == "inline" and (found := _live_inline(token.children or [])):
            return found
    return ""


def _live_inline(tokens: list[Token]) -> str:
    for token in tokens:
        if token.type == "image":
            return "an image"
        if token.type == "html_inline":
            return "HTML"
        if token.type == "link_open" and leads_away(str(token.attrs.get("href", ""))):
            return "a link"
    shown = "".join(_texts(tokens))
    for pattern, what in (
        (_MENTION, "a mention"),
        (_COMMAND, "a command"),
        (_FOREIGN_REFERENCE, "a reference"),
        (_CLOSING, "a closing keyword"),
    ):
        if pattern.search(shown):
            return what
    return ""


def leads_away(href: str) -> bool:
    """Whether a link leads to a host that is not on the list, or carries a query to one that is."""
    if "?" in href or href.startswith(("//", "/\\", "\\")):
        return True
    try:
        parts = urlsplit(href)
    except ValueError:
        return True
    return (parts.scheme, parts.netloc) != ("", "") and not (
        parts.scheme in ("http", "https") and parts.netloc.lower() in HOSTS
    )


def _texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type == "code_inline":
            yield _CODE


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": True, "maxNesting": MAX_NESTING}
    return limited(MarkdownIt("commonmark", options).enable(["table", "strikethrough"]))
