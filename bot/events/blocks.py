"""Parse the blocks of a text as GitHub does (CommonMark 0.29 with tables and footnotes), as far as needed to know where
code begins and ends, and which lines form one paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

_MOST = 20_000
"""Maximum number of lines, each counted once for each block that it is in."""

_DEEPEST = 50
_QUOTE, _NOTE, _IN_NOTE = -1, -2, 4

# Lines outside of any block that begin none.
_PLAIN = re.compile(r"(?:(?:[^\W\d_]|`(?!``))[^\n]*+(?:\n|\Z))++")
_BLANKS = re.compile(" *+")
_FENCE = re.compile(r"(`{3,}+)[^`]*+\Z|(~{3,}+)")
_CLOSER = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}(?: |\Z)")
_UNDERLINE = re.compile(r"(?:=++|-++) *+\Z")
_RULE = re.compile(r"(?:(?:\* *+){3,}+|(?:_ *+){3,}+|(?:- *+){3,}+)\Z")
_DELIMITERS = re.compile(r"\|? *+:?-++:? *+(?:\| *+:?-++:? *+)*+\|? *+\Z")
_FOOTNOTE = re.compile(r"\[\^[^\] ]++\]: *+")
_MARKER = re.compile(r"([-+*]|(\d{1,9})[.)])(?:( ++)|\Z)", re.ASCII)

_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    "|menuitem|nav|noframes|ol|optgroup|option|p|param|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_HTML = re.compile(
    rf"<(?:((?i:script|pre|style)(?=[ >]|\Z))|(!--)|(\?)|(![A-Z])|(!\[CDATA\[)|/?(?i:{_NAMES})(?= |/?>|\Z))"
)
# A line that contains this ends each of the first five, an empty line the others.
_HTML_ENDS = (
    re.compile("</(?:script|pre|style)>", re.IGNORECASE),
    re.compile("-->"),
    re.compile(r"\?>"),
    re.compile(">"),
    re.compile("]]>"),
)
# Versions of the parser differ on these.
_HTML_IN_DOUBT = re.compile("<(?:/?(?i:textarea|source|search)(?![A-Za-z0-9-])|![a-z])")
_VALUE = r"""(?:[^ "'=<>`]++|'[^']*+'|"[^"]*+")"""
_TAG_ALONE = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?: ++[A-Za-z_:][A-Za-z0-9_.:-]*+(?: *+= *+{_VALUE})?+)*+ *+/?"
    r"|/[A-Za-z][A-Za-z0-9-]*+ *+)> *+\Z"
)


# A tag that a block of HTML leaves open takes what follows the block into it.
_VALUES = r"""(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+")"""
_NOTHING_OPEN = re.compile(
    rf"(?:[^<]++|<(?![A-Za-z/!?])|<[A-Za-z][A-Za-z0-9-]*+(?:\s++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:\s*+=\s*+{_VALUES})?+)*+\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>|<!--(?!-?>)(?:[^-]++|-(?!->))*+-->|<(?:\?|!(?!--))[^>]*+>)*+"
)


class Block(NamedTuple):
    """Of a text, from `start` to `end`: a fenced block with its fences, or lines of running text."""

    start: int
    end: int
    is_code: bool


class _Leaf(Enum):
    NONE = auto()
    PARAGRAPH = auto()
    EITHER = auto()
    """A paragraph, or a table."""
    FENCE = auto()
    HTML = auto()


class _Doubt(Exception):
    """The rest depends on syntax that is not parsed here."""


def blocks_of(text: str) -> Iterator[Block]:
    """Yield fenced blocks and running text, in order, while they are certain; other blocks are omitted."""
    return _Blocks(text.replace("\r\n", " \n").replace("\r", "\n")).read()


class _Blocks:
    def __init__(self, text: str) -> None:
        self._text = text
        self._containers: list[int] = []
        """The indent of the content of each, or `_QUOTE` or `_NOTE`."""
        self._is_empty = False
        """The last of them is still empty."""
        self._leaf = _Leaf.NONE
        self._start = -1
        """Where the running text or the fenced block began."""
        self._fence = ""
        self._html_at = 0
        """Where the block of HTML began, and what ends it but an empty line."""
        self._html_ends: re.Pattern[str] | None = None
        self._may_be_links = False
        """The paragraph may consist of link definitions only."""

    def read(self) -> Iterator[Block]:
        text, at, left = self._text, 0, _MOST
        while at < len(text):
            if not self._containers and (further := self._skipped(at)) > at:
                at = further
                continue
            left -= 1 + len(self._containers)
            if left < 0:
                return
            end = text.find("\n", at) + 1 or len(text)
            try:
                yield from self._line(text[at:end].removesuffix("\n").expandtabs(4), at, end)
            except _Doubt:
                return
            at = end
        yield from self._closed(at)

    def _skipped(self, at: int) -> int:
        """Return the end of the lines from `at` on that need no parsing."""
        if self._leaf is _Leaf.FENCE:
            for closer in _CLOSER.finditer(self._text, at):
                if closer[1].startswith(self._fence):
                    return closer.start()
            return len(self._text)
        if self._leaf in (_Leaf.NONE, _Leaf.PARAGRAPH) and (plain := _PLAIN.match(self._text, at)):
            self._run_on(at)
            if self._leaf is _Leaf.NONE:
                self._leaf, self._may_be_links = _Leaf.PARAGRAPH, False
            return plain.end()
        return at

    def _line(self, line: str, start: int, end: int) -> Iterator[Block]:
        at, matched = self._matched(line)
        whole = matched == len(self._containers)
        self._is_empty = False
        if self._leaf in (_Leaf.FENCE, _Leaf.HTML):
            if whole:
                yield from self._continue_leaf(line, at, end)
                return
            if self._leaf is _Leaf.HTML:
                self._end_html(start)
            yield from self._closed(start)
        in_paragraph, opened, kind = self._leaf is not _Leaf.NONE, False, ""
        while (first := _first(line, at)) < len(line) and first - at < 4:
            continues = in_paragraph and whole
            if kind := self._kind(line, first, continues=continues):
                break
            if not (content := self._container(line, at, first, continues=continues)):
                break
            indent, at = content
            self._containers[matched:] = [indent]
            matched = len(self._containers)
            if matched > _DEEPEST:
                raise _Doubt
            self._leaf, in_paragraph, whole, opened = _Leaf.NONE, False, True, True
        if first == len(line) and opened:
            self._is_empty = True
        elif first == len(line) or (first - at >= 4 and not in_paragraph):
            yield from self._closed(start)
            del self._containers[matched:]
        elif kind == "underline":
            if self._may_be_links or self._leaf is _Leaf.EITHER:
                raise _Doubt
            self._leaf = _Leaf.NONE
        elif kind in ("fence", "html"):
            yield from self._closed(start)
            del self._containers[matched:]
            self._open(line, first, start, end, kind)
        elif kind:
            del self._containers[matched:]
            self._leaf = _Leaf.NONE
            self._run_on(start)
        elif in_paragraph:
            if not whole and self._leaf is _Leaf.EITHER:
                raise _Doubt
            if whole and first - at < 4 and _DELIMITERS.match(line, first):
                self._leaf = _Leaf.EITHER
        else:
            del self._containers[matched:]
            self._run_on(start)
            self._leaf, self._may_be_links = _Leaf.PARAGRAPH, line[first] == "["

    def _matched(self, line: str) -> tuple[int, int]:
        """Return where the line's content begins, and how many containers it belongs to."""
        at = matched = 0
        for indent in self._containers:
            first = _first(line, at)
            if indent == _QUOTE:
                if first - at > 3 or not line.startswith(">", first):
                    break
                at = first + (2 if line.startswith(" ", first + 1) else 1)
            elif first - at >= (needed := _IN_NOTE if indent == _NOTE else indent):
                at += needed
            elif first < len(line) or (self._is_empty and matched == len(self._containers) - 1):
                break
            else:
                at = first
            matched += 1
        return at, matched

    def _continue_leaf(self, line: str, at: int, end: int) -> Iterator[Block]:
        """Read one more line of a fenced block, or of HTML."""
        if self._leaf is _Leaf.FENCE:
            closer = _CLOSER.match(line[at:])
            if closer and closer[1].startswith(self._fence):
                yield from self._closed(end)
        elif self._html_ends.search(line, at) if self._html_ends else _first(line, at) == len(line):
            self._end_html(end)

    def _container(self, line: str, at: int, first: int, *, continues: bool) -> tuple[int, int] | None:
        """Return the indent of a container that begins here, and where its content begins."""
        if line[first] == ">":
            return _QUOTE, first + (2 if line.startswith(" ", first + 1) else 1)
        if note := _FOOTNOTE.match(line, first):
            return _NOTE, note.end()
        if not (marker := _MARKER.match(line, first)):
            return None
        if continues and (marker.end() == len(line) or (marker[2] and int(marker[2]) != 1)):
            if self._leaf is _Leaf.EITHER:
                raise _Doubt
            return None
        blanks = len(marker[3] or "")
        width = len(marker[1]) + (blanks if blanks < 5 and marker.end() < len(line) else 1)
        return first - at + width, min(first + width, len(line))

    def _kind(self, line: str, first: int, *, continues: bool) -> str:
        """Return the kind of leaf block that begins here, or that ends the paragraph; empty for none."""
        if line[first] == "<":
            return "html" if self._is_html(line, first, continues=continues) else ""
        if _FENCE.match(line, first):
            return "fence"
        if continues and _UNDERLINE.match(line, first):
            return "rule" if self._leaf is _Leaf.EITHER and _RULE.match(line, first) else "underline"
        return "rule" if _HEADING.match(line, first) or _RULE.match(line, first) else ""

    def _is_html(self, line: str, first: int, *, continues: bool) -> bool:
        if _HTML_IN_DOUBT.match(line, first):
            raise _Doubt
        if _HTML.match(line, first):
            return True
        alone = bool(_TAG_ALONE.match(line, first))
        if alone and continues and self._leaf is _Leaf.EITHER:
            raise _Doubt
        return alone and not continues

    def _open(self, line: str, first: int, start: int, end: int, kind: str) -> None:
        if kind == "fence":
            fence = _FENCE.match(line, first)
            self._leaf, self._start, self._fence = _Leaf.FENCE, start, (fence[1] or fence[2]) if fence else ""
            return
        html = _HTML.match(line, first)
        self._html_ends = _HTML_ENDS[html.lastindex - 1] if html and html.lastindex else None
        self._leaf, self._html_at = _Leaf.HTML, start
        if self._html_ends and self._html_ends.search(line, first):
            self._end_html(end)

    def _end_html(self, end: int) -> None:
        self._leaf = _Leaf.NONE
        whole = _NOTHING_OPEN.match(self._text, self._html_at, end)
        if not whole or whole.end() < end:
            raise _Doubt

    def _run_on(self, start: int) -> None:
        """Begin a line of running text at `start`."""
        if self._start < 0:
            self._start = start

    def _closed(self, at: int) -> Iterator[Block]:
        """Yield the open block, which ends here; containers stay."""
        is_code = self._leaf is _Leaf.FENCE
        # A footnote without a reference is not displayed, nor is the code in it.
        if self._start >= 0 and not (is_code and _NOTE in self._containers):
            yield Block(self._start, at, is_code)
        self._start, self._leaf = -1, _Leaf.NONE


def _first(line: str, at: int) -> int:
    """Return the position of the first character from `at` on that is no blank."""
    blanks = _BLANKS.match(line, at)
    return blanks.end() if blanks else at
