"""Cut texts to the lengths that GitHub accepts, with a note, keeping the Markdown valid."""

import re

from bot.contracts.threads import OWN_MARKER

# GitHub counts characters (code points), not bytes: "body is too long (maximum is 65536 characters)".
BODY_LIMIT = 65_536
TITLE_LIMIT = 256
NOTE = "*Cut here: GitHub takes no more than 65,536 characters. The whole is in the run's report.*"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def fit(body: str, limit: int = BODY_LIMIT) -> str:
    """Return `body`, cut at a line break if it is too long. Our marker on the last line is kept."""
    if len(body) <= limit:
        return body
    text, _, mark = body.rstrip().rpartition("\n")
    if not mark.startswith(OWN_MARKER):
        text, mark = body, ""
    tail = f"\n\n{NOTE}\n" + (f"\n{mark}\n" if mark else "")
    size_left = limit - len(tail)
    while True:
        cut = text[: max(size_left, 0)]
        line_end = cut.rfind("\n")  # unless that loses more than a tenth
        cut = (cut[:line_end] if line_end > len(cut) * 9 // 10 else cut).rstrip()
        fence, start, _ = _open_at_end(cut)
        words = cut[start:].partition("\n")[0].strip().removeprefix(fence).split()
        if fence and words[:1] == ["suggestion"]:
            # A suggestion that was cut would still apply, and delete the rest.
            cut = cut[:start].rstrip()
        closing = _closing(cut)
        if len(cut) + len(closing) + len(tail) <= limit or not cut:
            return f"{cut}{closing}{tail}"
        size_left -= len(closing)


def fit_title(title: str) -> str:
    """Return `title` as one line of at most 256 characters."""
    line = " ".join(title.split())
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1].rstrip()}…"


def _closing(text: str) -> str:
    """Close the code block and the folds that are open at the end of `text`."""
    fence, _, folds = _open_at_end(text)
    return (f"\n{fence}" if fence else "") + "\n\n</details>" * max(folds, 0)


def _open_at_end(text: str) -> tuple[str, int, int]:
    """Return the fence of the code block that is open at the end, its offset, and the number of open folds."""
    fence, start, folds, position = "", 0, 0, 0
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match.group(1).startswith(fence) and not line[match.end() :].strip():
                fence = ""
        elif match:
            fence, start = match.group(1), position
        else:
            folds += line.count("<details") - line.count("</details>")
        position += len(line) + 1
    return fence, start, folds
