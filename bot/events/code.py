"""Mark the code in a text: fenced blocks, and spans on one line.

In code, markup is displayed as written; elsewhere it may hide text. So only what is certainly code counts: a span
counts if no earlier backtick in its block could pair with its own.
"""

from __future__ import annotations

import re

from bot.events.blocks import blocks_of
from bot.events.removals import BEGIN, END, Removals, lines_of

WORDS = "words behind a code block's language"
_WORDS = re.compile(
    r"[^`~\r\n]*+(?:`{3,}+|~{3,}+)[ \t]*+(?:[\w+#./-]{1,40}+(?![\w+#./-]))?+([ \t]*+\S[^\r\n]*)"
)

TABLE = re.compile(  # the row of dashes under a table's head
    r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+\r?$", re.MULTILINE
)
_INSIDE = r"[^`\r\n]"
_SPAN = rf"`{{0}}(?!`){_INSIDE}++(?:(?!`{{0}}(?!`))`++{_INSIDE}++)*+`{{0}}(?!`)"
# Backticks without a closing run of the same length.
_ALONE = r"`{0}(?!`)(?!(?:[^`]*+(?!`{0}(?!`))`++)*+[^`]*+`{0}(?!`))"
_MOST_TICKS = 9
# Splits into text, code, its backticks, text ...
_SPANS = re.compile(
    rf"((`(?<!``)`{{0,{_MOST_TICKS - 1}}}+)(?!`){_INSIDE}++(?:(?!\2(?!`))`++{_INSIDE}++)*+\2(?!`))"
)

_ATTRIBUTES = (
    r"(?:[ \t]++[A-Za-z_:][A-Za-z0-9_.:-]*+"
    r"""(?:[ \t]*+=[ \t]*+(?:[^\s"'=<>`]++|'[^'`\r\n]*+'|"[^"`\r\n]*+"))?+)*+[ \t]*+"""
)
_TAG = rf"<(?:[A-Za-z][A-Za-z0-9-]*+{_ATTRIBUTES}/?|/[A-Za-z][A-Za-z0-9-]*+[ \t]*+)>"
_ADDRESS = r"(?:[^\s<`\]]|\](?!\())*+(?!`|\]\()"
_TARGET = (
    r"\([ \t]*+(?:<[^][<>`\"'\r\n]*+>|(?:[^][\s()<>`\\]|\\[^][\s`]|\((?:[^][\s()<`\\]|\\[^][\s`])*+\))*+)"
    r"""(?:[ \t]++(?:"[^]["<`\\\r\n]*+"|'[^]['<`\\\r\n]*+'|\([^][()<`\\\r\n]*+\)))?+[ \t]*+\)"""
)
# Text that cannot contain a backtick of a later span, as a tag, an address, a link, a formula or a span over several
# lines can.
_HARMLESS = (
    r"[^`\\<\]$:w]++",
    r":(?!//)",
    r"w(?!ww\.)",
    *(_SPAN.format(f"{{{ticks}}}") for ticks in range(1, _MOST_TICKS + 1)),
    *(_ALONE.format(f"{{{ticks}}}") for ticks in range(1, _MOST_TICKS + 1)),
    r"\\(?!`)",
    _TAG,
    r"<[A-Za-z][A-Za-z0-9+.-]{1,31}+:[^\s<>`]*+>",
    r"<(?![^\s<>@]*+@)(?![A-Za-z/!?])",
    rf"<(?![^\s<>@]*+@)(?=[A-Za-z][A-Za-z0-9-]*+{_ATTRIBUTES}[^\r\n>/=:\"'])",
    r"\](?![(\[:])",
    rf"\](?={_TARGET})",
    r"\](?=\[[^\]\[<`\\\r\n]*+\])",
    r"\$(?![^`$\r\n]*+`[^\r\n]*\$)",
    rf"://{_ADDRESS}",
    rf"www\.{_ADDRESS}",
)
_CERTAIN = re.compile(f"(?:{'|'.join(_HARMLESS)})*+")
# Each table cell is parsed on its own.
_CERTAIN_IN_TABLE = re.compile(_CERTAIN.pattern.replace(f"{_INSIDE}++", r"[^`|\r\n]++"))

# A browser may end the declaration before the tag in it, whose attributes then contain the rest.
_TAG_IN_DECLARATION = re.compile(r"<(?:\?|![A-Za-z]|!\[CDATA\[)[^<>]*+<")


def mark_code(text: str, removals: Removals) -> str:
    """Return `text` with its code between `BEGIN` and `END`, and without the words after a block's language, which no
    page displays."""
    pieces: list[str] = []
    words: list[int] = []
    end_of_last = 0
    for start, end, is_code in blocks_of(text):
        if is_code:
            pieces += (text[end_of_last:start], BEGIN)
            if behind := _WORDS.match(text, start, end):
                words.append(start)
                pieces.append(text[start : behind.start(1)])
                start = behind.end()
            pieces += (text[start:end], END)
            end_of_last = end
        elif _TAG_IN_DECLARATION.search(text, start, end):
            break
        elif text.find("`", start, end) >= 0:
            pieces.append(text[end_of_last:start])
            end_of_last = _certain_to(text, start, end)
            spans = _SPANS.split(text[start:end_of_last])
            del spans[2::3]
            spans[1::2] = [f"{BEGIN}{span}{END}" for span in spans[1::2]]
            pieces += spans
    if words:
        removals.add(WORDS, len(words), lines_of(text, words))
    return "".join([*pieces, text[end_of_last:]])


def _certain_to(text: str, start: int, end: int) -> int:
    pattern = _CERTAIN_IN_TABLE if TABLE.search(text, start, end) else _CERTAIN
    certain = pattern.match(text, start, end)
    return certain.end() if certain else start
