"""The text gate: what titles, bodies, comments and commit messages may hold when they leave.

Everything here was written by a model that read strangers' text, so nothing in it may notify, close, command,
load or hide anything, nor lead to a host that is not on the list. Code blocks are never rewritten, since somebody may
copy what is in them: one that holds what may not leave is held back. What acts in a commit message is not let into one
either, since a squash merge makes one of a pull request's title and body.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from bot.gate.addresses import plain_addresses
from bot.gate.secrets import withhold_if_secret

__all__ = [
    "break_commit_words",
    "break_images",
    "clean_line",
    "clean_markdown",
    "clean_message",
    "is_seen",
    "split_fences",
    "withhold_if_secret",
    "without_unseen",
]

_CUT = "…"
_ZERO_WIDTH = "\u200b"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_IMAGE = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MENTION = re.compile(r"@(?=[A-Za-z0-9])")
_SLASH_COMMAND = re.compile(r"^([ \t>*+-]{0,20})/(?=[A-Za-z])", re.MULTILINE)
_CLOSING = re.compile(
    r"\b(close[sd]?|fix(?:es|ed)?|resolve[sd]?|implement(?:s|ed)?)(?=[\s:*_~(\[\\]{0,20}"
    r"(?:#\d|GH-\d|[\w.-]{1,100}/[\w.-]{1,100}\\?#\d|https?://))",
    re.IGNORECASE,
)
# What makes CI pass over a commit: `[skip ci]`, `[ci skip]`, `[no ci]`, a trailer `skip-checks`, `***NO_CI***`.
_SKIPS_CI = re.compile(
    r"\[(?=(?:skip|no)[ -][a-z]{2,12}\]|[a-z]{2,12}[ -]skip\])|\bskip-(?=checks\s{0,20}:)|\*\*\*(?=NO_CI)",
    re.IGNORECASE,
)
# Mentions and references are looked for after entities have become characters.
_ENTITY = re.compile(
    r"&(?=#|(?!(?:amp|lt|gt|quot|apos|nbsp|copy|hellip|[mn]dash|times|middot|bull|[lr]arr);)[A-Za-z][A-Za-z0-9]{1,31};)"
)
# GitHub draws these, links and pictures of other hosts included.
_DRAWN_WITH_LINKS = re.compile(
    r"[`~]{3,}+[ \t]*+(?:mermaid|geojson|topojson)\b(?=.*?(?://|\\\\|\b(?:href|click|img|image)\b))",
    re.IGNORECASE | re.DOTALL,
)
# What the redactor and the finder of credentials put in its place.
_MASKED = re.compile(r"\[redacted[ :]")
_WORKFLOW_COMMAND = re.compile(r"^(\s{0,20})(::|##\[)", re.MULTILINE)
_SHOWN_ANYWAY = {"\n", "\t"}
_EMOJI_JOINERS = {"\u200c", "\u200d", "\ufe0f"}
# Letters and marks to Unicode, and nothing to a reader.
_NEVER_SHOWN = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def clean_line(text: str, limit: int) -> str:
    """`text` as one plain line of at most `limit` characters, for a title or a heading."""
    flat = " ".join(_visible(text).split())
    return _shortened(_harmless(flat), limit)


def clean_markdown(text: str, limit: int) -> str:
    """`text` as Markdown that only says things, at most `limit` characters; fenced code is left as it is."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    parts = (
        _code_or_why_not(part) if is_code else _harmless_markdown(_visible(part))
        for is_code, part in split_fences(plain)
    )  # fmt: skip
    cut = _shortened("".join(parts), limit)
    return cut + _closing_fence(cut)


def clean_message(text: str, limit: int) -> str:
    """`text` as the body of a commit message, at most `limit` characters. What acts in one does so in code as well."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    parts = (
        _code_or_why_not(part, harmless=_harmless) if is_code else _harmless(_visible(part))
        for is_code, part in split_fences(plain)
    )
    return _shortened("".join(parts), limit)


def break_images(text: str) -> str:
    """`text` without an image in Markdown's own form; what would be one is a link, or nothing."""
    return _IMAGE.sub(rf"\g<0>{_ZERO_WIDTH}", text)


def without_unseen(text: str) -> str:
    """`text` without control and format characters, apart from the one that breaks what may not act."""
    return "".join(char for char in text if char == _ZERO_WIDTH or is_seen(char))


def break_commit_words(text: str) -> str:
    """`text` with what would act in a commit message broken: closing keywords, and words that turn off CI."""
    return _SKIPS_CI.sub(rf"\g<0>{_ZERO_WIDTH}", _CLOSING.sub(rf"\1{_ZERO_WIDTH}", text))


def _visible(text: str) -> str:
    """Without control and format characters, joiners of emoji apart."""
    return "".join(filter(is_seen, text))


def is_seen(char: str) -> bool:
    """Whether `char` shows where it stands. A joiner of emoji does, by what it joins."""
    if " " <= char <= "~" or char in _SHOWN_ANYWAY or char in _EMOJI_JOINERS:
        return True
    if char in _NEVER_SHOWN or "\ufe00" <= char <= "\ufe0e" or "\U000e0100" <= char <= "\U000e01ef":
        return False
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _code_or_why_not(block: str, harmless: Callable[[str], str] = break_commit_words) -> str:
    """A code block as it is, or one that says why it is not there."""
    if not all(map(is_seen, block)):
        reason = "characters that do not show"
    elif _MASKED.search(block):
        reason = "a secret, which is masked"
    elif harmless(block) != block:
        reason = "words that would act in a commit message"
    elif _DRAWN_WITH_LINKS.match(block):
        reason = "a drawing with a link or a picture"
    else:
        return block
    return f"```text\n(a code block was held back: it holds {reason})\n```\n"


def _harmless(text: str) -> str:
    """Mentions, closing keywords, slash and workflow commands broken by a character that does not show."""
    text = _MENTION.sub(f"@{_ZERO_WIDTH}", text)
    text = _SLASH_COMMAND.sub(rf"\1{_ZERO_WIDTH}/", text)
    text = break_commit_words(plain_addresses(text))
    return _WORKFLOW_COMMAND.sub(rf"\1{_ZERO_WIDTH}\2", text)


def _harmless_markdown(text: str) -> str:
    """Images, HTML and entities broken too. Shown and not removed: what was hidden is for the reviewer to see.

    Always by a character that does not show, never by a backslash or an entity: those mean different things
    inside and outside inline code, and where inline code ends is not for this program to guess.
    """
    for pattern in (_ENTITY, _TAG):
        text = pattern.sub(rf"\g<0>{_ZERO_WIDTH}", text)
    return _harmless(break_images(text))


def split_fences(text: str, *, as_is: bool = False) -> Iterator[tuple[bool, str]]:
    """Parts of `text` in order, each with whether it is a fenced code block (its fences included).

    Unless `as_is`, an opening fence loses its indentation: at the margin it belongs to no list or quotation, so
    nothing but a closing fence can end it, and a reader of Markdown agrees with this one on where code ends.
    """
    part: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if not fence and match and not (line.lstrip(" ")[0] == "`" and "`" in line[match.end() :]):
            yield False, "".join(part)
            part, fence = [line if as_is else line.lstrip(" ")], match.group(1)
        elif fence and match and match.group(1).startswith(fence) and not line[match.end() :].strip():
            part.append(line)
            yield True, "".join(part)
            part, fence = [], ""
        else:
            part.append(line)
    yield bool(fence), "".join(part)


def _closing_fence(text: str) -> str:
    """The fence that `text` leaves open, closed: what is put after it must not become code."""
    last = ""
    for is_code, part in split_fences(text):
        last = part if is_code else ""
    if not last:
        return ""
    opening = _FENCE.match(last)
    assert opening is not None
    fence = opening.group(1)
    final = last.rstrip("\n").rpartition("\n")
    closed = final[1] and final[2].strip().startswith(fence) and not final[2].strip().strip(fence[0])
    return "" if closed else ("" if last.endswith("\n") else "\n") + fence + "\n"


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - len(_CUT))].rstrip() + _CUT
