"""What people see of a text on GitHub: by its own renderer of Markdown, and a parser that reads HTML as browsers do."""

from __future__ import annotations

import cmarkgfm
from cmarkgfm.cmark import Options
from selectolax.lexbor import LexborHTMLParser

# Raw HTML is left in: GitHub takes out elements that act, but not those that only do not show.
_AS_GITHUB = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES

_UNSEEN = "[hidden], script, style, textarea, rp"


def seen(markdown: str) -> str:
    """The text of the page made of `markdown`, without what an attribute `hidden` or its element keeps from people."""
    page = LexborHTMLParser(cmarkgfm.github_flavored_markdown_to_html(markdown, _AS_GITHUB))
    for node in page.css(_UNSEEN):
        if node.tag in ("html", "body"):
            return ""
        node.decompose()
    return page.body.text() if page.body else ""
