"""Text from GitHub without what its readers on GitHub cannot see.

HTML comments go everywhere, code included. Characters that show nothing go too, apart from the joiners and selectors
that emoji and Persian or Indic words need. Linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.intake.code import marked
from bot.intake.found import Found, lines_of
from bot.intake.markup import Markup

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
_FLAG = re.compile("(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
                   "|\U000e0077\U000e006c\U000e0073)\U000e007f)")  # fmt: skip
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
    """What was taken out of a text: its kind, how much of it, and the first lines, from 1, that it stood on."""

    kind: str
    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`text` as its readers see it, with the number of HTML comments and invisible characters taken out."""

    text: str
    comments: int = 0
    characters: int = 0
    hidden: tuple[Hidden, ...] = ()


def clean(text: str) -> Cleaned:
    """Take hidden text out until nothing changes, since taking one thing out can put another together.

    Text that still changes after `MAX_PASSES` was built to do so: every `<` and `&` left in it is escaped, and what
    it defines is text.
    """
    found = Found()
    markup = Markup(visible)
    for _ in range(MAX_PASSES):
        before, shown = text, visible(text)
        if len(shown) != len(text):
            found.add(CHARACTER, len(text) - len(shown), [_first_difference(text, shown)])
        if "`" in shown or "~~~" in shown:
            shown = marked(shown, found)
        text = markup.without_hidden(_without_comments(shown, found), found)
        if text == before:
            return _cleaned(text, found)
    return _cleaned(text.replace("&", "&amp;").replace("<", "&lt;").replace("]:", "] :"), found)


def visible(text: str) -> str:
    """`text` without characters that show nothing; HTML comments stay. For text whose source is what people read."""
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


def _cleaned(text: str, found: Found) -> Cleaned:
    counts = found.counts
    hidden = tuple(Hidden(kind, count, found.lines(kind)) for kind, count in counts.items())
    return Cleaned(text, counts.get(COMMENT, 0), counts.get(CHARACTER, 0), hidden)


def _first_difference(text: str, other: str) -> int:
    """The line of `text` on which the two differ first."""
    for number, (one, two) in enumerate(zip(text.split("\n"), other.split("\n"), strict=False), 1):
        if one != two:
            return number
    return 1


def _without_comments(text: str, found: Found) -> str:
    # After the last `-->` none ends; to look for an end there again and again would take for ever.
    ended = text.rfind(_CLOSE) + len(_CLOSE) if _CLOSE in text else 0
    kept = _COMMENT.split(text[:ended])
    found.add(
        COMMENT, len(kept) - 1, lines_of(text, (one.start() for one in _COMMENT.finditer(text, 0, ended)))
    )
    rest = kept[-1] + text[ended:]
    if _OPEN in rest:
        at = len(text) - len(rest)
        if opening := _OPENS_BLOCK.search(text, at):
            found.add(COMMENT, 1, lines_of(text, [opening.end()]))
            rest = text[at : opening.end()]
    return "".join([*kept[:-1], rest])
