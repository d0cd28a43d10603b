"""More that a page does not show: definitions of links and footnotes that nothing refers to, in which some write
comments; titles of other definitions; and declarations of markup. None of them reaches across a `BREAK`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from bot.intake.elements import TEXT
from bot.intake.found import Found, lines_of, lines_with

DEFINITION, DECLARATION = "definition that nothing refers to", "markup declaration"

_WORDS = r"[^\[\]\n\0]{1,999}"
_LABEL = rf"\[((?!\s*+\]){_WORDS})\]"
_LABELS = re.compile(_LABEL)
_BEGINNING = r"^(?:[ \t]*+(?:[>*+-]|\d{1,9}[.)])[ \t]?)*+ {0,3}"
_NEXT = r"(?:[ \t]*+\n)?+[ \t]*+"
_END = r"(?=[ \t]*+(?:$|\0))"
_WITHIN = r"(?:[^{0}\n\0]|\n(?![ \t]*+\n))*+"
_TITLE = "|".join(
    (f'"{_WITHIN.format(chr(34))}"', f"'{_WITHIN.format(chr(39))}'", rf"\({_WITHIN.format('()')}\)")
)
_LINK = rf"{_NEXT}(?:<[^<>\n\0]*+>|[^\s<\0][^\s\0]*+)((?:[ \t]++|[ \t]*+\n[ \t]*+)(?:{_TITLE}){_END})?+{_END}"
_FOOTNOTE = r"\[\^[^\n\0]*+(?:\n(?![ \t]*+$)[^\n\0]++|(?:\n[ \t]*+(?=\n))++\n(?: {4}|\t)[^\n\0]++)*+"
# A label, and the title of a link; of a footnote the whole paragraph and what is indented below it.
_DEFINED = re.compile(rf"{_BEGINNING}(?={_LABEL}:)(?:{_FOOTNOTE}|\[{_WORDS}\]:{_LINK})", re.MULTILINE)
# In the midst of a paragraph, which begins with a letter as a rule, it is shown as it is written.
_IN_PARAGRAPH = re.compile(r"(?:^|\n)[ \t]*+\w[^\n]*\n\Z")

# Up to its end, or to the tag in it that people may see as one.
_DECLARATION = r"<(?:{})(?:[^<>\0]++|<(?![A-Za-z]))*+(?:>|(?=<[A-Za-z]))"
_OPENERS = {r"\?": "?>", r"!\[CDATA\[": "]]>", "![A-Za-z]": ">"}
# One that never ends hides the rest where it opens a block, and is shown as it is written elsewhere.
_BLOCK = r"^[ \t>*+\-0-9.)]*+<(?:\?|!\[CDATA\[|![A-Za-z])(?:[^<>\0]++|<(?![A-Za-z]))*+(?:>|(?=<[A-Za-z])|(?=\0)|\Z)"

_MOST = 1_000
"""Definitions, over which a text was made for its definitions: then none stays."""


def without_unshown(text: str, found: Found) -> str:
    """`text` without them; of a link's definition that something refers to, without its title."""
    if "]:" in text:
        text = _without_definitions(text, found)
    if "<?" in text or "<!" in text:
        text = _without_declarations(text, found)
    return text


def _without_definitions(text: str, found: Found) -> str:
    first = list(islice(_DEFINED.finditer(text), _MOST + 1))
    if len(first) > _MOST:
        shown, count = _DEFINED.subn("", text)
        found.add(DEFINITION, count, lines_of(text, (one.start() for one in first)))
        return shown
    defined = list(_outside_of_paragraphs(text, first))
    if not defined:
        return text
    mentioned = Counter(_LABELS.findall(text.casefold()))
    mentioned.subtract(one[1].casefold() for one in defined)
    unused: list[re.Match[str]] = []
    used: list[re.Match[str]] = []
    for one in defined:
        (used if mentioned[one[1].casefold()] > 0 else unused).append(one)
    titled = [one for one in used if one[2]]
    spans = sorted([one.span() for one in unused] + [one.span(2) for one in titled])
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    found.add(DEFINITION, len(unused), lines_of(text, (one.start() for one in unused)))
    found.add(TEXT, len(titled), lines_of(text, (one.start(2) for one in titled)))
    return "".join([text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)])


def _outside_of_paragraphs(text: str, found: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    behind = shown = -2
    for one in found:
        start = one.start()
        line = text.rfind("\n", 0, max(start - 1, 0)) + 1
        if start - 1 == shown or (start - 1 != behind and _IN_PARAGRAPH.search(text, line, start)):
            shown = one.end()
        else:
            behind = one.end()
            yield one


def _without_declarations(text: str, found: Found) -> str:
    declared = _declared(tuple(opener for opener, end in _OPENERS.items() if end in text))
    shown, count = declared.subn("", text)
    found.add(DECLARATION, count, lines_with(declared, text))
    return shown


@cache
def _declared(openers: tuple[str, ...]) -> re.Pattern[str]:
    anywhere = f"|{_DECLARATION.format('|'.join(openers))}" if openers else ""
    return re.compile(_BLOCK + anywhere, re.MULTILINE)
