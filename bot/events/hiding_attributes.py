"""Leave out text of elements that an author meant to hide by an attribute.

GitHub's sanitizer removes the attribute, so its page shows the text. Nobody writes it there for people, though.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_HIDING = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?![.\d])|font-size:0(?![.\d])"
    r"|(?:left|top|right|text-indent|margin-left):-\d{3,}"
)
_NO_STYLE = re.compile(r"<!--|-->|\s")
_VOID = frozenset(["area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"])


@dataclass(slots=True)
class HiddenElement:
    """Its start tag as written, the line of its source, and its text."""

    tag: str
    line: int
    text: str = ""


def without_hidden_elements(source: str, shown: str) -> tuple[str, list[int]]:
    """Return `shown` without the text of the elements of its `source` that an attribute hides, and their lines.

    A text is removed if it is there once: in code the page shows the element's tag, too, and a text that is there more
    often would take one that people read with it.
    """
    lines: list[int] = []
    for element in _hidden_elements(source):
        letters = [(offset, letter) for offset, letter in enumerate(shown) if letter.isalnum()]
        page = "".join(letter for _, letter in letters)
        text = "".join(filter(str.isalnum, element.text))
        if not text or page.count(text) != 1 or element.tag in shown:
            continue
        start = page.index(text)
        shown = shown[: letters[start][0]] + shown[letters[start + len(text) - 1][0] + 1 :]
        lines.append(element.line)
    return shown, lines


def _hidden_elements(source: str) -> list[HiddenElement]:
    if "hidden" not in (lower := source.lower()) and "style" not in lower:
        return []
    finder = _Finder()
    finder.feed(source)
    finder.close()
    return finder.found[:_MOST]


_MOST = 50
"""Elements of one text, each of which is looked for in all of it."""


class _Finder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[HiddenElement] = []
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
            self.found.append(HiddenElement(self.get_starttag_text() or "", self.getpos()[0]))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= bool(self._depth and tag == self._name)

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.found[-1].text += data
