"""What the model sees of a command's output: plain text, in bounds, with a word on what is missing.

Terminal sequences and control characters go, a progress bar becomes its last state, an over-long line is cut,
and of long output the head and the tail are shown, on line boundaries, since errors are at the end and what
was run is at the beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.workshop.host.spill import Spill

LIMIT = 30_000
"""Characters shown of one command's output, notes apart."""

LINE_LIMIT = 2_000
_HEAD_SHARE = 0.3
_HEAD_BYTES = 256 * 1024
_TAIL_BYTES = 512 * 1024
_SNIFF = 8192
_EDGE = LINE_LIMIT - 100

_TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # operating system command: titles, links
    r"|\x1b[PX^_][^\x1b]{0,4096}\x1b\\"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # any other escape
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OVERSTRIKE = re.compile(r"[^\n\x08]\x08")


@dataclass(frozen=True, slots=True)
class Shown:
    """`truncated` is true when lines were left out or cut, or the spill file itself is incomplete."""

    text: str
    truncated: bool


def present(spill: Spill) -> Shown:
    """The output of a finished command for the model, with the way to the rest where some is left out."""
    start = spill.read(0, _HEAD_BYTES + _TAIL_BYTES)
    if b"\0" in start[:_SNIFF]:
        return Shown(f"[binary output, {spill.total} bytes; all of it: {spill.path}]", True)
    if spill.kept <= len(start):
        text, lines_cut = clean(start)
        shown = _middle_out(text.splitlines(keepends=True), [], spill)
    else:
        head, head_cut = clean(_whole_lines(start[:_HEAD_BYTES], first=True))
        end = spill.read(spill.kept - _TAIL_BYTES, _TAIL_BYTES)
        tail, tail_cut = clean(_whole_lines(end, first=False))
        lines_cut = head_cut or tail_cut
        shown = _middle_out(head.splitlines(keepends=True), tail.splitlines(keepends=True), spill)
    if lines_cut and not shown.truncated:
        return Shown(f"{_ended(shown.text)}[long lines were cut; full output: {spill.path}]", True)
    return shown


def clean(raw: bytes) -> tuple[str, bool]:
    """`raw` as plain text, and whether a line had to be cut. Every newline stays one line end."""
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    text = _TERMINAL.sub("", text)
    while "\x08" in text and (fewer := _OVERSTRIKE.sub("", text)) != text:
        text = fewer
    if "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    text = _CONTROL.sub("", text).replace("\u2028", " ").replace("\u2029", " ")
    if len(text) <= LINE_LIMIT:
        return text, False
    cut = [_cut(line) for line in text.split("\n")]
    shorter = "\n".join(cut)
    return shorter, shorter != text


def _last_state(line: str) -> str:
    """What a terminal would show of a line that was written over: the last non-empty state."""
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def _cut(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[:LINE_LIMIT]} [{len(line) - LINE_LIMIT} more characters]"


def _whole_lines(piece: bytes, *, first: bool) -> bytes:
    """`piece` without the line that its inner edge cuts through; where that is all of it, the outer part."""
    if first:
        return piece[: piece.rfind(b"\n") + 1] or piece[:_EDGE] + b" [the line goes on]\n"
    return piece[piece.find(b"\n") + 1 :] or b"[the line began before] " + piece[-_EDGE:]


def _middle_out(head: list[str], tail: list[str], spill: Spill) -> Shown:
    """All lines when they fit; else as many as fit of the head and of the tail, with a note between.

    `tail` is empty when `head` is the whole output.
    """
    if not tail and sum(map(len, head)) <= LIMIT:
        return Shown("".join(head) + _dropped_note(spill), spill.kept < spill.total)
    first = _fitting(head, int(LIMIT * _HEAD_SHARE))
    last = _fitting((tail or head[len(first) :])[::-1], LIMIT - int(LIMIT * _HEAD_SHARE))[::-1]
    total_lines = spill.newlines + (0 if not last or last[-1].endswith("\n") else 1)
    lines = max(total_lines - len(first) - len(last), 0)
    size = max(spill.total - sum(len(line.encode()) for line in (*first, *last)), 0)
    note = (
        f"[{lines} lines / {size} bytes omitted; full output: {spill.path}; page it with view "
        "(offset, limit) or search it with grep]\n"
    )
    return Shown("".join(first) + note + "".join(last) + _dropped_note(spill), True)


def _fitting(lines: list[str], room: int) -> list[str]:
    taken: list[str] = []
    for line in lines:
        room -= len(line)
        if room < 0:
            break
        taken.append(line)
    return taken


def _dropped_note(spill: Spill) -> str:
    if spill.kept == spill.total:
        return ""
    return f"\n[the output was {spill.total} bytes; only the first {spill.kept} were kept]\n"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
