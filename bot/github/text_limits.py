"""Cut texts to the lengths that GitHub accepts, with a note. The last resort: who writes a text limits its parts."""

import re

from bot.github.values import OWN_MARKER

# GitHub counts characters (code points), not bytes: "body is too long (maximum is 65536 characters)".
BODY_LIMIT = 65_536
TITLE_LIMIT = 256
NOTE = "*Cut: GitHub takes no more than 65,536 characters. The whole is in the run's report.*"

_FENCE = re.compile(r"^ {0,3}(`{3,80}|~{3,80})", re.MULTILINE)
# For the fence that closes a code block, and line ends.
_ROOM = 100


def fit(body: str) -> str:
    """Return `body`, cut if it is too long, below a note. Our marker on the last line is kept."""
    if len(body) <= BODY_LIMIT:
        return body
    text, _, mark = body.rstrip().rpartition("\n")
    if not mark.startswith(OWN_MARKER):
        text, mark = body, ""
    cut = text[: BODY_LIMIT - len(NOTE) - len(mark) - _ROOM]
    fences = _FENCE.findall(cut)
    return f"{NOTE}\n\n{cut}\n{fences[-1] if len(fences) % 2 else ''}\n\n{mark}\n"


def fit_title(title: str) -> str:
    """Return `title` as one line of at most 256 characters."""
    line = " ".join(title.split())
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1].rstrip()}…"
