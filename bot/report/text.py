"""Format text for the page: figures, shortened and escaped text, diffs as rows, and the simple Markdown of models.

Characters that hide or reverse text become visible escapes, and only web addresses become links. Markdown does not
become links, pictures or HTML. The template engine escapes HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from bot.contracts.formatting import money
from bot.contracts.plain_text import UNSEEN

LONGEST = 24_000
"""The most characters of one text on a page."""


def usd(amount: float) -> str:
    return money(amount, 4 if amount < 0.1 else 2)


def make_visible(value: object) -> object:
    """Return a text with its invisible characters made visible. Markup is unchanged."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return UNSEEN.sub(lambda unseen: unseen[0].encode("unicode_escape").decode(), value)


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
    return Markup(_markdown().render(str(make_visible(text))))  # noqa: S704 - what it renders is escaped


def markdown_line(text: str) -> Markup:
    """Return the text as one line, in which only code and bold text are marked."""
    return Markup(_markdown().renderInline(str(make_visible(text))))  # noqa: S704 - as above


# Diffs

MOST_ROWS = 600
_LONGEST_ROW = 2_000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "same", "": "same", "\\": "head"}
_FILE_NAMES = ("--- ", "+++ ", "diff --git ", "index ")
"""The page names the file itself."""


class Row(NamedTuple):
    """`kind` is add, del, same, hunk, or head for a header line; `old` and `new` are line numbers."""

    kind: str
    old: int | None
    new: int | None
    text: str

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "-", "same": " "}.get(self.kind, "")


class Diff(NamedTuple):
    """`left_out` is the number of further rows."""

    rows: Sequence[Row]
    left_out: int


def diff_of(text: str, most: int = MOST_ROWS) -> Diff:
    rows = text.removesuffix("\n").split("\n")
    cut = (
        row
        if len(row) <= _LONGEST_ROW
        else f"{row[:_LONGEST_ROW]} … {len(row) - _LONGEST_ROW:,} more characters"
        for row in rows[:most]
    )
    return Diff(list(_rows(cut)), max(0, len(rows) - most))


def _rows(rows: Iterable[str]) -> Iterator[Row]:
    old, new, in_hunk = 0, 0, False
    for row in rows:
        if hunk := _HUNK.match(row):
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            yield Row("hunk", None, None, row)
            continue
        in_hunk = in_hunk and row[:1] in _KINDS
        kind = _KINDS[row[:1]] if in_hunk else "head"
        if kind != "head":
            yield Row(kind, None if kind == "add" else old, None if kind == "del" else new, row[1:])
            old, new = old + (kind != "add"), new + (kind != "del")
        elif in_hunk or not row.startswith(_FILE_NAMES):
            yield Row(kind, None, None, row)
