"""Remove from a text of GitHub what its readers on GitHub cannot see.

HTML comments are removed everywhere, code included; invisible characters too, apart from the joiners and selectors
that emoji and Persian or Indic words need. Linear in the text's length.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.events.removals import BEGIN, BREAK, END, TAKEN_OUT, TEXT, Removals, lines_of, lines_with

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
# The flags of England, Scotland and Wales are spelt out in tag characters; no other real text is.
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
ENTITY = "invisible character reference"

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
    """`text` as its readers see it, with the numbers of removed HTML comments and invisible characters."""

    text: str
    comments: int = 0
    characters: int = 0
    hidden: tuple[Hidden, ...] = ()


def clean(text: str) -> CleanText:
    """Remove hidden text until nothing changes, since a removal can join the parts of another hidden text.

    Text that still changes after `MAX_PASSES` was built to do so: every remaining `<` and `&` is escaped, and its
    link definitions become text.
    """
    removals = Removals()
    markup = _Markup()
    for _ in range(MAX_PASSES):
        before, visible_text = text, visible(text)
        if len(visible_text) != len(text):
            removals.add(CHARACTER, len(text) - len(visible_text), [_first_difference(text, visible_text)])
        if "`" in visible_text or "~~~" in visible_text:
            from bot.events.code import mark_code

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
    """Return the line of `text` on which the two differ first."""
    for number, (one, two) in enumerate(zip(text.split("\n"), other.split("\n"), strict=False), 1):
        if one != two:
            return number
    return 1


def _without_comments(text: str, removals: Removals) -> str:
    # No comment ends after the last `-->`; searching there for each opening would take quadratic time.
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


# Splits into text, code, text ...
_CODE = re.compile(f"{BEGIN}([^{BEGIN}{END}]*+){END}")
_NO_MARKS = {ord(BEGIN): None, ord(END): None}
_IMAGE = re.compile(r"!\[((?:[^\[\]\\\n\0]|\\[^\n\0]){1,2000})\](?=[\[(])")
# Splits into text, what stays of a link with a title, text ...
_TITLE = re.compile(
    r"""(\]\(\s{0,9}[^\s()\0]{1,2000})\s++(?:"[^"\n\0]{1,2000}"|'[^'\n\0]{1,2000}')(?=\s{0,9}\))"""
)


class _Markup:
    """Removes markup that a page does not show: alternative texts and titles, elements that are off the screen, and
    references to invisible characters. Code is kept, since all of it is shown; a folded `<details>` is kept, too.

    Its texts have passed `visible`, so they contain no `BREAK`.
    """

    def __init__(self) -> None:
        self._entities = _Entities()

    def without_hidden(self, text: str, removals: Removals) -> str:
        """Remove the marks and hidden text from the marked `text`; count it in `removals`."""
        if "|" in text:
            from bot.events.rendering import without_surplus_cells

            text = without_surplus_cells(text, removals)
        if BEGIN not in text and END not in text:
            return self._cleaned(text, removals)
        parts = _CODE.split(text)
        codes = _rendered_codes(parts, removals)
        if text.count(BEGIN) + text.count(END) > 2 * len(codes):
            # A comment took the other mark with it.
            parts[::2] = [part.translate(_NO_MARKS) for part in parts[::2]]
        # Each code is replaced by its line ends, so that line numbers stay right.
        parts[1::2] = ["\n" * code.count("\n") if "\n" in code else "" for code in codes]
        text = self._cleaned(BREAK.join(parts), removals)
        parts = text.split(BREAK)
        if TAKEN_OUT in text:
            codes = ["" if TAKEN_OUT in part else code for part, code in zip(parts[1::2], codes, strict=True)]
        parts[1::2] = codes
        return "".join(parts)

    def _cleaned(self, text: str, removals: Removals) -> str:
        if not any(sign in text for sign in ("<", "&", "](", "][", "![", "]:", "$")):
            return text
        from bot.events.elements import without_elements
        from bot.events.rendering import without_undrawn, without_unreferenced

        text = without_undrawn(without_unreferenced(text, removals), removals)
        text = self._entities.remove_invisible(without_elements(text, removals), removals)
        remaining_text, count = _IMAGE.subn("![]", text)
        removals.add(TEXT, count, lines_with(_IMAGE, text))
        parts = _TITLE.split(remaining_text)
        removals.add(TEXT, len(parts) // 2, _lines(_TITLE, remaining_text))
        return "".join(parts)


def _rendered_codes(parts: list[str], removals: Removals) -> list[str]:
    from bot.events.rendering import rendered_code

    codes: list[str] = []
    lines = 0
    for before, code in zip(parts[::2], parts[1::2], strict=False):
        lines += before.count("\n")
        codes.append(rendered_code(code, before[-1:], lines, removals))
        lines += code.count("\n")
    return codes


def _lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return lines_of(text, (one.start() for one in pattern.finditer(text)))


_ENTITY = re.compile(r"(&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,30});)")


class _Entities:
    """Removes references to invisible characters. Each reference is classified once."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._nothing: set[str] = set()

    def remove_invisible(self, text: str, removals: Removals) -> str:
        """Return `text` without references to invisible characters."""
        # Every second part is a reference.
        parts = _ENTITY.split(text)
        references = set(parts[1::2])
        self._classify(list(references - self._known))
        invisible = references & self._nothing
        if not invisible:
            return text
        remaining = [part for part in parts if part not in invisible]
        removals.add(
            ENTITY, len(parts) - len(remaining), lines_with(_ENTITY, text, lambda one: one[0] in invisible)
        )
        return "".join(remaining)

    def _classify(self, references: list[str]) -> None:
        """Classify all in one call of `visible`, each between two letters on a line of its own."""
        self._known.update(references)
        candidates = [
            (one, character)
            for one, character in zip(references, map(_character, references), strict=True)
            if one != character and "\n" not in character and not character.isspace()
        ]
        seen = visible("\n".join([f"a{character}a" for _, character in candidates])).split("\n")
        self._nothing.update(one for (one, _), rest in zip(candidates, seen, strict=False) if rest == "aa")


def _character(reference: str) -> str:
    """The same as `html.unescape`, faster for most references."""
    if reference[1] == "#":
        code = int(reference[3:-1], 16) if reference[2] in "xX" else int(reference[2:-1])
        if 0x9F < code < 0xD800 or 0xE000 <= code < 0xFDD0 or 0x10000 <= code < 0x1FFFE:
            return chr(code)
    return html.unescape(reference)
