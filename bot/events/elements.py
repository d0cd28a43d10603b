"""Remove HTML elements that are off the screen, and attributes of others whose text no page displays."""

from __future__ import annotations

import html
import re
from itertools import accumulate, islice

from bot.events.removals import BREAK, ELEMENT, TAKEN_OUT, TEXT, Removals, lines_of

# None of these matches `BREAK`, so texts joined with it are searched at once.
_NAME = r"""[^\s"'<>/=\0]++"""
_VALUE = r"""(?:"[^"\0]*+"|'[^'\0]*+'|[^\s"'<>=\0]++)"""
_ASSIGNMENT = rf"(?:\s*+=\s*+{_VALUE})?+"
_ATTRIBUTES = rf"(?:\s++{_NAME}{_ASSIGNMENT})"
_TAG = re.compile(rf"<(/?)([A-Za-z][\w-]{{0,39}})({_ATTRIBUTES}*+)\s*+/?>")
# An element without attributes is visible. Splits into text, name, attributes, end, text ...
_TAG_WITH_ATTRIBUTES = re.compile(rf"(</?[A-Za-z][\w-]{{0,39}}+)({_ATTRIBUTES}++)(\s*+/?>)")
_OWN_END = re.compile(r"[^<]*+</([A-Za-z][\w-]{0,39}+)\s*+>")
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?(?![.\d])"
    r"|font-size\s*:\s*0(?![.\d])|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_VOID = frozenset({"img", "br", "hr", "input", "meta", "link", "source", "wbr", "area", "col", "embed"})
_ENDED = r"""(?![^\s"'<>/=\0])"""
_TEXT_ATTRIBUTES = rf"(?ai:alt|title|placeholder|summary|label|content|(?:aria|data)-(?u:[\w-]+)){_ENDED}"
_HIDING = rf"(?ai:hidden|style){_ENDED}"
_PLAIN = rf"(?:\s++(?!{_HIDING}){_NAME}{_ASSIGNMENT})"
_WORD = r"""(?:\s*+=\s*+(?:"[^"\s\0]*+"|'[^'\s\0]*+'|[^\s"'<>=\0]++))?+(?!\s*+=)"""
# Group 1: attributes that stay. Else one that is removed: a text, or one of several words other than a style.
_VISIBLE = re.compile(
    rf"((?:\s++(?!{_TEXT_ATTRIBUTES})(?:(?ai:style){_ENDED}{_ASSIGNMENT}|{_NAME}{_WORD})|\0)++)|{_ATTRIBUTES}"
)
# Attributes that hide nothing, then one that may, or the end.
_MAY_HIDE = re.compile(
    rf"{_PLAIN}*+(?:\s++(?:(?ai:(hidden)){_ENDED}{_ASSIGNMENT}|(?ai:style){_ENDED}(?:\s*+=\s*+({_VALUE}))?+)|\Z)"
)
_OPENING = re.compile(rf"<([A-Za-z][\w-]{{0,39}}+)({_ATTRIBUTES}++)\s*+/?>")
# Visible text and tags, then an opening tag that may hide its element.
_MAY_BE_UNSEEN = re.compile(
    rf"(?:[^<]++|</?[A-Za-z][\w-]{{0,39}}+{_PLAIN}*+\s*+/?>|</[A-Za-z][\w-]{{0,39}}+{_ATTRIBUTES}*+\s*+/?>"
    rf"|<(?![A-Za-z][\w-]{{0,39}}+{_ATTRIBUTES}*+\s*+/?>))*+<([A-Za-z][\w-]{{0,39}}+)({_ATTRIBUTES}++)\s*+/?>"
)
_GAP = re.compile("\0\1\n*+\0")


def without_elements(text: str, removals: Removals) -> str:
    """Return `text` without them. Code is between two `BREAK`s: nothing in it begins or ends an element. An element
    without an end hides the rest."""
    small = text.lower()
    if "hidden" not in small and "style" not in small:
        return _without_texts(text, removals)
    return _GAP.sub("", _without_texts(_without_unseen(text, removals), removals))


def _without_unseen(text: str, removals: Removals) -> str:
    """Return `text` with each hidden element replaced by its line ends, between breaks."""
    pieces: list[str] = []
    positions: list[int] = []
    unseen_by_attributes: dict[str, bool] = {}
    at = done = 0
    unseen = False
    # A hidden element often directly follows another.
    while tag := (unseen and _OPENING.match(text, at)) or _MAY_BE_UNSEEN.match(text, at):
        name, attributes = tag.groups()
        at = tag.end()
        if attributes not in unseen_by_attributes:
            unseen_by_attributes[attributes] = _is_unseen(attributes)
        if unseen := unseen_by_attributes[attributes]:
            start = tag.start(1) - 1
            if (name := name.lower()) not in _VOID:
                at = _end_of(name, text, at)
            positions.append(start)
            if start > done:
                pieces.append(text[done:start])
            lines = text.count("\n", start, at)
            pieces.append("\0\1" + "\n" * lines + "\0" if lines else "\0\1\0")
            if codes := text.count(BREAK, start, at) // 2:
                pieces.append(f"{BREAK}{TAKEN_OUT}{BREAK}" * codes)
            done = at
    removals.add(ELEMENT, len(positions), lines_of(text, positions))
    return "".join([*pieces, text[done:]])


def _end_of(name: str, text: str, start: int) -> int:
    """Return the end of a hidden element, found by its own end tags only; the end of the text without one."""
    if (own := _OWN_END.match(text, start)) and own.group(1).lower() == name:
        return own.end()
    depth = 1
    for tag in _TAG.finditer(text, start):
        if tag.group(2).lower() == name:
            depth += -1 if tag.group(1) else 1
            if not depth:
                return tag.end()
    return len(text)


def _is_unseen(attributes: str) -> bool:
    for hidden, style in _MAY_HIDE.findall(attributes):
        if hidden or (style and _UNSEEN_STYLE.search(html.unescape(style))):
            return True
    return False


def _without_texts(text: str, removals: Removals) -> str:
    """Return `text` without attributes that are not displayed."""
    parts = _TAG_WITH_ATTRIBUTES.split(text)
    attributes = parts[2::4]
    changed = _changed(list(set(attributes)))
    if not changed:
        return text
    starts = accumulate(map(len, parts), initial=0)
    positions = [
        start for start, one in zip(islice(starts, 1, None, 4), attributes, strict=False) if one in changed
    ]
    removals.add(TEXT, len(positions), lines_of(text, positions))
    parts[2::4] = [changed.get(one, one) for one in attributes]
    return "".join(parts)


def _changed(distinct: list[str]) -> dict[str, str]:
    """Return the attributes that lose some, each with its remainder."""
    joined = BREAK.join(distinct)
    visible = "".join(filter(None, _VISIBLE.split(joined)))
    if len(visible) == len(joined):
        return {}
    pairs = zip(distinct, visible.split(BREAK), strict=True)
    return {before: after for before, after in pairs if len(before) != len(after)}
