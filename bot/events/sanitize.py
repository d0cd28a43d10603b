"""Remove from a text what its readers cannot see: invisible characters and, where no HTML of it exists, HTML comments.

What GitHub's page shows of an issue, a review or a comment is read from its HTML: `page_text.py`. Linear in the text's
length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

# Controls but tab and line ends; soft hyphen, fillers, bidi marks, zero-width and word joiners, byte order
# mark, interlinear marks, tag characters (the flags of England, Scotland and Wales lose them too) with the variation
# selectors beyond the first sixteen, musical format characters. Lone surrogates cannot be encoded at all.
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_INVISIBLE_ASCII = {code: None for code in range(128) if _INVISIBLE.match(chr(code))}
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

_CLOSE = "-->"
# `<!-->` and `<!--->` are whole comments: the closing may share the opening's dashes.
_COMMENT = re.compile(r"<!(?=--).*?-->", re.DOTALL)
# GitHub hides everything after an unterminated comment that opens a block, and shows one in running text.
_OPENS_BLOCK = re.compile(r"^[ \t>*+\-0-9.)]*+(?=<!--)", re.MULTILINE)
_MAX_PASSES = 4


@dataclass(frozen=True, slots=True)
class CleanText:
    """A text as its readers see it, and how many of each kind were removed from it."""

    text: str
    hidden: Mapping[str, int] = field(default_factory=dict)


def clean(text: str) -> CleanText:
    """Remove invisible characters and HTML comments, in code too, until nothing changes: a removal can join the parts
    of another comment. A text built to change more often than `_MAX_PASSES` times has each remaining `<` escaped."""
    hidden = Counter[str]()
    for _ in range(_MAX_PASSES):
        before, shown = text, visible(text)
        hidden[CHARACTER] += len(text) - len(shown)
        text = _without_comments(shown, hidden)
        if text == before:
            break
    else:
        text = text.replace("<", "&lt;")
    return CleanText(text, +hidden)


def visible(text: str) -> str:
    """Remove invisible characters and keep HTML comments, for text whose source people read."""
    if text.isascii():
        return text.translate(_INVISIBLE_ASCII)
    return _UNREAL_RUN.sub("", _INVISIBLE.sub("", text))


def _without_comments(text: str, hidden: Counter[str]) -> str:
    # No comment ends after the last `-->`; searching there for each opening would take quadratic time.
    ended = text.rfind(_CLOSE) + len(_CLOSE) if _CLOSE in text else 0
    shown, count = _COMMENT.subn("", text[:ended])
    opening = _OPENS_BLOCK.search(text, ended)
    hidden[COMMENT] += count + (opening is not None)
    return shown + text[ended : opening.end() if opening else None]
