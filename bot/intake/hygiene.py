"""Text from GitHub without what its readers on GitHub cannot see.

HTML comments go everywhere, code blocks included: where GitHub renders a fence as a fence cannot be told for
sure without rendering, and a wrong guess would let hidden text through. Characters that show nothing go too,
apart from the joiners and selectors that emoji and Persian or Indic words need. Linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_JOINERS_AND_SELECTORS = re.compile("[\u200c\u200d\ufe00-\ufe0f]+")
_JOINERS = ("\u200c", "\u200d")
# What real text has; a longer run, or another selector, spells out hidden bytes.
_REAL_RUNS = ("\u200c", "\u200d", "\ufe0e", "\ufe0f", "\ufe0f\u200d")
_KEYCAP_BASES = "0123456789#*"

_OPEN, _CLOSE = "<!--", "-->"
# GitHub hides everything after an unterminated comment that opens a block, and shows one in running text.
_OPENS_BLOCK = re.compile(r"^[ \t>*+\-0-9.)]*(?=<!--)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`text` as its readers see it, with the number of HTML comments and invisible characters taken out."""

    text: str
    comments: int = 0
    characters: int = 0


def clean(text: str) -> Cleaned:
    """Take hidden text out until nothing changes, since taking one thing out can put another together.

    Text that still changes after `MAX_PASSES` was built to do so: every `<` and `&` left in it is escaped.
    """
    comments = characters = 0
    for _ in range(MAX_PASSES):
        shown = visible(text)
        removed_characters = len(text) - len(shown)
        shown, removed_comments = _without_comments(shown)
        if shown == text:
            return Cleaned(text, comments, characters)
        text = shown
        comments += removed_comments
        characters += removed_characters
    return Cleaned(text.replace("&", "&amp;").replace("<", "&lt;"), comments, characters)


def visible(text: str) -> str:
    """`text` without characters that show nothing; HTML comments stay. For text whose source is what people read."""
    return _JOINERS_AND_SELECTORS.sub(_kept_run, _INVISIBLE.sub("", text))


def _kept_run(match: re.Match[str]) -> str:
    run, text = match.group(), match.string
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    if run not in _REAL_RUNS:
        return ""
    if run.endswith(_JOINERS):
        return run if _is_wide(before) and _is_wide(after) else ""
    return run if _is_wide(before) or before in _KEYCAP_BASES else ""


def _is_wide(character: str) -> bool:
    return character > "\xa0" and not character.isspace()


def _without_comments(text: str) -> tuple[str, int]:
    kept: list[str] = []
    position = count = 0
    while (start := text.find(_OPEN, position)) >= 0:
        # `<!-->` and `<!--->` are whole comments: the closing may share the opening's dashes.
        end = text.find(_CLOSE, start + 2)
        if end < 0:
            opening = _OPENS_BLOCK.search(text, position)
            if opening:
                return "".join(kept) + text[position : opening.end()], count + 1
            break
        kept.append(text[position:start])
        position = end + len(_CLOSE)
        count += 1
    return "".join(kept) + text[position:], count
