"""Format text for the page: figures, shortened and escaped text, and the simple Markdown of models.

Characters that hide or reverse text become visible escapes, and only web addresses become links. Markdown does not
become links, pictures or HTML. The template engine escapes HTML.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from bot.contracts.formatting import money

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST = 24_000
"""The most characters of one text on a page."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a text without its middle if it is too long, with the number of missing characters."""
    if len(text) <= longest:
        return text
    head, tail = text[: longest * 2 // 3], text[-longest // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n… {missing:,} characters are left out here; the rest is in the journal …\n{tail}"


def usd(amount: float) -> str:
    return money(amount, 4 if amount < 0.1 else 2)


def plain_word(value: str) -> str:
    """Return `not runnable` for `not_runnable`."""
    return value.replace("_", " ")


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ALLOWED = "\n\t"
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@cache
def make_visible() -> Callable[[object], object]:
    """Return a function that makes invisible characters of a text visible. Markup is unchanged: its values were
    converted before."""
    escapes = _Escapes()

    def visible(value: object) -> object:
        if not isinstance(value, str) or hasattr(value, "__html__"):
            return value
        if value.isascii() and not _CONTROLS.search(value):
            return value
        return value.translate(escapes)

    return visible


class _Escapes(dict[int, str]):
    """The replacement of each character, cached."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        hides = character not in _ALLOWED and unicodedata.category(character) in _HIDING
        replacement = self[code] = _escape(code) if hides else character
        return replacement


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def safe_link(url: str) -> str:
    """Return `url` if it is a web address, else an empty string: a journal could contain `javascript:`."""
    return url if url.startswith(("https://", "http://")) else ""


def _bold_line(renderer: object, tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    return "<p><b>" if tokens[at].nesting > 0 else "</b></p>\n"


def _code(renderer: object, tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    return f'<pre class="code" tabindex="0">{escape(tokens[at].content)}</pre>\n'


@cache
def _markdown() -> MarkdownIt:
    """Code, bold text, lists and paragraphs; nothing that loads or leads anywhere."""
    reader = MarkdownIt("zero", {"html": False, "breaks": True, "maxNesting": 100})
    reader.enable(["newline", "backticks", "emphasis", "list", "heading", "fence"])
    for kind in ("heading_open", "heading_close"):
        reader.add_render_rule(kind, _bold_line)
    reader.add_render_rule("fence", _code)
    return reader


def markdown(text: str) -> Markup:
    return Markup(_markdown().render(str(make_visible()(text))))  # noqa: S704 - what it renders is escaped


def markdown_line(text: str) -> Markup:
    """Return the text as one line, in which only code and bold text are marked."""
    return Markup(_markdown().renderInline(str(make_visible()(text))))  # noqa: S704 - as above
