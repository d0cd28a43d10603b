"""Separate front matter, YAML between two lines of `---`, from the text after it."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"---[ \t]*")


class FrontMatter(NamedTuple):
    """`yaml` is `None` without front matter, and begins with an empty line in place of the first `---`, so that its
    line numbers are the file's. `body` is the rest. `is_open`: the second `---` is missing."""

    yaml: str | None
    body: str
    is_open: bool = False


def split_front_matter(text: str) -> FrontMatter:
    """Return front matter and body, with LF line ends and without a byte order mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter(None, text)
    end = next((number for number, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return FrontMatter(None, text, is_open=True)
    return FrontMatter("\n".join(["", *lines[1:end], ""]), "\n".join(lines[end + 1 :]))
