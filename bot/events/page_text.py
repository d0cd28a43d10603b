"""Read the text that GitHub's page shows, from the HTML of an issue, a review or a comment, as Markdown.

GitHub has rendered and sanitized the HTML, so comments, unused definitions, surplus cells and the like are not in it.
What it keeps and a page does not show is left out here: titles and alternative texts, links without text, elements that
are hidden or hold no text for people. Links and images keep their address. Linear in the length of the HTML.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from itertools import groupby

from bot.events.sanitize import (
    CHARACTER,
    COMMENT,
    FORMULA,
    CleanText,
    clean,
    drawn_code,
    drawn_formulas,
    visible,
    without_hidden_elements,
)


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


ELEMENT, LINK, TITLE = "off-screen element", "empty link", "alternative or title text"
WORDS = "hidden word"

_VOID = _names("area base br col embed hr img input link meta param source track wbr")
# No page shows what is in these as text; a `picture` shows its image.
_WITHOUT_TEXT = _names(
    "audio canvas datalist head iframe math noembed noframes noscript object picture rp script select style svg"
    " template textarea title video"
)
_BLOCKS = _names(
    "address article aside body caption center dd dialog div dl dt fieldset figcaption figure footer form header html"
    " main nav p section"
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 9))
_MARKS = {
    **dict.fromkeys(("b", "strong"), "**{}**"),
    **dict.fromkeys(("em", "i"), "*{}*"),
    **dict.fromkeys(("del", "s", "strike"), "~~{}~~"),
    "sup": "<sup>{}</sup>",
    "sub": "<sub>{}</sub>",
}
_FRAMES = {"summary": "<summary>{}</summary>", "details": "<details>\n{}\n</details>"}
# Elements that are more than the pieces in them.
_JOINED = _names("a blockquote li ol table td th tr ul") | _BLOCKS | _HEADINGS | {*_MARKS, *_FRAMES}
# GitHub's own styles: its sanitizer removes everybody else's, so another one means that the text may be off the screen.
_SHOWN_STYLE = re.compile(
    r"\s*+(?:(?:max-width:\s*+100%|display:\s*+(?:inline-block|inline|block|contents)|text-align:\s*+\w++)\s*+;?\s*+)*+"
)
# Of a `lang` attribute, or else of the class of the element around it.
_LANGUAGE = re.compile(r"(?:^|\bhighlight-(?:source|text)-)([\w+#./-]{1,20})(?![\w+#./-])")
# A name that GitHub made a link of: an account, a team, an issue.
_REFERENCE = re.compile(r"@[\w/-]+|[\w./-]*(?:#|GH-)\d+")
# A signed address opens a private file to whoever has it, and of a proxied image people see no address.
_SIGNED = re.compile(r"\Ahttps://private-user-images\.githubusercontent\.com/|/storage/user/\d+/files/")
_PROXY = "https://camo.githubusercontent.com/"
_SPACE = re.compile(r"[ \t\r\f]+")
_TICKS = re.compile("`+")
_WORD = re.compile(r"[^\W_]{3,}")
# Tags, addresses, names of emoji, alternative texts.
_NO_WORDS = re.compile(r"</?[A-Za-z][^<>]*>|\w{1,20}://[^\s<>]*|:[\w+-]+:|!\[[^\[\]]{0,500}\]")

Attributes = Mapping[str, str]
Piece = tuple[str, str]
_INLINE, _BLOCK = "inline", "block"
"""Kinds of pieces, which are a kind and a text; the others are `list`, `li`, `row`, `td` and `th`."""

_DEEPEST = 100
"""Open elements; those within more leave their text to them, since each would copy it once more."""


def page_text(html: str) -> CleanText:
    """Return the text of GitHub's `html`, and what a page does not show of it. Code blocks are fenced, quotations begin
    with `>`, and lists, task lists and tables are Markdown's."""
    reader = _PageReader()
    reader.feed(html)
    reader.close()
    return reader.result()


def shown_text(body: str, html: str) -> CleanText:
    """Return `page_text(html)` without what its source `body` hides by attributes, and what of the source is not in it:
    comments, and the number of words."""
    page = page_text(html)
    text, elements = without_hidden_elements(body, page.text)
    rest = unescape(_NO_WORDS.sub(" ", clean(body).text))
    words = Counter(_WORD.findall(rest.casefold()))
    count = sum(words[word] for word in words.keys() - {*_WORD.findall(text.casefold())})
    comments = Counter({COMMENT: body.count("<!--") - text.count("<!--")})
    return CleanText(text, comments + Counter(page.hidden) + Counter({ELEMENT: elements, WORDS: count}))


@dataclass
class _Element:
    tag: str
    attributes: Attributes = field(default_factory=dict)
    shown: bool = True
    pieces: list[Piece] = field(default_factory=list)
    items: int = 0


class _PageReader(HTMLParser):
    """Collects the pieces of each open element; an element that ends becomes a piece of its parent."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open = [_Element("")]
        self._tags: Counter[str] = Counter()
        self._hidden: Counter[str] = Counter()
        self._drawing = ""

    def result(self) -> CleanText:
        while len(self._open) > 1:
            self._end()
        text, self._hidden[FORMULA] = drawn_formulas(_flow(self._open[0].pieces))
        text = text.replace("\0", "")
        shown = visible(text)
        self._hidden[CHARACTER] = len(text) - len(shown)
        return CleanText(shown, +self._hidden)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in reversed(attrs)}
        parent = self._open[-1]
        if (code := attributes.get("data-plain")) is not None and self._drawing:
            section = next(one for one in reversed(self._open) if one.tag == "section")
            section.pieces.append((_BLOCK, self._code_block(self._drawing, code)))
        if parent.shown or (parent.tag == "picture" and tag == "img"):
            self._hidden[TITLE] += bool(attributes.get("title")) + bool(
                tag == "img" and attributes.get("alt")
            )
            self._add_empty(tag, attributes)
        if tag in _VOID:
            return
        self._tags[tag] += 1
        shown = parent.shown and self._shows_text(tag, attributes)
        pieces = [] if len(self._open) < _DEEPEST else parent.pieces
        self._open.append(_Element(tag, attributes, shown, pieces))
        if tag == "section":
            self._drawing = attributes.get("data-type", "")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if not self._tags[tag]:
            return
        while self._open[-1].tag != tag:
            self._end()
        self._end()

    def handle_data(self, data: str) -> None:
        element = self._open[-1]
        if not element.shown or self._drawing:
            return
        data = data.replace("\0", "")
        if not self._tags["pre"]:
            data = _SPACE.sub(" ", data)
            if element.pieces and element.pieces[-1][1].endswith("\n"):
                data = data.lstrip("\n ")
        element.pieces.append((_INLINE, data))

    def _add_empty(self, tag: str, attributes: Attributes) -> None:
        """Add an element that has no content."""
        pieces = self._open[-1].pieces
        if tag == "br":
            pieces.append((_INLINE, "\n"))
        elif tag == "hr":
            pieces.append((_BLOCK, "---"))
        elif tag == "input" and attributes.get("type") == "checkbox":
            pieces.append((_INLINE, "[x]" if "checked" in attributes else "[ ]"))
        elif tag == "img":
            address = attributes.get("data-canonical-src") or attributes.get("src", "")
            pieces.append((_INLINE, f"![]({_unsigned(address)})"))
        elif tag == "video" and attributes.get("src"):
            pieces.append((_INLINE, f"[video]({_unsigned(attributes['src'])})"))

    def _shows_text(self, tag: str, attributes: Attributes) -> bool:
        if tag in _WITHOUT_TEXT:
            return False
        # The quotation in an e-mail is folded, and shown by a click.
        if "email-hidden-reply" in attributes.get("class", "").split():
            return True
        shown = "hidden" not in attributes and _SHOWN_STYLE.fullmatch(attributes.get("style", "")) is not None
        self._hidden[ELEMENT] += not shown
        return shown

    def _end(self) -> None:
        element = self._open.pop()
        self._tags[element.tag] -= 1
        parent = self._open[-1]
        if element.tag == "section":
            self._drawing = ""
        elif self._drawing:
            return
        if element.pieces is parent.pieces:
            return
        # Of what is not shown a picture has an image.
        if not element.shown or self._tags["pre"]:
            parent.pieces += element.pieces
        else:
            parent.pieces += self._ended(element, parent)

    def _ended(self, element: _Element, parent: _Element) -> list[Piece]:
        """Return the pieces that an element is to its parent; its own ones if it changes nothing."""
        tag, attributes = element.tag, element.attributes
        if tag in ("pre", "code"):
            raw = "".join(text for _, text in element.pieces)
            if tag == "code":
                # Within the marks that `drawn_formulas` knows code by.
                space, ticks = " " if "`" in (raw[:1], raw[-1:]) else "", _ticks(raw, 1)
                return [(_INLINE, f"\0{ticks}{space}{raw}{space}{ticks}\0" if raw else "")]
            named = attributes.get("lang") or f" {parent.attributes.get('class', '')}"
            language = _LANGUAGE.search(named)
            return [(_BLOCK, self._code_block(language[1] if language else "", raw))]
        if tag not in _JOINED:
            return element.pieces
        text = _flow(element.pieces)
        if tag == "a":
            return self._link(attributes, text)
        if tag == "li":
            number = _number(parent.attributes.get("start", "1")) + parent.items
            parent.items += 1
            return [("li", _indented(f"{number}. " if parent.tag == "ol" else "- ", text))]
        if tag in ("td", "th"):
            return [(tag, text.replace("|", "\\|").replace("\n", " "))]
        if tag == "tr":
            return _row(element.pieces)
        if not text:
            return []
        if tag == "blockquote" or "email-quoted-reply" in attributes.get("class", ""):
            return [(_BLOCK, _indented("> ", text, "> "))]
        if tag in _HEADINGS:
            return [(_BLOCK, f"{'#' * int(tag[1])} {' '.join(text.split())}")]
        if tag in ("ul", "ol"):
            return [("list", text)]
        if tag in _MARKS:
            return [(_INLINE, _MARKS[tag].format(text))]
        return [(_BLOCK, _FRAMES.get(tag, "{}").format(text))]

    def _link(self, attributes: Attributes, text: str) -> list[Piece]:
        address = _unsigned(attributes.get("href", ""))
        if not text:
            self._hidden[LINK] += bool(address) and not address.startswith("#")
            return []
        shown = (address, address.removeprefix("mailto:"), address.removeprefix("http://"), f"![]({address})")
        is_bare = text in shown or address.startswith(("#", _PROXY)) or _REFERENCE.fullmatch(text)
        return [(_INLINE, text if is_bare or not address else f"[{text}]({address})")]

    def _code_block(self, language: str, code: str) -> str:
        shown, kind, count = drawn_code(language, code.replace("\0", "").strip("\n") + "\n")
        self._hidden[kind] += count
        fence = _ticks(shown, 3)
        return f"\0{fence}{language}\n{shown}{fence}\0"


def _unsigned(address: str) -> str:
    path, _, query = address.partition("?")
    return path if query and _SIGNED.search(path) else address


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 1


def _indented(marker: str, text: str, further: str = "") -> str:
    """Return `text` with `marker` before its first line, and `further` or as many blanks before the others."""
    further = further or " " * len(marker)
    return marker + text.replace("\n", f"\n{further}").replace(f"\n{further}\n", f"\n{further.rstrip()}\n")


def _ticks(code: str, least: int) -> str:
    """Return at least so many backticks, and more than there are in a row in `code`."""
    return "`" * max(least, *(len(ticks) + 1 for ticks in _TICKS.findall(code)), 0)


def _flow(pieces: Iterable[Piece]) -> str:
    """Join pieces: blocks with an empty line between them, items and rows without one."""
    parts: list[str] = []
    before = ""
    for kind, group in groupby(pieces, key=lambda piece: piece[0]):
        texts = [text for _, text in group]
        if kind == _INLINE:
            texts = ["".join(texts).strip().replace(" \n", "\n")]
        for text in filter(None, texts):
            is_tight = before == kind in ("li", "row") or (before == _INLINE and kind == "list")
            parts += ("\n" if is_tight else "\n\n" if parts else "", text)
            before = kind
    return "".join(parts)


def _row(pieces: Iterable[Piece]) -> list[Piece]:
    cells = [piece for piece in pieces if piece[0] in ("td", "th")]
    if not cells:
        return []
    rule = f"\n|{'---|' * len(cells)}" if all(kind == "th" for kind, _ in cells) else ""
    return [("row", f"| {' | '.join(text for _, text in cells)} |{rule}")]
