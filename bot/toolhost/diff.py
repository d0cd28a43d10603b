"""Unified diffs of two texts. Counts come from the comparison, not from the text, in which a line may itself begin
with a plus or a minus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from bot.toolhost.text import split_lines

CONTEXT = 3
_NO_END = "\n\\ No newline at end of file"

# difflib takes seconds on a middle this large; there the change is shown as one block.
_COMPARED = 20_000
MAX_TEXT = 1024 * 1024
"""Characters of the diffs of one call: they travel in a question and in metadata, and a frame holds 16 MiB of escaped
JSON."""

Block = tuple[int, int, int, int]
"""A change: old lines [a, b) became new lines [c, d), counted from 0."""


class Diff(NamedTuple):
    """`text` is in unified format without a file header when both sides are equal; `blocks` are its changes."""

    text: str
    additions: int
    removals: int
    blocks: tuple[Block, ...]

    def cut(self, limit: int) -> Diff:
        """The same with at most `limit` characters of text, and the number of those left out."""
        if len(self.text) <= limit:
            return self
        return self._replace(text=f"{self.text[:limit]}\n[{len(self.text) - limit} more characters]\n")


def compare(
    old: str,
    new: str,
    path: str,
    *,
    created: bool = False,
    deleted: bool = False,
    source: str = "",
) -> Diff:
    """The difference between two versions of the file `path`, which was moved there from `source` if that is given."""
    old_lines, new_lines = _lines(old), _lines(new)
    blocks = tuple(_blocks(old_lines, new_lines))
    additions = sum(d - c for _, _, c, d in blocks)
    removals = sum(b - a for a, b, _, _ in blocks)
    text = f"rename from {source}\nrename to {path}\n" if source else ""
    if blocks or created or deleted:
        before = "/dev/null" if created else f"a/{source or path}"
        after = "/dev/null" if deleted else f"b/{path}"
        text += f"--- {before}\n+++ {after}\n" + "".join(_render(old_lines, new_lines, blocks))
    return Diff(text, additions, removals, blocks).cut(MAX_TEXT)


def _lines(text: str) -> Sequence[str]:
    """The lines without their ends. A last line without a line end is marked, so that it differs from one with a
    line end."""
    lines = split_lines(text)
    return [*lines[:-1], lines[-1] + _NO_END] if text and not text.endswith("\n") else lines


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[Block]:
    """The changes, in order. Equal lines at both ends are taken off first: an edit leaves little in between."""
    top, end = common_ends(old, new)
    old_middle, new_middle = old[top : len(old) - end], new[top : len(new) - end]
    if not old_middle and not new_middle:
        return
    if not old_middle or not new_middle or len(old_middle) + len(new_middle) > _COMPARED:
        yield top, top + len(old_middle), top, top + len(new_middle)
        return
    for tag, a, b, c, d in SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes():
        if tag != "equal":
            yield top + a, top + b, top + c, top + d


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """The numbers of equal items at the top, and of the rest at the end."""
    shorter = min(len(old), len(new))
    top = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - top
    return top, next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)


def _render(old: Sequence[str], new: Sequence[str], blocks: tuple[Block, ...]) -> Iterator[str]:
    for hunk in _hunks(blocks):
        before, after = min(CONTEXT, hunk[0][0]), min(CONTEXT, len(old) - hunk[-1][1])
        a, b = hunk[0][0] - before, hunk[-1][1] + after
        c, d = hunk[0][2] - before, hunk[-1][3] + after
        yield f"@@ -{_span(a, b)} +{_span(c, d)} @@\n"
        at = a
        for first, last, new_first, new_last in hunk:
            yield from (f" {line}\n" for line in old[at:first])
            yield from (f"-{line}\n" for line in old[first:last])
            yield from (f"+{line}\n" for line in new[new_first:new_last])
            at = last
        yield from (f" {line}\n" for line in old[at:b])


def _hunks(blocks: tuple[Block, ...]) -> Iterator[list[Block]]:
    """Group changes whose context would touch."""
    hunk: list[Block] = []
    for block in blocks:
        if hunk and block[0] - hunk[-1][1] > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _span(first: int, last: int) -> str:
    count = last - first
    return f"{first + 1 if count else first},{count}"
