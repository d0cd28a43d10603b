"""Parse Markdown: what has an effect when rendered, fenced code blocks, and links to other hosts.

A link may send data to the owner of its host, and an image does so without a click. Addresses on hosts that are not
allowed stay as text. A line ends at a line feed only: callers first remove carriage returns and invisible characters.
Parsing has limits of depth and time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from time import thread_time
from typing import NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.ruler import StateBase
from markdown_it.token import Token

_MENTION = re.compile(r"(?<![\w`])@[A-Za-z0-9]")
# If parsers disagree on what a line is (a heading, a row), one of them reads its marks as text, like single tildes.
_COMMAND = re.compile(r"^(?:[^\w\n/\0\u200b]|\[[xX]\])*/[*_~]*[A-Za-z]", re.MULTILINE)
_FOREIGN_REFERENCE = re.compile(r"[\w.-]#\d")
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)[\s:]*(?:[\w.-]+/[\w.-]+)?(?:#\d|\bGH-\d|\bhttps?://)",
    re.IGNORECASE,
)
# Replaces inline code, so that the words around it are not read as one.
_CODE = "\0"


def live_part(text: str) -> str:
    """Return, as a noun, what has an effect in `text` when rendered; "" for nothing. May raise `SlowText`."""
    for token in parsed(_parser(), text):
        if token.type == "html_block":
            return "HTML"
        if token.type == "fence" and not LANGUAGE.fullmatch(token.info.strip()):
            return "a block that is more than code"
        if token.type == "inline" and (part := _live_inline(token.children or [])):
            return part
    return ""


def _live_inline(tokens: list[Token]) -> str:
    for token in tokens:
        if token.type == "image":
            return "an image"
        if token.type == "html_inline":
            return "HTML"
        if token.type == "link_open" and leads_away(str(token.attrs.get("href", ""))):
            return "a link"
    text = "".join(_texts(tokens))
    for pattern, what in (
        (_MENTION, "a mention"),
        (_COMMAND, "a command"),
        (_FOREIGN_REFERENCE, "a reference"),
        (_CLOSING, "a closing keyword"),
    ):
        if pattern.search(text):
            return what
    return ""


def leads_away(href: str) -> bool:
    """Whether a link leads to a host that is not allowed, or has a query."""
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
    options = {"html": True, "maxNesting": MAX_NESTING}
    return limited(MarkdownIt("commonmark", options).enable(["table", "strikethrough"]))


# A parser stops at this depth; anything deeper counts as text.
MAX_NESTING = 40
SECONDS = 0.5
"""Processor time of one parse. A long comment takes a tenth of it."""
# Other info strings may hide their meaning, since entities and escapes in them are decoded.
LANGUAGE = re.compile(r"(?!suggest)[A-Za-z0-9_+#.-]{0,30}", re.IGNORECASE)


class SlowText(Exception):
    """Parsing a text took longer than `SECONDS`."""


class CodeBlock(NamedTuple):
    """A fenced block: its lines, `end` excluded, and its content without the markers of enclosing blocks."""

    start: int
    end: int
    fence: str
    info: str
    content: str
    nested: bool

    def canonical(self, info: str) -> str:
        """Return the block at the margin, where all parsers agree on its beginning and end."""
        fence = self.fence
        if re.search(rf"^ {{0,3}}{re.escape(fence)}", self.content, re.MULTILINE):
            longest = max(map(len, re.findall(f"{re.escape(fence[0])}+", self.content)))
            fence = fence[0] * (longest + 1)
        ending = "" if not self.content or self.content.endswith("\n") else "\n"
        return f"{fence}{info}\n{self.content}{ending}{fence}\n"


def code_blocks(text: str, *, html: bool = False) -> list[CodeBlock]:
    """Return the fenced blocks of `text` in order. Without `html`, tags begin no HTML blocks. May raise `SlowText`."""
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
    """Return the tokens of `text`. Raises `SlowText`. `parser` must come from `limited`."""
    return parser.parse(text, {"ends": thread_time() + SECONDS})


def limited(parser: MarkdownIt) -> MarkdownIt:
    """Make `parser` check the time limit whenever it tries to parse a block or an inline element."""

    def clock(state: StateBase, *_: object) -> bool:
        if thread_time() > state.env["ends"]:
            raise SlowText
        return False

    parser.block.ruler.before("table", "clock", clock)
    parser.inline.ruler.before("text", "clock", clock)
    return parser


@lru_cache(maxsize=2)
def _block_parser(html: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": html, "maxNesting": MAX_NESTING}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return limited(parser)


HOSTS = frozenset({"github.com", "docs.github.com"})
"""The hosts that links may lead to. The host of an Enterprise Server is added if there is one."""

BREAK = "\u200b"
"""Keeps what it breaks from having an effect."""
# `scheme://`, and what browsers accept in its place: `https:\\`, `https:/\`.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:(?=[/\\]{2})")
_BARE = re.compile(r"(?<![A-Za-z0-9])(?:www(?=\.)|(?:mailto|xmpp)(?=:))", re.IGNORECASE)
# `[label]:` where a paragraph may begin, also in lists and quotations: the definition of a link or a footnote.
_REFERENCE = re.compile(
    r"^(?:[ \t>*+\-0-9.)]|\[[ xX]\](?!:))*+\[(?:[^\[\]\\]|\\.){1,999}\](?=:)", re.MULTILINE | re.DOTALL
)
_DESTINATION = re.compile(r"\](?=\()")
# The parentheses of an allowed link: to this page or to the same host, without characters that are special to Markdown
# or to a browser (quotes, backslashes, entities, another colon).
_NEAR = re.compile(r"\(\s{0,9}<?(?:#[\w./%~+-]*|(?!//)(?!\w*:)[\w./%~+@-]+(?:#[\w./%~+-]*)?)>?\s{0,9}\)")
_QUERY = r"\?[^\s<>()\[\]\"'`]*"
_PATH = r"[\w.~!$&*+,;=:@%/-]*"


def plain_addresses(text: str, hosts: Collection[str] = HOSTS) -> str:
    """Break each link, bare, inline or by reference, to a host other than `hosts`, and cut the queries from addresses
    on these. Idempotent."""
    # It ends behind the host: `github.com.evil` does not match.
    address = rf"\bhttps?://(?:{_any_of(hosts)})(?![\w.:@\\%-])"
    listed = re.compile(address, re.IGNORECASE)
    whole = re.compile(rf"({address}(?:/{_PATH})?(?:#[\w./%~+-]*)?)(?:{_QUERY})?", re.IGNORECASE)

    def break_unlisted(match: re.Match[str]) -> str:
        start, near = match.start(), None
        if match[0] == "]":
            near = _NEAR.match(text, match.end())
            opened = re.compile(r"\(\s{0,9}<?").match(text, match.end())
            assert opened is not None, "only looked at before a parenthesis"
            start = opened.end()
        return match[0] if near or listed.match(text, start) else f"{match[0]}{BREAK}"

    text = whole.sub(r"\1", text)
    text = _BARE.sub(rf"\g<0>{BREAK}", _REFERENCE.sub(rf"\g<0>{BREAK}", text))
    text = _DESTINATION.sub(break_unlisted, text)
    return _SCHEME.sub(break_unlisted, text)


def break_foreign_threads(text: str, repository: str, hosts: Collection[str]) -> str:
    """Break each link to an issue, pull request, discussion or commit of another repository than `repository`."""
    # The scheme of the address, and the repository that follows it.
    kinds = r"([\w.%-]{1,100}/[\w.%-]{1,100})/(?:issues|pulls?|discussions|commits?)/"
    threads = re.compile(rf"\b(https?:)(?=//(?:{_any_of(hosts)})/{kinds})", re.IGNORECASE)
    return threads.sub(
        lambda match: match[0] if match[2].lower() == repository.lower() else f"{match[1]}{BREAK}", text
    )


def _any_of(hosts: Collection[str]) -> str:
    return "|".join(map(re.escape, sorted(hosts)))
