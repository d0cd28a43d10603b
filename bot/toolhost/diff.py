"""Unified diffs of two texts. Counts come from the comparison, not from the text, in which a line may itself begin
with a plus or a minus."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bot.toolhost.encoding import split_lines

CONTEXT = 3
_NO_END = "\n\\ No newline at end of file"

# difflib takes seconds on a middle this large; there the change is shown as one block.
_COMPARED = 20_000
MAX_TEXT = 1024 * 1024
"""Characters of the diffs of one call: they travel in a question and in metadata, and a frame holds 16 MiB of escaped
JSON."""

Opcode = tuple[str, int, int, int, int]
"""As of `difflib`: a tag, and the lines of both sides."""


class Diff(NamedTuple):
    """`text` is in unified format, without a file header when both sides are equal."""

    text: str
    additions: int
    removals: int


def compare(old: str | None, new: str | None, path: str, source: str = "", limit: int = MAX_TEXT) -> Diff:
    """The difference between two versions of the file `path`, `None` where there is none; it was moved there from
    `source` if that is given. Of longer text than `limit` the number of the characters left out is given."""
    old_lines, new_lines = _lines(old or ""), _lines(new or "")
    rows: list[str] = []
    additions = removals = 0
    for hunk in _hunks(old_lines, new_lines):
        rows.append(f"@@ -{_span(hunk[0][1], hunk[-1][2])} +{_span(hunk[0][3], hunk[-1][4])} @@\n")
        for tag, a, b, c, d in hunk:
            if tag == "equal":
                rows += [f" {line}\n" for line in old_lines[a:b]]
                continue
            rows += [f"-{line}\n" for line in old_lines[a:b]] + [f"+{line}\n" for line in new_lines[c:d]]
            removals, additions = removals + b - a, additions + d - c
    text = f"rename from {source}\nrename to {path}\n" if source else ""
    if rows or old is None or new is None:
        before = "/dev/null" if old is None else f"a/{source or path}"
        after = "/dev/null" if new is None else f"b/{path}"
        text += f"--- {before}\n+++ {after}\n" + "".join(rows)
    if len(text) > limit:
        text = f"{text[:limit]}\n[{len(text) - limit} more characters]\n"
    return Diff(text, additions, removals)


def _lines(text: str) -> Sequence[str]:
    """The lines without their ends. A last line without a line end is marked, so that it differs from one with a
    line end."""
    lines = split_lines(text)
    return [*lines[:-1], lines[-1] + _NO_END] if text and not text.endswith("\n") else lines


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[list[Opcode]]:
    """The changes with their context, in order. Equal lines at both ends are taken off first: an edit leaves little in
    between."""
    shorter = min(len(old), len(new))
    top = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - top
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    if len(old) + len(new) - 2 * (top + end) > _COMPARED:
        return [[("replace", top, len(old) - end, top, len(new) - end)]]
    top, end = max(top - CONTEXT, 0), max(end - CONTEXT, 0)
    compared = SequenceMatcher(None, old[top : len(old) - end], new[top : len(new) - end], autojunk=False)
    groups = compared.get_grouped_opcodes(CONTEXT)
    return [[(tag, a + top, b + top, c + top, d + top) for tag, a, b, c, d in group] for group in groups]


def _span(first: int, last: int) -> str:
    count = last - first
    return f"{first + 1 if count else first},{count}"
