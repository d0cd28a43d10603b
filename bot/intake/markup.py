"""Markup that a page does not show: alternative texts and titles, elements that are off the screen, and entities that
stand for nothing. Outside of code, where all of it is seen as it is written. A folded `<details>` is one click away
from everybody, and stays.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

Found = tuple[str, int]
"""What was taken out, and the line, from 1, that it stood on."""

ELEMENT, TEXT, ENTITY = "off-screen element", "alternative or title text", "invisible character reference"

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
_SPAN = re.compile(r"(?<!`)(`{1,9})(?!`)[^\n]*?(?<!`)\1(?!`)")
_ATTRIBUTES = r"""(?:\s++[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>=]++))?+)"""
_TAG = re.compile(rf"<(/?)([A-Za-z][\w-]{{0,39}})({_ATTRIBUTES}*+)\s*+/?>")
# One without attributes is seen, and has nothing that is not.
_TAG_WITH_ATTRIBUTES = re.compile(rf"<(/?)([A-Za-z][\w-]{{0,39}}+)({_ATTRIBUTES}++)\s*+/?>")
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?(?![.\d])"
    r"|font-size\s*:\s*0(?![.\d])|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""\s++([^\s"'<>/=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>=]++))?+""")
_VOID = frozenset({"img", "br", "hr", "input", "meta", "link", "source", "wbr", "area", "col", "embed"})
_UNSHOWN = re.compile(r"alt|title|aria-[\w-]+|data-[\w-]+|placeholder|summary|label|content")
_IMAGE = re.compile(r"!\[((?:[^\[\]\\\n]|\\.){1,2000})\](?=[\[(])")
_TITLE = re.compile(r"""(\]\(\s{0,9}[^\s()]{1,2000})\s++(?:"[^"\n]{1,2000}"|'[^'\n]{1,2000}')(?=\s{0,9}\))""")
_ENTITY = re.compile(r"&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,30});")


def without_hidden_markup(text: str, visible: Callable[[str], str]) -> tuple[str, list[Found]]:
    """`text` without it, and what there was. `visible` takes characters out that show nothing."""
    found: list[Found] = []
    if "<" not in text and "&" not in text and "](" not in text and "![" not in text:
        return text, found
    parts: list[str] = []
    line = 1
    for is_code, part in _parts(text):
        parts.append(part if is_code else _cleaned(part, line, visible, found))
        line += part.count("\n")
    return "".join(parts), found


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """The text in order, each part with whether it is code: a fenced block, or a span on one line."""
    if "`" not in text and "~~~" not in text:
        yield False, text
        return
    for is_block, part in _blocks(text):
        at = 0
        for span in _SPAN.finditer(part) if not is_block else ():
            yield False, part[at : span.start()]
            yield True, span.group()
            at = span.end()
        yield is_block, part[at:]


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    part: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if fence:
            part.append(line)
            if found and found.group(1).startswith(fence) and not line[found.end() :].strip():
                yield True, "".join(part)
                part, fence = [], ""
        elif found:
            yield False, "".join(part)
            part, fence = [line], found.group(1)
        else:
            part.append(line)
    yield bool(fence), "".join(part)


class _Lines:
    """The lines of places in a text that are asked for from its beginning to its end."""

    def __init__(self, text: str, first: int) -> None:
        self._text, self._line, self._at = text, first, 0

    def of(self, position: int) -> int:
        self._line += self._text.count("\n", self._at, position)
        self._at = position
        return self._line


def _cleaned(text: str, line: int, visible: Callable[[str], str], found: list[Found]) -> str:
    text = _without_elements(text, line, found)

    shown: dict[str, bool] = {}

    def entity(match: re.Match[str]) -> str:
        written = match.group()
        if written not in shown:
            meant = html.unescape(written)
            shown[written] = meant == written or meant.isspace() or visible(f"a{meant}a") != "aa"
        if shown[written]:
            return written
        found.append((ENTITY, lines.of(match.start())))
        return ""

    def image(match: re.Match[str]) -> str:
        found.append((TEXT, lines.of(match.start())))
        return "![]"

    def title(match: re.Match[str]) -> str:
        found.append((TEXT, lines.of(match.start())))
        return match.group(1)

    for pattern, replaced in ((_ENTITY, entity), (_IMAGE, image), (_TITLE, title)):
        lines = _Lines(text, line)
        text = pattern.sub(replaced, text)
    return text


def _without_elements(text: str, line: int, found: list[Found]) -> str:
    parts: list[str] = []
    at = 0
    lines = _Lines(text, line)
    judged: dict[str, tuple[bool, str]] = {}
    while (tag := _TAG_WITH_ATTRIBUTES.search(text, at)) is not None:
        closing, name, attributes = tag.groups()
        if attributes not in judged:
            judged[attributes] = _is_unseen(attributes), _shown_attributes(attributes)
        unseen, kept = judged[attributes]
        parts.append(text[at : tag.start()])
        at = tag.end()
        if unseen and not closing:
            found.append((ELEMENT, lines.of(tag.start())))
            end = at if name.lower() in _VOID else _end_of(name.lower(), text, at)
            if end is None:
                # What never ends hides the rest, as it does on a page.
                return "".join(parts)
            at = end
        elif kept == attributes:
            parts.append(tag.group())
        else:
            found.append((TEXT, lines.of(tag.start())))
            parts.append(f"<{closing}{name}{kept}{text[tag.end(3) : at]}")
    return "".join([*parts, text[at:]])


def _end_of(name: str, text: str, start: int) -> int | None:
    """Where an element ends that is not seen: only its own end matters. `None` where it never does."""
    depth = 1
    for tag in _TAG.finditer(text, start):
        if tag.group(2).lower() == name:
            depth += -1 if tag.group(1) else 1
            if not depth:
                return tag.end()
    return None


def _is_unseen(attributes: str) -> bool:
    for one in _ATTRIBUTE.finditer(attributes):
        name, value = one.group(1).lower(), one.group(2) or ""
        if name == "hidden" or (name == "style" and _UNSEEN_STYLE.search(html.unescape(value))):
            return True
    return False


def _shown_attributes(attributes: str) -> str:
    return "".join(
        one.group() for one in _ATTRIBUTE.finditer(attributes) if not _UNSHOWN.fullmatch(one.group(1).lower())
    )
