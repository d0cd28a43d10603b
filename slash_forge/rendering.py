"""Markdown as the HTML that GitHub's API returns: rendered by GitHub's own renderer, then sanitized by its allow-list.

The renderer is `cmarkgfm`, a package of the tests. The demo runs where only the program is installed, and renders by
markdown-it. Not played: links of mentions, issues and commits, colours of code, alerts, e-mail replies. How GitHub
writes drawings and formulas follows pages of github.com; it publishes no rule for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from html.parser import HTMLParser
from urllib.parse import urlsplit

_VOID = frozenset(["br", "hr", "img", "input", "source", "wbr"])


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The published allow-list of the html-pipeline. `picture` and `source` are in GitHub's documentation; `input` and
# `section` are the renderer's own, of task lists and footnotes.
_ELEMENTS = _VOID | _words(
    "h1 h2 h3 h4 h5 h6 b i strong em a pre code tt div ins del sup sub p ol ul table thead tbody tfoot blockquote dl dt"
    " dd kbd q samp var ruby rt rp li tr td th s strike summary details caption figure figcaption abbr bdo cite dfn"
    " mark small span time picture section"
)
_ATTRIBUTES = _words(
    "abbr accept accept-charset accesskey action align alt aria-describedby aria-hidden aria-label aria-labelledby axis"
    " border cellpadding cellspacing char charoff charset checked clear cols colspan color compact coords datetime dir"
    " disabled enctype for frame headers height hreflang hspace id ismap itemprop label lang maxlength media method"
    " multiple name nohref noshade nowrap open progress prompt readonly rel rev role rows rowspan rules scope selected"
    " shape size span start summary tabindex title type usemap valign value width"
)
_OF_ELEMENT = {
    "a": _words("href data-footnote-ref data-footnote-backref"),
    "img": _words("src longdesc"),
    "source": _words("srcset"),
    "div": _words("itemscope itemtype"),
    "section": _words("data-footnotes"),
    **dict.fromkeys(("blockquote", "del", "ins", "q"), _words("cite")),
}
_SCHEMES = {
    "href": _words("http https mailto"),
    **dict.fromkeys(("src", "longdesc", "cite"), _words("http https")),
}
_WITHOUT_CONTENT = frozenset(["script", "style"])

# A browser reads declarations and instructions as comments too, and takes what does not end to the end of the page.
# Only raw HTML is left with a bare `<`.
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))|<[?!](?!--)[^>]*+(?:>|\Z)", re.DOTALL)
_DRAWING = re.compile(r'<pre lang="(mermaid|geojson|topojson|stl)"><code>(.*?)</code></pre>', re.DOTALL)
_MATH_BLOCK = re.compile(r'<pre lang="math"><code>(.*?)</code></pre>', re.DOTALL)
_MATH_CODE = re.compile(r"\$<code>([^<]*)</code>\$")
_TAG = re.compile(r"<[^>]*>")


def to_html(markdown: str) -> str:
    """Return the HTML of a text in a thread, where each line end is a line break."""
    sanitizer = _Sanitizer()
    sanitizer.feed(_COMMENT.sub("", _renderer()(markdown)))
    sanitizer.close()
    html = _DRAWING.sub(_drawing, sanitizer.html())
    html = _MATH_BLOCK.sub(
        r'<math-renderer class="js-display-math" style="display: block">$$\1$$</math-renderer>', html
    )
    return _MATH_CODE.sub(
        r'<math-renderer class="js-inline-math" style="display: inline-block">$\1$</math-renderer>', html
    )


def to_text(html: str) -> str:
    return unescape(_TAG.sub("", html))


def _renderer() -> Callable[[str], str]:
    try:
        import cmarkgfm
        from cmarkgfm.cmark import Options
    except ImportError:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable(["table", "strikethrough"])
        return lambda markdown: str(parser.render(markdown))
    options = (
        Options.CMARK_OPT_UNSAFE
        | Options.CMARK_OPT_FOOTNOTES
        | Options.CMARK_OPT_GITHUB_PRE_LANG
        | Options.CMARK_OPT_HARDBREAKS
    )
    return lambda markdown: str(cmarkgfm.github_flavored_markdown_to_html(markdown, options))


def _drawing(block: re.Match[str]) -> str:
    return (
        f'<section class="js-render-needs-enrichment render-needs-enrichment position-relative" data-type="{block[1]}" '
        f'aria-label="{block[1]} rendered output container"><div class="js-render-enrichment-target" '
        f'data-plain="{escape(unescape(block[2]))}" dir="auto"><div class="render-plaintext-hidden" dir="auto">'
        f'<pre lang="{block[1]}" aria-label="Raw {block[1]} code">{block[2]}</pre></div></div></section>'
    )


class _Sanitizer(HTMLParser):
    """Keeps what the allow-list has, with balanced tags; other elements leave their content."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[str] = []
        self._dropped = ""

    def html(self) -> str:
        closing = [f"</{tag}>" for tag in reversed(self._open)]
        return "".join([*self._out, *closing])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _WITHOUT_CONTENT:
            self._dropped = tag
        if tag not in _ELEMENTS or self._dropped:
            return
        written = "".join(f' {name}="{escape(value)}"' for name, value in _allowed(tag, attrs))
        self._out.append(f"<{tag}{written}>")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML knows no self-closing tags.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._dropped = "" if tag == self._dropped else self._dropped
        if tag in self._open:
            while (closed := self._open.pop()) != tag:
                self._out.append(f"</{closed}>")
            self._out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._dropped:
            self._out.append(escape(data, quote=False))


def _allowed(tag: str, attrs: list[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    names = _ATTRIBUTES | _OF_ELEMENT.get(tag, frozenset())
    # The first of a name counts.
    for name, value in {name: value or "" for name, value in reversed(attrs)}.items():
        if name in names and not (name in _SCHEMES and _scheme(value) not in ("", *_SCHEMES[name])):
            yield name, value


def _scheme(address: str) -> str:
    try:
        return urlsplit(address.strip()).scheme.lower()
    except ValueError:
        return "?"
