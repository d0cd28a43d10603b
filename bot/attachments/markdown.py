"""Find pictures and links in a request's texts, in linear time for any text.

A text of GitHub's has one form, which `bot/events/page_text.py` gives it.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

# Every part has a longest length and stops where the next picture might begin, so that no text is read twice.
_PICTURE = re.compile(
    r"!\[[^\[\]]{0,500}\]\([ \t]*<?([^\s()<>]{1,2000})>?(?:[ \t\n]+(?:\"[^\"]{0,300}\"|'[^']{0,300}'))?[ \t]*\)"
    r"|<img\b[^<>]{0,4000}>",
    re.IGNORECASE,
)
_TAG = re.compile(r"<img\b[^<>]{0,4000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    # `alt` is matched so that what looks like a source in its value is not.
    r"""\b(src|alt)\s*=\s*(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'<>`=]{1,2000}))""",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^[ >]*(`{3,}|~{3,})[^\n]*$[\s\S]*?(?:^[ >]*\1[ \t]*$|\Z)|(?<!`)(`+)(?!`)[\s\S]{1,2000}?(?<!`)\2(?!`)",
    re.MULTILINE,
)
_LINE = re.compile(r"[^\r\n]+")
_QUOTED = re.compile(r"[ \t]*>")
_ADDRESS = re.compile(r"https?://[^\s()<>\[\]\"'`|]{1,2000}")


class Link(NamedTuple):
    """One picture or link of a text: its `address` as written, and the end of its Markdown.
    `quoted`: it is in a quotation, so another author may have posted it first."""

    address: str
    end: int
    quoted: bool


def pictures_in(text: str) -> list[Link]:
    """Return the pictures of `text` in order, except those in code."""
    text = _without_code(text)
    pictures: list[Link] = []
    line = seen = 0
    for match in _PICTURE.finditer(text):
        # What lies before `seen` was looked through already.
        line = max(line, text.rfind("\n", seen, match.start()) + 1)
        seen = match.start()
        if address := match[1] or _source(match[0]):
            quoted = _QUOTED.match(text, line, seen) is not None
            pictures.append(Link(unescape(address).strip(), match.end(), quoted))
    return pictures


def addresses_in(text: str) -> list[Link]:
    """Return the addresses of links and bare addresses in order, except those in code."""
    text = _without_code(text)
    return [
        Link(link.group().rstrip(".,:;!?*"), link.end(), _QUOTED.match(line.group()) is not None)
        for line in _LINE.finditer(text)
        for link in _ADDRESS.finditer(text, *line.span())
    ]


def sources_in(html: str) -> Iterator[str]:
    """Return the addresses of the pictures in HTML that GitHub rendered."""
    return (unescape(source) for tag in _TAG.finditer(html) if (source := _source(tag.group())))


def _without_code(text: str) -> str:
    """Return `text` with blanks in place of its code, so that places stay."""
    return _CODE.sub(lambda code: " " * len(code[0]), text)


def _source(tag: str) -> str:
    """Return the first source of a tag, as browsers do."""
    sources = (match for match in _ATTRIBUTE.finditer(tag) if match[1].lower() == "src")
    return next((match[2] or match[3] or match[4] or "" for match in sources), "")
