"""Cut a command's output for a result, with a note on what is missing and where the rest is.

Of long output alike lines in a row are folded; if that is not enough, the head and the tail are shown, on line
boundaries: errors are at the end, and the command's steps at the beginning. The spill file has made it plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.toolhost.spill import Spill

LIMIT = 12_000
"""Characters of one command's output in a result, without notes."""

LINE_LIMIT = 2_000
_HEAD_SHARE = 0.3
_HEAD_BYTES = 256 * 1024
_TAIL_BYTES = 512 * 1024
_EDGE = LINE_LIMIT - 100
_FOLDED_FROM = 6
"""Lines in a row. Of as many alike ones or more the first three and the last are shown."""


class Start(NamedTuple):
    """Where in a spill file to begin: the byte, and the lines before it."""

    byte: int = 0
    lines: int = 0


def present(spill: Spill, start: Start | None = None) -> str:
    """The output for the model, with the way to the rest if some is left out."""
    if spill.binary:
        return f"[binary output, {spill.total} bytes; all of it: {spill.name}]\n"
    start = start or Start()
    unfinished = spill.unfinished()
    length = spill.size - start.byte
    if not spill.left_out and length <= _HEAD_BYTES + _TAIL_BYTES:
        return _middle_out(_lines(spill.read(start.byte, length) + unfinished), [], spill, start)
    beginning = spill.read(start.byte, min(_HEAD_BYTES, spill.cap - start.byte))
    end = spill.last(min(length, _TAIL_BYTES)) + unfinished
    head, tail = _whole_lines(beginning, first=True), _whole_lines(end, first=False)
    return _middle_out(_lines(head), _lines(tail), spill, start)


def with_notes(text: str, notes: Sequence[str], nothing: str) -> str:
    """The text with `notes` beneath it, each in brackets on a line of its own."""
    return (_ended(text) if text.strip() else nothing) + "\n".join(f"[{note}]" for note in notes)


def _lines(raw: bytes) -> list[str]:
    """The lines with their ends, long ones cut. Only line feeds end a line."""
    text = raw.decode("utf-8", "ignore")  # plain already; only the edges of a piece may be broken
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return [_cut(line) for line in lines if line]


def _cut(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:LINE_LIMIT]} [{len(line) - len(end) - LINE_LIMIT} more characters]{end}"


def _whole_lines(piece: bytes, *, first: bool) -> bytes:
    """`piece` without the partial line at its inner edge; if it is one partial line, its outer part."""
    if not piece:
        return piece
    if first:
        return piece[: piece.rfind(b"\n") + 1] or piece[:_EDGE] + b" [the line goes on]\n"
    return piece[piece.find(b"\n") + 1 :] or b"[the line began before] " + piece[-_EDGE:]


def _middle_out(head: list[str], tail: list[str], spill: Spill, start: Start) -> str:
    """All lines when they fit; else as many as fit of the head and of the tail, with a note between.

    `tail` is empty when `head` is all there is.
    """
    if not tail and sum(map(len, head)) <= LIMIT:
        text = "".join(head)
        is_cut = any(len(line) > LINE_LIMIT + 1 for line in head)
        return f"{_ended(text)}[long lines were cut; full output: {spill.name}]\n" if is_cut else text
    head, tail = _folded(head), _folded(tail)
    if not tail and sum(map(len, head)) <= LIMIT:
        return f"{_ended(''.join(head))}[alike lines are folded; full output: {spill.name}]\n"
    first = _fitting(head, int(LIMIT * _HEAD_SHARE))
    last = _fitting((tail or head[len(first) :])[::-1], LIMIT - int(LIMIT * _HEAD_SHARE))[::-1]
    total_lines = spill.newlines - start.lines + (0 if not last or last[-1].endswith("\n") else 1)
    lines = max(total_lines - len(first) - len(last), 0)
    size = max(spill.size - start.byte - sum(len(line.encode()) for line in (*first, *last)), 0)
    note = (
        f"[{lines} lines / {size} bytes omitted; full output: {spill.name}; page it with view "
        "(offset, limit) or search it with grep]\n"
    )
    dropped = (
        f"\n[the output was {spill.size} bytes; the file keeps its beginning and end, without the "
        f"{spill.left_out} between them]\n"
    )
    return "".join([*first, note, *last, dropped if spill.left_out else ""])


def _folded(lines: Sequence[str]) -> list[str]:
    """`lines` with a count in place of most of those in a row that are alike."""
    folded: list[str] = []
    run: list[str] = []
    for line in (*lines, None):
        if line is not None and run and _alike(run[-1], line):
            run.append(line)
            continue
        if len(run) >= _FOLDED_FROM:
            run[3:-1] = [f"[{len(run) - 4} lines like these]\n"]
        folded += run
        run = [] if line is None else [line]
    return folded


def _alike(one: str, other: str) -> bool:
    """Whether the lines have as many words, of which most are the same."""
    words, others = one.split(), other.split()
    same = sum(map(str.__eq__, words, others))
    return len(words) == len(others) and 0 < len(words) < 2 * same


def _fitting(lines: list[str], remaining: int) -> list[str]:
    taken: list[str] = []
    for line in lines:
        remaining -= len(line)
        if remaining < 0:
            break
        taken.append(line)
    return taken


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
