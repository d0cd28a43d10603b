"""The text gate: neutralise the titles, bodies, comments and commit messages that leave.

A model that read strangers' text wrote them, so they may not notify people, close issues, run commands, load or hide
anything, or link to a host that is not allowed. Code blocks are never rewritten, since people copy them: a block with
forbidden content is withheld. What has an effect in a commit message is forbidden in code, too, since a squash merge
turns a pull request's title and body into a commit message.

Text is cleaned in three steps. A parser finds the code blocks. Outside of them, everything that could have an effect is
broken by a zero-width character, also in inline code, so that the parsing of inline Markdown does not matter. Then
`live_part` parses the result as it would be rendered: if anything still has an effect, or if parsing takes too long,
the whole text is sent as one code block.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

from bot.contracts.plain_text import UNSEEN
from bot.gate.links_and_markdown import (
    BREAK,
    LANGUAGE,
    CodeBlock,
    SlowText,
    code_blocks,
    live_part,
    plain_addresses,
)

MAX_CHARACTERS = 65_536
"""GitHub's limit for a body."""

_CUT = "…"
_IMAGE = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MENTION = re.compile(r"@(?=\\{0,3}[A-Za-z0-9._-])")
# At the beginning of a line or of a table's cell, after anything that renders no word, such as links without text.
_SLASH_COMMAND = re.compile(
    r"((?:^|(?<=\|))(?:&nbsp;|\d{1,9}[.)]|\[[xX]\]|\[[^\[\]\w\n]*+\]\([^()\n]*+\)|[^\w\n/|&]|_)*+)/(?=[*_~\\]{0,9}[A-Za-z])",
    re.MULTILINE,
)
# Trackers act on one of these words before an issue: GitHub, GitLab, Jira, Linear, Azure Boards, Launchpad and others.
_VERB = (
    r"(?:(?:clos|fix|resolv|implement|complet|finish|deliver|address|reopen|accept|reject|start|ship|invalidat)"
    r"(?:e|es|ed|s|d|ing)?|done|wontfix|lp)"
)
_NOUN = r"(?:issue|bug|ticket|task|story|case|item|defect)s?\b"
# Between the words and the number, white space and Markdown characters do not matter.
_GAP = r"(?:&nbsp;|[\s:*_~(\[\\>`\"'-])"
# `#1`, `owner/name#1`, `AB#1`, `name!1`; `KEY-1`; `T1`, `DE123`. The words before a hyphen are standards.
_ISSUE = (
    r"(?:[\w./:+-]{0,200}\\?[#!]\d|https?://"
    r"|(?-i:(?!(?:UTF|ISO|SHA|RFC|PEP|CVE|CWE)-)[A-Z][A-Z0-9_]{0,30}-\d|T\d|[A-Z]{1,2}\d{3}))"
)
# A key in lower case only after white space: code has `close(fd-1)`.
_LOWER = r"[\s:]{1,20}(?!(?:utf|iso|sha|rfc|pep|cve|cwe)-)[a-z][a-z0-9_]{0,30}-\d"
_CLOSING = re.compile(
    rf"(?:\b|(?<=_)){_VERB}(?={_LOWER}|{_GAP}*+(?:{_ISSUE}|{_NOUN}{_GAP}*+(?:\d|{_ISSUE})))", re.IGNORECASE
)
_MARK = r"(?<![^\s>*_~|])[#^]"
# What trackers act on without such a word: `AB#1`, `sc-1`, `[ch1]`, `[#1 state:done]`, `CU-1a2b[done]`, `#done`.
_TRACKED = re.compile(
    r"\bAB#(?=\d)|\bsc-(?=\d)|\[ch(?=\d+\])|\[(?=#\d+ \w)|(?:\bCU-|(?<!\w)#)(?=[A-Za-z0-9]{5,12}\[)"
    rf"|{_MARK}(?={_VERB}\b)",
    re.IGNORECASE,
)
# In a line with a key, any word behind a mark: `KEY-1 #time 2h`, `^KEY-1 verified`.
_KEY_LINE = re.compile(r"^.*\b[A-Z][A-Z0-9_]{1,30}-\d.*$", re.MULTILINE)
_MARKED_WORD = re.compile(rf"{_MARK}(?=[A-Za-z])")
# `bug 1`, and in a trailer `Fixed: 1`, `Task: x/1`. These are too common in code.
_NUMBERED = re.compile(
    rf"\bbugs?(?=[\s:#=]{{1,5}}\d)|^(?:{_VERB}|{_NOUN})(?=[:=]\s{{0,5}}\S{{0,60}}\d)",
    re.IGNORECASE | re.MULTILINE,
)
# `owner/name#1` and `owner#1`: GitHub adds a note to the thread that they name.
_FOREIGN_REFERENCE = re.compile(r"(?<=[\w.-])([*~\\]{0,9})#(?=[*_~\\]{0,9}\d)")
_REFERENCE = re.compile(r"(?:#|\bGH-)(?=\d)", re.IGNORECASE)
_MOST_REFERENCES = 50
# What makes CI skip a commit: `[skip ci]`, `[ci skip]`, `[no ci]`, a trailer `skip-checks`, `***NO_CI***`.
_SKIPS_CI = re.compile(
    r"\[(?=(?:skip|no)[ -][a-z]{2,12}\]|[a-z]{2,12}[ -]skip\])|\bskip-(?=checks\s{0,20}:)|\*\*\*(?=NO_CI)",
    re.IGNORECASE,
)
# GitHub looks for mentions and references after it has decoded entities.
_ENTITY = re.compile(
    r"&(?=#|(?!(?:amp|lt|gt|quot|apos|nbsp|copy|hellip|[mn]dash|times|middot|bull|[lr]arr);)[A-Za-z][A-Za-z0-9]{1,31};)"
)
# Where any parser could begin a block: after the marks of lists and quotations. Backticks are no fence before others.
_FENCE_LIKE = re.compile(
    r"^((?:[ \t>*+-]|\d{1,9}[.)]|\[[ xX]\])*+)(`{3,}+(?=[^`\n]*$)|~{3,}+)([^\n]*)$", re.MULTILINE
)
# GitHub renders these as drawings, with links and pictures of other hosts.
_DRAWN = re.compile(r"mermaid|geojson|topojson|stl|math", re.IGNORECASE)
_DRAWN_WITH_LINKS = re.compile(
    r"[/\\]{2}\w|:[/\\]{2}|\b(?:href|click|img|image|includegraphics)\b|\burl\s*\(|\\url\b"
    r"|(?:^[^\S\n]*+|\$)links?\b",
    re.IGNORECASE | re.MULTILINE,
)
_RUN = re.compile(r"`+|~+")
# What the redactor and the credential finder write in place of a secret.
_MASKED = re.compile(r"\[redacted[ :]")
_WORKFLOW_COMMAND = re.compile(r"^([^\S\n]*+)(::|##\[)", re.MULTILINE)


def clean_line(text: str, limit: int) -> str:
    """Return `text` as one plain line of at most `limit` characters, for a title or a heading."""
    flat = " ".join(UNSEEN.sub("", text).split())
    return _shortened(_harmless(flat), limit)


def clean_markdown(text: str, limit: int) -> str:
    """Return `text` as Markdown without effects, at most `limit` characters. Fenced code is unchanged."""

    limit = min(limit, MAX_CHARACTERS)
    with suppress(SlowText):
        cleaned = _cleaned(text, limit, _harmless_markdown, break_commit_words)
        if not live_part(cleaned):
            return cleaned
    whole = CodeBlock(0, 0, "```", "", UNSEEN.sub("", _lines_ended(text)[:MAX_CHARACTERS]), nested=False)
    return _joined([(True, _code_or_why_not(whole, whole.content, break_commit_words))], limit)


def clean_message(text: str, limit: int) -> str:
    """Return `text` as the body of a commit message, at most `limit` characters. There, code has effects as well."""
    try:
        return _cleaned(text, min(limit, MAX_CHARACTERS), _harmless, _harmless)
    except SlowText:
        return _shortened(_harmless(UNSEEN.sub("", _lines_ended(text)[:MAX_CHARACTERS])), limit)


def split_code(text: str) -> Iterator[tuple[bool, str]]:
    """Split our Markdown into parts, each with whether it is code. Parts outside of code have no invisible
    characters."""
    lines = _split(text)
    seen = list(map(without_unseen, lines))
    at, blocks = 0, list[CodeBlock]()
    with suppress(SlowText):  # then no part counts as code
        blocks = code_blocks("".join(seen), html=True)
    for block in blocks:
        yield False, "".join(seen[at : block.start])
        first, *inner = lines[block.start : block.end]
        last = inner.pop() if inner else ""
        yield not block.nested, without_unseen(first) + "".join(inner) + without_unseen(last)
        at = block.end
    yield False, "".join(seen[at:])


_Clean = Callable[[str], str]
"""Returns a text without what would have an effect."""


def _cleaned(text: str, limit: int, prose: _Clean, code: _Clean) -> str:
    """Neutralise everything but the code blocks.

    If no block contains anything that would have an effect as text, parsers may disagree on what is a block, and each
    stays in place. Otherwise every block is moved to the margin. No line around them looks like a fence, so all parsers
    agree on what is code.
    """
    lines = _split(_lines_ended(text)[:MAX_CHARACTERS])
    seen = [UNSEEN.sub("", line) for line in lines]
    blocks = code_blocks("".join(seen))
    written = [_code_or_why_not(block, "".join(lines[block.start : block.end]), code) for block in blocks]
    sources = ["".join(seen[block.start : block.end]) for block in blocks]
    in_place = all(
        own == block.canonical(block.info)
        and prose(source) == source
        and not _FENCE_LIKE.search(block.content)
        for block, own, source in zip(blocks, written, sources, strict=True)
    )
    parts: list[tuple[bool, str]] = []
    at, references = 0, count(1)
    for block, own, source in zip(blocks, written, sources, strict=True):
        parts.append((False, _prose("".join(seen[at : block.start]), prose, references)))
        unchanged = in_place or own.removesuffix("\n") == source
        parts.append((not block.nested or not in_place, source if unchanged else own))
        at = block.end
    parts.append((False, _prose("".join(seen[at:]), prose, references)))
    return _joined(parts, limit)


def _prose(text: str, harmless: _Clean, references: Iterator[int]) -> str:
    """Neutralise text without code blocks, and break lines that a parser could take for a fence."""
    text = harmless(_FENCE_LIKE.sub(lambda match: f"{match[1]}{match[2][:2]}{match[3]}", text))
    return _REFERENCE.sub(
        lambda match: match[0] if next(references) <= _MOST_REFERENCES else f"{match[0]}{BREAK}", text
    )


def _joined(parts: list[tuple[bool, str]], limit: int) -> str:
    """Join the parts of a text, each with whether it is a code block, to at most `limit` characters."""
    whole = "".join(part for _, part in parts)
    if len(whole) <= limit:
        return whole
    left = limit
    for index, (is_code, part) in enumerate(parts):
        fence = _RUN.search(part) if is_code else None
        ending = f"\n{fence[0]}\n" if fence else ""
        if len(part) + len(_CUT) > left:
            cut = part[: max(0, left - len(_CUT) - len(ending))].rstrip()
            if fence and "\n" not in cut:
                cut = ending = ""
            return f"{''.join(before for _, before in parts[:index])}{cut}{_CUT}{ending}"
        left -= len(part)
    raise AssertionError("a text over the limit has a part that is")


def _lines_ended(text: str) -> str:
    """Return `text` with a line feed only at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str) -> list[str]:
    """Return the lines of `text` with their ends. Unlike in `str.splitlines`, only a line feed ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", _lines_ended(text))


def break_images(text: str) -> str:
    """Insert a zero-width character into the markup of each image, so that it is rendered as a link or as text."""
    return _broken(text, _IMAGE)


def without_unseen(text: str) -> str:
    """Remove what shows nothing, except the zero-width character that this module inserts."""
    return BREAK.join(UNSEEN.sub("", part) for part in text.split(BREAK))


def break_commit_words(text: str) -> str:
    """Break what has an effect in a commit message: words that close issues, and words that turn off CI."""
    text = _broken(text, _CLOSING, _TRACKED, _SKIPS_CI)
    return _KEY_LINE.sub(lambda line: _broken(line[0], _MARKED_WORD), text)


def _broken(text: str, *patterns: re.Pattern[str]) -> str:
    """Insert a zero-width character after each match."""
    for pattern in patterns:
        text = pattern.sub(rf"\g<0>{BREAK}", text)
    return text


def _code_or_why_not(block: CodeBlock, source: str, harmless: _Clean) -> str:
    """Return the code block, or one with the reason why it was removed. `source` is its text before parsing."""
    written = block.canonical(block.info if LANGUAGE.fullmatch(block.info) else "text")
    if UNSEEN.search(source):
        reason = "characters that do not show"
    elif _MASKED.search(written):
        reason = "a secret, which is masked"
    elif harmless(written) != written:
        reason = "words that would act in a commit message"
    elif _DRAWN.fullmatch(block.info) and _DRAWN_WITH_LINKS.search(block.content):
        reason = "a drawing with a link or a picture"
    else:
        return written
    return f"```text\n(a code block was held back: it holds {reason})\n```\n"


def _harmless(text: str) -> str:
    """Break mentions, closing keywords, slash and workflow commands by a zero-width character."""
    # Addresses first: they lose their queries, and the remaining text may have an effect.
    text = _SLASH_COMMAND.sub(rf"\1{BREAK}/", _broken(plain_addresses(text), _MENTION))
    text = _broken(break_commit_words(text), _NUMBERED, _FOREIGN_REFERENCE)
    return _WORKFLOW_COMMAND.sub(rf"\1{BREAK}\2", text)


def _harmless_markdown(text: str) -> str:
    """Break images, HTML and entities, too. They are shown and not removed, so that a reviewer sees hidden text.

    A zero-width character is used, never a backslash or an entity: those have different meanings inside and outside
    inline code, and parsers disagree on where inline code ends.
    """
    return _harmless(_broken(plain_addresses(text), _ENTITY, _TAG, _IMAGE))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - len(_CUT))].rstrip() + _CUT
