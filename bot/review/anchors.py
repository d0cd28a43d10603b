"""Anchor findings on lines of the diff that GitHub accepts. Lines that moved are found by their text.

GitHub refuses a whole review for one invalid anchor and does not say which, so anchors are checked here: both ends must
be in one hunk of the finding's side; on the right any shown line is valid, on the left only removed ones are.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import NamedTuple

from bot.contracts.pulls import Finding, Side
from bot.review.diff import Diff, FileDiff, Hunk

# GitHub shows no larger file diff, and accepts no comment on lines that it does not show.
LARGEST_BYTES = 400_000
LARGEST_LINES = 20_000
_SHOWN_RANGES = 6
_SHOWN_NAMES = 3


class Span(NamedTuple):
    """Lines of one side, both ends included."""

    first: int
    last: int


def anchor(finding: Finding, diff: Diff) -> Finding | str:
    """Return `finding` anchored in `diff` at the nearest lines with its `text`, or a clause why that is impossible."""
    file = diff.find(finding.path)
    if file is None:
        return "the file is not in the diff"
    if reason := closed(file):
        return reason
    if finding.line <= 0:
        return "it is about the file as a whole"
    span = Span(finding.start_line or finding.line, finding.line)
    if span.first > span.last or finding.start_line < 0:
        return "its lines are in the wrong order"
    texts = lines_at(file, finding.side, span)
    wanted = _comparable(finding.text.split("\n")) if finding.text else None
    if texts is not None and (wanted is None or _comparable(texts) == wanted):
        return _anchored(finding, file, span, texts)
    if wanted is None or not any(line.strip() for line in wanted):
        return "its lines are not in the diff"
    firsts = _nearest_lines(file, finding.side, wanted, span.first)
    if len(firsts) != 1:
        return "its lines are in the diff twice, equally near" if firsts else "its lines are not in the diff"
    moved = Span(firsts[0], firsts[0] + len(wanted) - 1)
    texts = lines_at(file, finding.side, moved)
    # On the left the text may be on context lines, where GitHub accepts no comment.
    return "its lines are not in the diff" if texts is None else _anchored(finding, file, moved, texts)


def lines_at(file: FileDiff, side: Side, span: Span) -> list[str] | None:
    """Return the text of the lines, or `None` if GitHub would refuse a comment on them."""
    hunk = next((hunk for hunk in file.hunks if hunk.holds(side, span.first)), None)
    if hunk is None or not hunk.holds(side, span.last):
        return None
    if side is Side.LEFT and not hunk.changed(side).issuperset(range(span.first, span.last + 1)):
        return None
    start = hunk.start(side)
    return hunk.side(side)[span.first - start : span.last - start + 1]


def advice(diff: Diff, path: str, line: int, side: Side) -> str:
    """Return a sentence for the model that names valid anchors near an invalid one."""
    file = diff.find(path)
    if file is None:
        names = [one.path for one in diff.files if _is_utf8(one.path)]
        close = get_close_matches(path[:200], names, n=_SHOWN_NAMES, cutoff=0.3) or names[:_SHOWN_NAMES]
        return f"{path} is not in the diff. Did you mean {' or '.join(close)}?"
    if reason := closed(file):
        return f"No line of {path} can be named: {reason}. Use line 0, the file as a whole."
    spans = sorted(_open_spans(file, side), key=lambda span: max(span.first - line, line - span.last, 0))
    if not spans:
        other = Side.LEFT if side is Side.RIGHT else Side.RIGHT
        return f"{path} has no line on the side {side}. Use side {other}, or line 0."
    near = ", ".join(f"{first}-{last}" for first, last in sorted(spans[:_SHOWN_RANGES]))
    return (
        f"On the side {side} of {path} the nearest lines are {near}; both ends in one of them. Line 0 is the file as a "
        "whole."
    )


def closed(file: FileDiff) -> str:
    """Return why no line of the file can be commented on; empty if some can."""
    if not _is_utf8(file.path):
        return "the file's name is not UTF-8"
    if file.binary:
        return "the file is binary"
    if not file.hunks:
        return "the diff shows no lines of the file"
    lines = sum(len(hunk.kinds) for hunk in file.hunks)
    if file.size > LARGEST_BYTES or lines > LARGEST_LINES:
        return "the file's diff is too large for GitHub to show"
    return ""


def _anchored(finding: Finding, file: FileDiff, span: Span, texts: Sequence[str]) -> Finding:
    return finding._replace(
        path=file.path,
        line=span.last,
        start_line=span.first if span.first < span.last else 0,
        text="\n".join(line.removesuffix("\r") for line in texts),
    )


def _nearest_lines(file: FileDiff, side: Side, wanted: Sequence[str], near: int) -> list[int]:
    """Return the first line of the nearest occurrence of `wanted`; two lines if two are equally near."""
    best: list[int] = []
    for hunk in file.hunks:
        for first in _occurrences(hunk, side, wanted):
            away = abs(first - near)
            if not best or away < abs(best[0] - near):
                best = [first]
            elif away == abs(best[0] - near):
                best.append(first)
    return best


def _occurrences(hunk: Hunk, side: Side, wanted: Sequence[str]) -> Iterator[int]:
    """Yield the first lines of all occurrences. A string search stays fast even if thousands of lines are equal."""
    if max(wanted, key=len) not in "\n".join(hunk.texts):
        return
    text = "\n" + "\n".join(_comparable(hunk.side(side))) + "\n"
    needle = "\n" + "\n".join(wanted) + "\n"
    line, counted, at = hunk.start(side), 0, text.find(needle)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        yield line
        at = text.find(needle, at + 1)


def _comparable(lines: Iterable[str]) -> list[str]:
    """Strip white space at line ends, which models do not copy faithfully."""
    return [line.rstrip() for line in lines]


def _open_spans(file: FileDiff, side: Side) -> Iterator[Span]:
    """Yield the lines of each hunk, and on the left each run of removed ones."""
    for hunk in file.hunks:
        new_lines = range(hunk.new_start, hunk.new_start + hunk.new_count)
        lines = new_lines if side is Side.RIGHT else hunk.changed(side)
        for _, run in groupby(enumerate(sorted(lines)), key=lambda one: one[1] - one[0]):
            numbers = [number for _, number in run]
            yield Span(numbers[0], numbers[-1])


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)
