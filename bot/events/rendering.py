"""Remove text that a rendered page does not display: comments in diagrams, the source of maps, invisible parts of
formulas, cells beyond a table's last column, links without text, the parentheses of ruby text, definitions that nothing
refers to, titles of other definitions, and markup declarations.

Colours in a diagram are not checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from bot.events.code import TABLE
from bot.events.removals import BEGIN, BREAK, ELEMENT, END, TAKEN_OUT, TEXT, Removals, lines_of, lines_with

CELL, LINK, FORMULA = "surplus table cell", "empty link", "invisible formula"
DIAGRAM, MAP = "diagram comment", "map source"

_FENCE = re.compile(r"[^`~\n]*+(?:`{3,}+|~{3,}+)[ \t]*+([\w-]*+)[^\n]*+\n")
_MAPS = frozenset({"geojson", "topojson", "stl"})
_DIAGRAM = re.compile(
    r"%%\{(?:[^%]|%(?!%))*+(?:%%|\Z)|^[ \t>]*+---[ \t]*\n.*?^[ \t>]*+---[ \t]*\n"
    r"|^[ \t>]*+acc(?:Title|Descr)\s*+\{[^{}]*+\}"
    r"|^[ \t>]*+(?:%%|accTitle\b|accDescr\b|click\b)[^\n]*+\n?",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_GROUP = r"\{(?:[^{}\0]|\{(?:[^{}\0]|\{[^{}\0]*+\})*+\})*+\}"
_WHITE = r"\{\s*+(?:white|snow|ivory|transparent|#f{3,8})\s*+\}"
_INVISIBLE = re.compile(
    rf"\\(?:[hv]?phantom|label|cssId|class|style)\s*+(?:{_GROUP}|\\?\w*+)|\\(?:text)?color\s*+{_WHITE}\s*+(?:{_GROUP}|[^$}}\0]*+)"
    r"|(?<!\\)%[^\n$\0]*+",
    re.IGNORECASE,
)
_MATH = re.compile(r"\$\$[^$\0]{1,10000}+\$\$|\$(?=\S)[^$\n\0]{1,2000}+(?<!\s)\$(?!\w)")
_TITLE = r"""(?:"[^"\0]*+"|'[^'\0]*+'|\([^()\0]*+\))"""
_TARGET = rf"\(\s*+(?:<[^<>\n\0]*+>|[^\s()<\0][^\s()\0]*+(?:\([^\s()\0]*+\)[^\s()\0]*+)*+)?+(?:\s++{_TITLE})?+\s*+\)"
_EMPTY_LINK = re.compile(rf"(?<![!\\\]])\[[ \t]*+\](?:{_TARGET}|\[[^\[\]\n\0]{{1,999}}\])")
_RUBY = re.compile(r"<rp(?:\s[^<>\0]*+)?>(?:(.*?)</rp\s*+>|(.*)\Z)", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w")

_BEGINNING = re.compile(r"[ \t>]*+(?:(?:[*+-]|\d{1,9}[.)])[ \t]++)*+\|?")
_NO_ROW = re.compile(
    r"[ \t]*+(?:>[ \t]*+)*+(?:\r?$|#{1,6}[ \t]|(?:[*+-]|\d{1,9}[.)])[ \t]|`{3}|~{3}|</?[a-z])", re.IGNORECASE
)
_CELL = re.compile(r"(?:\\.|[^|])*+")


def rendered_code(code: str, before: str, lines: int, removals: Removals) -> str:
    """Return a block or span of code without the parts that a page which draws it does not display. `before` is the
    character before a span, `lines` the number of lines before it."""
    kind, pattern = FORMULA, _INVISIBLE
    opening = _FENCE.match(code)
    language = opening[1].lower() if opening else ""
    if language in _MAPS and opening:
        body, end = code[opening.end() :], code.rstrip("\n").rfind("\n") + 1
        if _WORD.search(body):
            removals.add(MAP, 1, [lines + 1])
        return code[: opening.end()] + code[max(end, opening.end()) :]
    if language == "mermaid":
        kind, pattern = DIAGRAM, _DIAGRAM
    elif language != "math" and not (before == "$" and not opening):
        return code
    rendered, count = pattern.subn("", code)
    removals.add(kind, count, [lines + 1])
    return rendered


def without_undrawn(text: str, removals: Removals) -> str:
    """Remove invisible parts of formulas, empty links and the parentheses of ruby text. Code is between two
    `BREAK`s."""
    if "<rp" in text.lower():
        positions = [one.start() for one in _RUBY.finditer(text) if _is_text(one)]
        removals.add(ELEMENT, len(positions), lines_of(text, positions))
        text = _RUBY.sub(lambda one: _without_code(one[0]) if _is_text(one) else one[0], text)
    if "](" in text or "][" in text:
        removals.add(
            LINK,
            len(positions := [one.start() for one in _EMPTY_LINK.finditer(text)]),
            lines_of(text, positions),
        )
        text = _EMPTY_LINK.sub("", text)
    if "$" in text:
        positions = [one.start() for one in _MATH.finditer(text) if _INVISIBLE.search(one[0])]
        removals.add(FORMULA, len(positions), lines_of(text, positions))
        text = _MATH.sub(lambda one: _INVISIBLE.sub("", one[0]), text)
    return text


def without_surplus_cells(text: str, removals: Removals) -> str:
    """Remove cells beyond a table's last column from the marked `text`."""
    if not TABLE.search(text):
        return text
    lines = text.split("\n")
    columns, quotes, in_code = 0, 0, False
    cut: list[int] = []
    for at, line in enumerate(lines):
        if in_code or BEGIN in line:
            begins = line.rfind(BEGIN) > line.rfind(END)
            if begins or in_code:
                columns, in_code = 0, begins or END not in line
                continue
        if columns:
            if _NO_ROW.match(line) or ((quotes or ">" in line) and _quotes(line) != quotes):
                columns = 0
            elif line.count("|") >= columns and (selected := _cut(line, columns)) != line:
                lines[at] = selected
                cut.append(at + 1)
        elif "-" in line and at and "|" in lines[at - 1] + line and TABLE.fullmatch(line):
            columns, quotes = _cells(line), _quotes(line)
            columns = columns if _cells(lines[at - 1]) == columns else 0
    removals.add(CELL, len(cut), cut)
    return "\n".join(lines) if cut else text


def _cells(row: str) -> int:
    start = _after_beginning(row)
    return (
        len(re.findall(r"(?:\\.|[^|])++", row[start:].rstrip().removesuffix("|") + "|")) if row.strip() else 0
    )


def _after_beginning(row: str) -> int:
    beginning = _BEGINNING.match(row)
    return beginning.end() if beginning else 0


def _quotes(line: str) -> int:
    return line[: len(line) - len(line.lstrip(" \t>"))].count(">")


def _cut(row: str, columns: int) -> str:
    end = _after_beginning(row)
    for _ in range(columns):
        cell = _CELL.match(row, end)
        end = cell.end() + 1 if cell else len(row)
    if not _WORD.search(row, end):
        return row
    selected = row[:end]
    if selected.count(BEGIN) != selected.count(END):
        selected = selected.replace(BEGIN, "").replace(END, "")
    return selected


def _is_text(ruby: re.Match[str]) -> bool:
    return bool(_WORD.search(ruby[1] or ruby[2] or "")) or BREAK in ruby[0]


def _without_code(text: str) -> str:
    return f"{BREAK}{TAKEN_OUT}{BREAK}" * (text.count(BREAK) // 2)


DEFINITION, DECLARATION = "definition that nothing refers to", "markup declaration"

_WORDS = r"[^\[\]\n\0]{1,999}"
_LABEL = rf"\[((?!\s*+\]){_WORDS})\]"
_LABELS = re.compile(_LABEL)
_LINE_START = r"^(?:[ \t]*+(?:[>*+-]|\d{1,9}[.)])[ \t]?)*+ {0,3}"
_NEXT = r"(?:[ \t]*+\n)?+[ \t]*+"
_END = r"(?=[ \t]*+(?:$|\0))"
_TITLE_TEXT = r"(?:[^{0}\n\0]|\n(?![ \t]*+\n))*+"
_LINK_TITLE = "|".join(
    (
        f'"{_TITLE_TEXT.format(chr(34))}"',
        f"'{_TITLE_TEXT.format(chr(39))}'",
        rf"\({_TITLE_TEXT.format('()')}\)",
    )
)
_LINK = rf"{_NEXT}(?:<[^<>\n\0]*+>|[^\s<\0][^\s\0]*+)((?:[ \t]++|[ \t]*+\n[ \t]*+)(?:{_LINK_TITLE}){_END})?+{_END}"
_FOOTNOTE = r"\[\^[^\n\0]*+(?:\n(?![ \t]*+$)[^\n\0]++|(?:\n[ \t]*+(?=\n))++\n(?: {4}|\t)[^\n\0]++)*+"
# Groups: the label, and a link's title. A footnote is its paragraph and the indented text below it.
_DEFINED = re.compile(rf"{_LINE_START}(?={_LABEL}:)(?:{_FOOTNOTE}|\[{_WORDS}\]:{_LINK})", re.MULTILINE)
# Inside a paragraph, which mostly begins with a letter, a definition is displayed as written.
_IN_PARAGRAPH = re.compile(r"(?:^|\n)[ \t]*+\w[^\n]*\n\Z")

# Up to its end, or to a tag in it that a browser may display.
_DECLARATION = r"<(?:{})(?:[^<>\0]++|<(?![A-Za-z]))*+(?:>|(?=<[A-Za-z]))"
_OPENERS = {r"\?": "?>", r"!\[CDATA\[": "]]>", "![A-Za-z]": ">"}
# A declaration without an end hides the rest if it opens a block, and is displayed as written elsewhere.
_BLOCK = r"^[ \t>*+\-0-9.)]*+<(?:\?|!\[CDATA\[|![A-Za-z])(?:[^<>\0]++|<(?![A-Za-z]))*+(?:>|(?=<[A-Za-z])|(?=\0)|\Z)"

_MOST = 1_000
"""Maximum number of definitions. A text with more was built for them, so none stays."""


def without_unreferenced(text: str, removals: Removals) -> str:
    """Return `text` without unreferenced definitions, titles of other definitions, and markup declarations."""
    if "]:" in text:
        text = _without_definitions(text, removals)
    if "<?" in text or "<!" in text:
        text = _without_declarations(text, removals)
    return text


def _without_definitions(text: str, removals: Removals) -> str:
    first = list(islice(_DEFINED.finditer(text), _MOST + 1))
    if len(first) > _MOST:
        remaining_text, count = _DEFINED.subn("", text)
        removals.add(DEFINITION, count, lines_of(text, (one.start() for one in first)))
        return remaining_text
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
    removals.add(DEFINITION, len(unused), lines_of(text, (one.start() for one in unused)))
    removals.add(TEXT, len(titled), lines_of(text, (one.start(2) for one in titled)))
    return "".join([text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)])


def _outside_of_paragraphs(text: str, definitions: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    behind = last_in_paragraph = -2
    for one in definitions:
        start = one.start()
        line = text.rfind("\n", 0, max(start - 1, 0)) + 1
        if start - 1 == last_in_paragraph or (
            start - 1 != behind and _IN_PARAGRAPH.search(text, line, start)
        ):
            last_in_paragraph = one.end()
        else:
            behind = one.end()
            yield one


def _without_declarations(text: str, removals: Removals) -> str:
    declared = _declared(tuple(opener for opener, end in _OPENERS.items() if end in text))
    remaining_text, count = declared.subn("", text)
    removals.add(DECLARATION, count, lines_with(declared, text))
    return remaining_text


@cache
def _declared(openers: tuple[str, ...]) -> re.Pattern[str]:
    anywhere = f"|{_DECLARATION.format('|'.join(openers))}" if openers else ""
    return re.compile(_BLOCK + anywhere, re.MULTILINE)
