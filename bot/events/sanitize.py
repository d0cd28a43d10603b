"""Remove from a text what its readers cannot see: invisible characters and, where no HTML of it exists, HTML comments.

What GitHub's page shows of an issue, a review or a comment is read from its HTML: `page_text.py`. Linear in the text's
length.
"""

import re
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from types import MappingProxyType
from typing import NamedTuple

# Controls but tab and line ends; soft hyphen, fillers, bidi marks, zero-width and word joiners, byte order
# mark, interlinear marks, tag characters (the flags of England, Scotland and Wales lose them too) with the variation
# selectors beyond the first sixteen, musical format characters. Lone surrogates cannot be encoded at all.
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_INVISIBLE_ASCII = {code: None for code in range(128) if _INVISIBLE.match(chr(code))}
# Joiners and selectors but those that real text has: a joiner between two letters or emoji, the selector of an emoji
# before it or none, one that tells an emoji from a letter after either, or after the base of a keycap. A longer run, or
# another selector, spells out hidden bytes.
_RUN, _WIDE = "[\u200c\u200d\ufe00-\ufe0f]", r"[^\x00-\xa0\s]"
_UNREAL_RUN = re.compile(
    f"{_RUN}(?<!{_RUN}{_RUN})(?!(?<={_WIDE}[\u200c\u200d])(?={_WIDE})(?!{_RUN})"
    f"|(?<={_WIDE}\ufe0f)\u200d(?={_WIDE})(?!{_RUN})"
    f"|(?:(?<={_WIDE}[\ufe0e\ufe0f])|(?<=[0-9#*][\ufe0e\ufe0f]))(?!{_RUN})){_RUN}*"
)
COMMENT, CHARACTER = "HTML comment", "invisible character"

_CLOSE = "-->"
# `<!-->` and `<!--->` are whole comments: the closing may share the opening's dashes.
_COMMENT = re.compile(r"<!(?=--).*?-->", re.DOTALL)
# GitHub hides everything after an unterminated comment that opens a block, and shows one in running text.
_OPENS_BLOCK = re.compile(r"^[ \t>*+\-0-9.)]*+(?=<!--)", re.MULTILINE)
_MAX_PASSES = 4


class CleanText(NamedTuple):
    """A text as its readers see it, and how many of each kind were removed from it."""

    text: str
    hidden: Mapping[str, int] = MappingProxyType({})


def clean(text: str) -> CleanText:
    """Remove invisible characters and HTML comments, in code too, until nothing changes: a removal can join the parts
    of another comment. A text built to change more often than `_MAX_PASSES` times has each remaining `<` escaped."""
    hidden = Counter[str]()
    for _ in range(_MAX_PASSES):
        before, visible_text = text, visible(text)
        hidden[CHARACTER] += len(text) - len(visible_text)
        text = _without_comments(visible_text, hidden)
        if text == before:
            break
    else:
        text = text.replace("<", "&lt;")
    return CleanText(text, +hidden)


def visible(text: str) -> str:
    """Remove invisible characters and keep HTML comments, for text whose source people read."""
    if text.isascii():
        return text.translate(_INVISIBLE_ASCII)
    return _UNREAL_RUN.sub("", _INVISIBLE.sub("", text))


def _without_comments(text: str, hidden: Counter[str]) -> str:
    # No comment ends after the last `-->`; searching there for each opening would take quadratic time.
    ended = text.rfind(_CLOSE) + len(_CLOSE) if _CLOSE in text else 0
    shown, count = _COMMENT.subn("", text[:ended])
    opening = _OPENS_BLOCK.search(text, ended)
    hidden[COMMENT] += count + (opening is not None)
    return shown + text[ended : opening.end() if opening else None]


FORMULA, DIAGRAM, MAP = "invisible formula", "diagram comment", "map source"

_MAPS = frozenset({"geojson", "topojson", "stl"})
_DIAGRAM = re.compile(
    r"%%\{(?:[^%]|%(?!%))*+(?:%%|\Z)|^[ \t>]*+---[ \t]*\n.*?^[ \t>]*+---[ \t]*\n"
    r"|^[ \t>]*+acc(?:Title|Descr)\s*+\{[^{}]*+\}"
    r"|^[ \t>]*+(?:%%|accTitle\b|accDescr\b|click\b)[^\n]*+\n?",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_WHITE = r"\{\s*+(?:white|snow|ivory|transparent|#f{3,8})\s*+\}"
_INVISIBLE_MATH = re.compile(
    rf"\\(?:[hv]?phantom|label|cssId|class|style)\s*+(?:{_GROUP}|\\?\w*+)|\\(?:text)?color\s*+{_WHITE}\s*+(?:{_GROUP}|[^$}}]*+)"
    r"|(?<!\\)%[^\n$]*+",
    re.IGNORECASE,
)
_MATH = re.compile(r"\$\$[^$]{1,10000}+\$\$|\$(?=\S)[^$\n]{1,2000}+(?<!\s)\$(?!\w)")


def drawn_code(language: str, code: str) -> tuple[str, str, int]:
    """Return a block of code as its drawing shows it, with the kind and the number of what is not shown."""
    if language in _MAPS:
        return "", MAP, 1 if code.strip() else 0
    if language == "mermaid":
        shown, count = _DIAGRAM.subn("", code)
        return shown, DIAGRAM, count
    if language == "math":
        shown, count = _INVISIBLE_MATH.subn("", code)
        return shown, FORMULA, count
    return code, "", 0


def drawn_formulas(text: str) -> tuple[str, int]:
    """Return `text`, in which code stands between NUL characters, without the invisible parts of its formulas, and the
    number of these."""
    count = 0

    def without_invisible(formula: re.Match[str]) -> str:
        nonlocal count
        shown, parts = _INVISIBLE_MATH.subn("", formula[0])
        count += parts
        return shown

    parts = text.split("\0")
    parts[::2] = (_MATH.sub(without_invisible, part) for part in parts[::2])
    return "\0".join(parts), count


_HIDING = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?![.\d])|font-size:0(?![.\d])"
    r"|(?:left|top|right|text-indent|margin-left):-\d{3,}"
)
_NO_STYLE = re.compile(r"<!--|-->|\s")
_VOID = frozenset(["area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])


def without_hidden_elements(source: str, shown: str) -> tuple[str, int]:
    """Return `shown` without the text of the elements of its `source` that an attribute hides, and their number.

    A text is removed if it is there once: in code the page shows the element's tag, too, and a text that is there more
    often would take one that people read with it.
    """
    count = 0
    if "hidden" not in (lower := source.lower()) and "style" not in lower:
        return shown, count
    finder = _Finder()
    finder.feed(source)
    finder.close()
    for tag, hidden in finder.found[:_MOST]:
        letters = [(offset, letter) for offset, letter in enumerate(shown) if letter.isalnum()]
        page = "".join(letter for _, letter in letters)
        text = "".join(filter(str.isalnum, "".join(hidden)))
        if not text or page.count(text) != 1 or tag in shown:
            continue
        start = page.index(text)
        shown = shown[: letters[start][0]] + shown[letters[start + len(text) - 1][0] + 1 :]
        count += 1
    return shown, count


_MOST = 50
"""Elements of one text, each of which is looked for in all of it."""


class _Finder(HTMLParser):
    """Finds the hidden elements: the start tag of each as written, and its texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, list[str]]] = []
        self._name = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in reversed(attrs)}
        if self._depth:
            self._depth += tag == self._name
        elif tag not in _VOID and (
            "hidden" in attributes or _HIDING.search(_NO_STYLE.sub("", attributes.get("style", "").lower()))
        ):
            self._name, self._depth = tag, 1
            self.found.append((self.get_starttag_text() or "", []))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= bool(self._depth and tag == self._name)

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.found[-1][1].append(data)
