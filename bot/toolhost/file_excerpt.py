"""Cut a piece of a file for a result: by lines, by bytes, by the length of a line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bot.toolhost.programs import Cancellation
from bot.toolhost.text import count_lines, split_lines

MAX_BYTES = 50 * 1024
MAX_LINE = 2000

_STEP = 64 * 1024
_CHUNK = 256 * 1024
"""Bytes read at once: a chunk that fits the processor's cache is searched in half the time."""

_SPARSE = 32
"""Bytes a line from which on line feeds are counted faster by removing them."""


class Window(NamedTuple):
    """Lines from `first` on, without their ends; `total` of the file, `None` if it was not read to its end.
    `more` is true when the file goes on after them, `cut` counts lines that were shortened."""

    first: int
    lines: tuple[str, ...]
    total: int | None
    more: bool
    cut: int

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    def numbered(self) -> str:
        return "".join(f"{number}|{line}\n" for number, line in enumerate(self.lines, self.first))


def of_text(lf: str, first: int, limit: int) -> Window:
    """Up to `limit` lines of LF text. `first` is 1-based."""
    return _fit(_lines_from(lf, first), first, limit, count_lines(lf))


def of_stream(fd: int, first: int, limit: int, cancelled: Cancellation) -> Window:
    """Up to `limit` lines of a large UTF-8 file, in the memory of a few chunks, however long its lines are. Bytes that
    are no text become replacement characters."""
    return _fit(_streamed_lines(fd, first, cancelled), first, limit, None)


def _fit(lines: Iterator[str], first: int, limit: int, total: int | None) -> Window:
    """Take lines until one of the limits; the first line always fits."""
    taken: list[str] = []
    size = cut = 0
    more = False
    for line in lines:
        short = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}[line goes on]"
        size += len(short.encode("utf-8", "replace")) + len(str(first + len(taken))) + 2
        if len(taken) == limit or (taken and size > MAX_BYTES):
            more = True
            break
        cut += short is not line
        taken.append(short)
    return Window(first, tuple(taken), total, more, cut)


def _lines_from(lf: str, first: int) -> Iterator[str]:
    at = _offset(lf, first - 1)
    while at < len(lf):
        end = lf.find("\n", at)
        if end < 0:
            end = len(lf)
        yield lf[at:end]
        at = end + 1


def _offset(lf: str, feeds: int) -> int:
    """The offset after the first `feeds` line feeds; the end of the text if it has fewer. Whole steps are skipped by
    counting."""
    at = 0
    while at < len(lf):
        passed = lf.count("\n", at, at + _STEP)
        if passed >= feeds:
            break
        feeds -= passed
        at += _STEP
    for _ in range(feeds if at < len(lf) else 0):
        at = lf.index("\n", at) + 1
    return at


def _streamed_lines(fd: int, first: int, cancelled: Cancellation) -> Iterator[str]:
    """Lines from `first` on, each with at most a little over `MAX_LINE` characters kept."""
    keep = 4 * (MAX_LINE + 1)
    line = b""
    for chunk in _chunks(fd, _passed(fd, first - 1, cancelled), cancelled):
        *whole, start = chunk.split(b"\n")
        for piece in whole:
            yield _decoded(line + piece[: keep - len(line)])
            line = b""
        line += start[: keep - len(line)]
    if line:
        yield _decoded(line)


def _passed(fd: int, feeds: int, cancelled: Cancellation) -> int:
    """The byte after so many line feeds; the end of the file if it has fewer."""
    at = count = 0
    if not feeds:
        return 0
    for chunk in _chunks(fd, 0, cancelled):
        sparse = count * _SPARSE < len(chunk)
        count = len(chunk) - len(chunk.replace(b"\n", b"")) if sparse else chunk.count(b"\n")
        if count >= feeds:
            return at + len(chunk) - len(chunk.split(b"\n", feeds)[-1])
        feeds -= count
        at += len(chunk)
    return at


def _chunks(fd: int, at: int, cancelled: Cancellation) -> Iterator[bytes]:
    while not cancelled.is_set() and (chunk := os.pread(fd, _CHUNK, at)):
        yield chunk
        at += len(chunk)


def _decoded(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")


AROUND = 2
"""Unchanged lines that an edit's result shows on each side of the change."""

_ENDS = 3
_ECHO = 900
"""Characters of the file in an edit's result: the model has just sent most of it."""

_ECHO_LINE = 100
_MAX_LINES = 40
_MAX_LINE = 200


def excerpt(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last` (1-based, cut to what exists), numbered as a view numbers them; a long piece keeps
    its two ends."""
    numbers = range(max(1, first), min(last, len(lines)) + 1)
    if len(numbers) <= _MAX_LINES:
        return "\n".join(_numbered(lines, number) for number in numbers)
    half = _MAX_LINES // 2
    top, end = numbers[:half], numbers[-half:]
    left_out = f"[{len(numbers) - 2 * half} lines]"
    return "\n".join([*(_numbered(lines, n) for n in top), left_out, *(_numbered(lines, n) for n in end)])


def changed_part(lf: str, first: int, last: int) -> str:
    """The lines that changed, with a few around them, so that the next edit needs no view."""
    return ends(split_lines(lf), first - AROUND, last + AROUND) or "[the file is empty now]"


def ends(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last`, numbered; of more than a few, the three at each end."""
    numbers = range(max(1, first), min(last, len(lines)) + 1)
    if len(numbers) <= 2 * _ENDS + 1:
        return "\n".join(_numbered(lines, number, _ECHO_LINE) for number in numbers)
    parts = [_numbered(lines, number, _ECHO_LINE) for number in (*numbers[:_ENDS], *numbers[-_ENDS:])]
    parts.insert(_ENDS, f"[{len(numbers) - 2 * _ENDS} lines]")
    return "\n".join(parts)


def within_echo(pieces: Iterable[str], rest: str) -> Iterator[str]:
    """The first pieces that fit into an edit's result, then `rest` where some did not."""
    left = _ECHO
    for piece in pieces:
        left -= len(piece) + 1
        if left < 0:
            yield rest
            return
        yield piece


def _numbered(lines: Sequence[str], number: int, most: int = _MAX_LINE) -> str:
    line = lines[number - 1]
    return f"{number}|{line}" if len(line) <= most else f"{number}|{line[:most]}[line goes on]"
