"""The text gate: what titles, bodies, comments and commit messages may hold when they leave.

Everything here was written by a model that read strangers' text, so nothing in it may notify, close, command,
load or hide anything. Code blocks keep their content, since a web page acts on nothing in them; what acts in a
commit message is broken there as well, since a squash merge makes one of a pull request's title and body.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from bot.gate.secrets import withhold_if_secret

__all__ = ["break_commit_words", "clean_line", "clean_markdown", "clean_message", "withhold_if_secret"]

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
_ENTITY = re.compile(r"&(?=#|commat;|num;)")
_WORKFLOW_COMMAND = re.compile(r"^(\s{0,20})(::|##\[)", re.MULTILINE)
_SHOWN_ANYWAY = {"\n", "\t"}
_EMOJI_JOINERS = {"\u200d", "\ufe0f"}


def clean_line(text: str, limit: int) -> str:
    """`text` as one plain line of at most `limit` characters, for a title or a heading."""
    flat = " ".join(_visible(text).split())
    return _shortened(_harmless(flat), limit)


def clean_markdown(text: str, limit: int) -> str:
    """`text` as Markdown that only says things, at most `limit` characters; fenced code is left as it is."""
    plain = _visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    parts = (
        break_commit_words(part) if is_code else _harmless_markdown(part)
        for is_code, part in _split_fences(plain)
    )  # fmt: skip
    cut = _shortened("".join(parts), limit)
    return cut + _closing_fence(cut)


def clean_message(text: str, limit: int) -> str:
    """`text` as the body of a commit message, at most `limit` characters. Nothing there is code, fences included."""
    return _shortened(_harmless(_visible(text.replace("\r\n", "\n").replace("\r", "\n"))), limit)


def break_commit_words(text: str) -> str:
    """`text` with what would act in a commit message broken: closing keywords, and words that turn off CI."""
    return _SKIPS_CI.sub(rf"\g<0>{_ZERO_WIDTH}", _CLOSING.sub(rf"\1{_ZERO_WIDTH}", text))


def _visible(text: str) -> str:
    """Without control and format characters, joiners of emoji apart."""
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if (
            char in _SHOWN_ANYWAY
            or char in _EMOJI_JOINERS
            or category not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        ):
            kept.append(char)
    return "".join(kept)


def _harmless(text: str) -> str:
    """Mentions, closing keywords, slash and workflow commands broken by a character that does not show."""
    text = _MENTION.sub(f"@{_ZERO_WIDTH}", text)
    text = _SLASH_COMMAND.sub(rf"\1{_ZERO_WIDTH}/", text)
    text = break_commit_words(text)
    return _WORKFLOW_COMMAND.sub(rf"\1{_ZERO_WIDTH}\2", text)


def _harmless_markdown(text: str) -> str:
    """Images, HTML and entities broken too. Shown and not removed: what was hidden is for the reviewer to see.

    Always by a character that does not show, never by a backslash or an entity: those mean different things
    inside and outside inline code, and where inline code ends is not for this program to guess.
    """
    for pattern in (_ENTITY, _TAG, _IMAGE):
        text = pattern.sub(rf"\g<0>{_ZERO_WIDTH}", text)
    return _harmless(text)


def _split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Parts of `text` in order, each with whether it is a fenced code block (its fences included).

    An opening fence loses its indentation: at the margin it belongs to no list or quotation, so nothing but
    a closing fence can end it, and a reader of Markdown agrees with this one on where code ends.
    """
    part: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if not fence and match and not (line.lstrip(" ")[0] == "`" and "`" in line[match.end() :]):
            yield False, "".join(part)
            part, fence = [line.lstrip(" ")], match.group(1)
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
    for is_code, part in _split_fences(text):
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
