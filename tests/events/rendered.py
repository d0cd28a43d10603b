"""What people see of a text on GitHub: by its own renderer of Markdown, and a parser that reads HTML as browsers do."""

import cmarkgfm
from cmarkgfm.cmark import Options
from selectolax.lexbor import LexborHTMLParser

# Raw HTML is left in.
_UNSANITIZED = (
    Options.CMARK_OPT_UNSAFE
    | Options.CMARK_OPT_FOOTNOTES
    | Options.CMARK_OPT_GITHUB_PRE_LANG
    | Options.CMARK_OPT_HARDBREAKS
)

_UNSEEN = "[hidden], script, style, textarea, rp"


def unsanitized(markdown: str) -> str:
    """The HTML before GitHub's sanitizer: what hides elements is still in it."""
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, _UNSANITIZED))


def seen(html: str) -> str:
    """The text of a page, without what an attribute `hidden` or its element keeps from people."""
    page = LexborHTMLParser(html)
    for node in page.css(_UNSEEN):
        if node.tag in ("html", "body"):
            return ""
        node.decompose()
    return page.body.text() if page.body else ""
