"""Active elements in the page that cmark-gfm renders, and random texts. Shares no code with the gate."""

import random
import re
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

_BLOCKS = {
    "p", "li", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "table", "section",
}  # fmt: skip
_SHOWN = _BLOCKS | {"tr", "thead", "tbody", "em", "strong", "del", "a", "sup", "br", "hr", "input"}
_HOSTS = ("https://github.com/", "https://docs.github.com/")
_KEYWORD = re.compile(
    r"(?i)\b(?:clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed))\s*:?\s*(?:[\w.-]+/[\w.-]+)?#\d|"
    r"\b(?:clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed))\s*:?\s*(?:GH-\d|https?://)"
)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.live: list[str] = []
        self.code = 0
        self.language = ""
        self.block = ""
        self.drawing = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "pre":
            self.language, self.drawing = values.get("lang", "").lower(), ""
            if self.language.startswith("suggest"):
                self.live.append("a suggestion")
        if tag in ("pre", "code"):
            self.code += 1
            self.block += "\0"
            return
        if tag not in _SHOWN:
            self.live.append(f"<{tag}>")
        if tag in _BLOCKS:
            self.end_block()
        if tag == "br":
            self.block += "\n"
        if tag == "a" and (href := values.get("href", "")) is not None:
            away = re.match(r"[A-Za-z][\w+.-]*:|[/\\]{2}", href) and not f"{href}/".startswith(_HOSTS)
            if away or "?" in href:
                self.live.append(f"a link to {href}")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("pre", "code"):
            self.code -= 1
            if tag == "pre":
                if self.language in ("mermaid", "geojson", "topojson", "math") and re.search(
                    r"//|\bclick\b|\bhref\b|\bimg\b", self.drawing
                ):
                    self.live.append("a drawing with a link")
                self.language = ""
        elif tag in _BLOCKS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if self.code:
            self.drawing += data
            return
        self.block += data
        if re.search(r"(?<![\w`])@[A-Za-z0-9]", data):
            self.live.append("a mention")
        if re.search(r"[\w.-]#\d", data):
            self.live.append("a reference to another repository")

    def handle_comment(self, data: str) -> None:
        self.live.append("a comment")

    def end_block(self) -> None:
        if re.search(r"(?m)^\s*/[A-Za-z]", self.block):
            self.live.append("a command")
        if _KEYWORD.search(self.block):
            self.live.append("a closing keyword")
        self.block = ""


def live(markdown: str) -> list[str]:
    """The active elements of the page outside of code."""
    html = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    page = _Page()
    # The renderer's own filter shows some tags as text; GitHub's page has no tags that it does not know either.
    page.feed(html)
    page.close()
    page.end_block()
    return page.live


_ACTS = [
    "@ada", "@org/team", "/agent fix", "/close", "Fixes #12", "closes: a/b#3", "Fixes&nbsp;#12",
    "Fixes" + " " * 25 + "#12", "resolves\u00a0#4", "Fixes &#35;9", "other/repo#1", "user#7", "&#64;ada",
    "![x](//e.example/a.png)", "[x](//e.example)", "[x](https://github.com/o/r?q=1)",
    "https://github.com/o/r?q=s", "<img src=x>", "<!-- x -->", "<rp>h</rp>", "[r]: //e.example", "[r]",
    "![r]", "$\\phantom{@ada}$", "$$", "<https://e.example>", "www.e.example", 'click A "//e.example"',
    "[^1]", "[^1]: @ada", "Fixes **#1**", "Fixes\n> #12", "Fixes [#12](x)", "[](x)/agent", "*/agent*", "`",
    "``", "`@ada`", "\\@ada", "Fixes\\\n#3", "javascript:x",
]  # fmt: skip
_FENCES = [
    "```", "~~~", "````", "~~~~", "```py", "~~~suggestion `", "```suggestion", "~~~&#109;ermaid `",
    "```mermaid", "~~~mermaid", "~~~ a`b", "``` x y", "```\\suggestion", "~~~&#115;uggestion", "```math",
    "``` `", "~~",
]  # fmt: skip
_PREFIXES = [
    "", "", "", " ", "  ", "   ", "    ", "\t", "> ", ">", ">\t", "- ", "* ", "1. ", "2) ", "10. ", "  - ",
    "- [ ] ", "   > ", "-   ", "-\t", "# ", "| ", "+ ",
]  # fmt: skip
_WORDS = [
    "text", "a | b", "|-|-|", "| - |", "| a | b | @ada |", "---", "===", "***", "**b**", "_e_", "<details>",
    "</pre>", "&amp;", "\\", "#1", "x", "", "", "<pre>", "<div>", "\u200b",
]  # fmt: skip
_ENDS = (
    ["\n"] * 14
    + ["\n\n"] * 5
    + [
        "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\r", "\r\n", "\0", " ", "\u200b",
        "\ufeff", "\ud83d",
    ]
)  # fmt: skip
_LETTERS = "`~>-*+ \t\n|#@/[]()!<&;:\\$_1a.x\u2028\x85"


def text(source: random.Random) -> str:
    """A short text of pieces that mean something to a renderer, in random order."""
    if source.random() < 0.1:
        return "".join(source.choices(_LETTERS, k=source.randint(1, 60)))
    parts: list[str] = []
    for _ in range(source.randint(1, source.choice((2, 3, 4, 5, 14)))):
        for _ in range(source.choice((1, 1, 1, 2, 2, 3))):
            parts.append(source.choice(_PREFIXES))
        parts.append(source.choice(source.choice((_ACTS, _FENCES, _FENCES, _WORDS))))
        parts.append(source.choice(_ENDS))
    return "".join(parts)


def fault(sample: str) -> str:
    """An error in the gate's output for `sample`, or ""."""
    from bot.gate.clean_text import clean_markdown
    from bot.publish.markdown import safe_markdown

    once = clean_markdown(sample, 60_000)
    if problems := live(once):
        return f"{problems} in {once!r}"
    if (second := clean_markdown(once, 60_000)) != once:
        return f"gate of {once!r} is {second!r}"
    if len(sample) % 4 == 0 and (problems := live(f"{safe_markdown(sample, 60_000)}\n\n```\n@ada\n```\n")):
        return f"{problems} in what is put into our text"
    return ""
