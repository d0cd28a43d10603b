"""Leave out what GitHub keeps in a page and does not show, and text that an author meant to hide.

GitHub draws diagrams, maps and formulas without showing all of their source; colours in a diagram are not checked. Its
sanitizer removes attributes that hide an element, so its page shows the text, but nobody writes it there for people.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

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
_INVISIBLE = re.compile(
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
        shown, count = _INVISIBLE.subn("", code)
        return shown, FORMULA, count
    return code, "", 0


def drawn_formulas(text: str) -> tuple[str, int]:
    """Return `text`, in which code stands between NUL characters, without the invisible parts of its formulas, and the
    number of formulas that had any."""
    if "$" not in text:
        return text, 0
    count = 0

    def without_invisible(formula: re.Match[str]) -> str:
        nonlocal count
        shown, parts = _INVISIBLE.subn("", formula[0])
        count += parts > 0
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
