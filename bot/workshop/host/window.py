"""A piece of a file, cut so that it fits a result: by lines, by bytes, by the length of a line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.text import count_lines

MAX_BYTES = 50 * 1024
MAX_LINE = 2000

_STEP = 64 * 1024
_CHUNK = 256 * 1024
"""Bytes read at once: what fits the processor's cache is passed over in half the time."""

_SPARSE = 32
"""Bytes a line from which on taking the line feeds out is a faster way to count them than counting."""


@dataclass(frozen=True, slots=True)
class Window:
    """Lines from `first` on, without their ends; `total` of the file, `None` where it was not read to its end.
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
    """Up to `limit` lines of a UTF-8 file that is too large to be held: memory stays at a few chunks whatever the
    file or its lines. Bytes that are no text show as replacement characters."""
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
    """Where the text goes on after its first `feeds` line feeds; its end when it has fewer. Whole steps are
    skipped by counting."""
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
    """The byte after so many line feeds; the end of the file where it has fewer."""
    at = found = 0
    if not feeds:
        return 0
    for chunk in _chunks(fd, 0, cancelled):
        sparse = found * _SPARSE < len(chunk)
        found = len(chunk) - len(chunk.replace(b"\n", b"")) if sparse else chunk.count(b"\n")
        if found >= feeds:
            return at + len(chunk) - len(chunk.split(b"\n", feeds)[-1])
        feeds -= found
        at += len(chunk)
    return at


def _chunks(fd: int, at: int, cancelled: Cancellation) -> Iterator[bytes]:
    while not cancelled.is_set() and (chunk := os.pread(fd, _CHUNK, at)):
        yield chunk
        at += len(chunk)


def _decoded(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
