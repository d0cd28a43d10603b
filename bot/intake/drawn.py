"""Text that a page draws or lays out and does not show: comments in diagrams, the source of maps, invisible parts of
formulas, cells beyond a table's last column, links without text, and the parentheses of ruby text.

Approximate where a page is subtle: colours in a diagram are not looked at.
"""

from __future__ import annotations

import re

from bot.intake.code import BEGIN, END, TABLE
from bot.intake.elements import BREAK, ELEMENT, TAKEN_OUT
from bot.intake.found import Found, lines_of

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


def shown_code(code: str, before: str, lines: int, found: Found) -> str:
    """A block or span of code as a page shows it, if that draws it. `before` is the character before a span, `lines` is
    how many lines are before it."""
    kind, pattern = FORMULA, _INVISIBLE
    opening = _FENCE.match(code)
    language = opening[1].lower() if opening else ""
    if language in _MAPS and opening:
        body, end = code[opening.end() :], code.rstrip("\n").rfind("\n") + 1
        if _WORD.search(body):
            found.add(MAP, 1, [lines + 1])
        return code[: opening.end()] + code[max(end, opening.end()) :]
    if language == "mermaid":
        kind, pattern = DIAGRAM, _DIAGRAM
    elif language != "math" and not (before == "$" and not opening):
        return code
    shown, count = pattern.subn("", code)
    found.add(kind, count, [lines + 1])
    return shown


def without_undrawn(text: str, found: Found) -> str:
    """`text` without invisible parts of formulas, links without text and what stands for ruby text's parentheses. Code
    stands between two `BREAK`s."""
    if "<rp" in text.lower():
        places = [one.start() for one in _RUBY.finditer(text) if _is_text(one)]
        found.add(ELEMENT, len(places), lines_of(text, places))
        text = _RUBY.sub(lambda one: _without_code(one[0]) if _is_text(one) else one[0], text)
    if "](" in text or "][" in text:
        found.add(
            LINK, len(places := [one.start() for one in _EMPTY_LINK.finditer(text)]), lines_of(text, places)
        )
        text = _EMPTY_LINK.sub("", text)
    if "$" in text:
        places = [one.start() for one in _MATH.finditer(text) if _INVISIBLE.search(one[0])]
        found.add(FORMULA, len(places), lines_of(text, places))
        text = _MATH.sub(lambda one: _INVISIBLE.sub("", one[0]), text)
    return text


def without_surplus_cells(text: str, found: Found) -> str:
    """The marked `text` without what is in a table's rows behind its last column: a page leaves that out."""
    if "|" not in text or not TABLE.search(text):
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
            elif line.count("|") >= columns and (kept := _cut(line, columns)) != line:
                lines[at] = kept
                cut.append(at + 1)
        elif "-" in line and at and "|" in lines[at - 1] + line and TABLE.fullmatch(line):
            columns, quotes = _cells(line), _quotes(line)
            columns = columns if _cells(lines[at - 1]) == columns else 0
    found.add(CELL, len(cut), cut)
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
    kept = row[:end]
    if kept.count(BEGIN) != kept.count(END):
        kept = kept.replace(BEGIN, "").replace(END, "")
    return kept


def _is_text(ruby: re.Match[str]) -> bool:
    return bool(_WORD.search(ruby[1] or ruby[2] or "")) or BREAK in ruby[0]


def _without_code(text: str) -> str:
    return f"{BREAK}{TAKEN_OUT}{BREAK}" * (text.count(BREAK) // 2)
