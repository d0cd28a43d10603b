"""Text from GitHub without what its readers on GitHub cannot see.

HTML comments go everywhere, code included. Characters that show nothing go too, apart from the joiners and selectors
that emoji and Persian or Indic words need. Linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.events.code import mark_code
from bot.events.markup import Markup
from bot.events.removals import Removals, lines_of

MAX_PASSES = 4

# Controls but tab and line ends; soft hyphen, fillers, bidi marks, zero-width and word joiners, byte order
# mark, interlinear marks, tag characters with the variation selectors beyond the first sixteen, musical
# format characters. Lone surrogates cannot be encoded at all.
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_INVISIBLE_ASCII = {code: None for code in range(128) if _INVISIBLE.match(chr(code))}
# The flags of England, Scotland and Wales are spelt out in tag characters; nothing else that is real is.
_FLAG = re.compile(
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f)"
)
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

_OPEN, _CLOSE = "<!--", "-->"
# `<!-->` and `<!--->` are whole comments: the closing may share the opening's dashes.
_COMMENT = re.compile(r"<!(?=--).*?-->", re.DOTALL)
# GitHub hides everything after an unterminated comment that opens a block, and shows one in running text.
_OPENS_BLOCK = re.compile(r"^[ \t>*+\-0-9.)]*(?=<!--)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text removed from a text: its kind, the count, and the first lines, from 1."""

    kind: str
    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CleanText:
    """`text` as its readers see it, with the number of HTML comments and invisible characters taken out."""

    text: str
    comments: int = 0
    characters: int = 0
    hidden: tuple[Hidden, ...] = ()


def clean(text: str) -> CleanText:
    """Take hidden text out until nothing changes, since taking one thing out can put another together.

    Text that still changes after `MAX_PASSES` was built to do so: every `<` and `&` left in it is escaped, and what
    it defines is text.
    """
    removals = Removals()
    markup = Markup(visible)
    for _ in range(MAX_PASSES):
        before, visible_text = text, visible(text)
        if len(visible_text) != len(text):
            removals.add(CHARACTER, len(text) - len(visible_text), [_first_difference(text, visible_text)])
        if "`" in visible_text or "~~~" in visible_text:
            visible_text = mark_code(visible_text, removals)
        text = markup.without_hidden(_without_comments(visible_text, removals), removals)
        if text == before:
            return _result(text, removals)
    return _result(text.replace("&", "&amp;").replace("<", "&lt;").replace("]:", "] :"), removals)


def visible(text: str) -> str:
    """Remove invisible characters and keep HTML comments, for text whose source people read."""
    if text.isascii():
        return text.translate(_INVISIBLE_ASCII)
    if "\U0001f3f4\U000e0067" in text:
        # Every second part is a flag.
        parts = _FLAG.split(text)
        parts[::2] = map(_without_unseen, parts[::2])
        return _UNREAL_RUN.sub("", "".join(parts))
    return _UNREAL_RUN.sub("", _without_unseen(text))


def _without_unseen(text: str) -> str:
    return _INVISIBLE.sub("", text)


def _result(text: str, removals: Removals) -> CleanText:
    counts = removals.counts
    hidden = tuple(Hidden(kind, count, removals.lines(kind)) for kind, count in counts.items())
    return CleanText(text, counts.get(COMMENT, 0), counts.get(CHARACTER, 0), hidden)


def _first_difference(text: str, other: str) -> int:
    """The line of `text` on which the two differ first."""
    for number, (one, two) in enumerate(zip(text.split("\n"), other.split("\n"), strict=False), 1):
        if one != two:
            return number
    return 1


def _without_comments(text: str, removals: Removals) -> str:
    # After the last `-->` none ends; to look for an end there again and again would take for ever.
    ended = text.rfind(_CLOSE) + len(_CLOSE) if _CLOSE in text else 0
    parts = _COMMENT.split(text[:ended])
    removals.add(
        COMMENT, len(parts) - 1, lines_of(text, (one.start() for one in _COMMENT.finditer(text, 0, ended)))
    )
    rest = parts[-1] + text[ended:]
    if _OPEN in rest:
        at = len(text) - len(rest)
        if opening := _OPENS_BLOCK.search(text, at):
            removals.add(COMMENT, 1, lines_of(text, [opening.end()]))
            rest = text[at : opening.end()]
    return "".join([*parts[:-1], rest])
