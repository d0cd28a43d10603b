"""The output of a command: written completely, as plain text, to a file outside the work tree, the spill file, which
`view` and `grep` can read; and cut for a result, with a note on what is missing and where the rest is.

Over the size limit the file keeps the end besides the beginning, since errors are at the end. Of long output alike
lines in a row are folded in a result; if that is not enough, the head and the tail are shown, on line boundaries.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock

from bot.contracts.plain_text import CONTROLS, SEQUENCES
from bot.contracts.tool_descriptions import OUTPUT_NAME
from bot.contracts.tool_limits import MAX_LINE, MAX_OUTPUT

CAP = 50 * 1024 * 1024
"""Bytes of one command's text that are kept from its beginning."""

END = 512 * 1024
"""Bytes that are kept from the end of longer text."""

_SNIFF = 8192
_NEAR = 2048
_LONGEST_LINE = 200


class Spill:
    """A sink for `shell.run_command`. It may be written and read on different threads. Creating one raises `OSError`;
    the file stays.

    `cap` is in bytes of text. `total` counts the bytes of the output, `size` those of its text, `left_out` the bytes of
    text that are not in the file; none of them stops at the cap. `binary` is true for output that is no text, which is
    stored unchanged.
    """

    def __init__(self, folder: Path, seq: int, cap: int = CAP) -> None:
        self.cap = cap
        self.total = self.size = self.left_out = 0
        self.binary = False
        self.last_at = time.monotonic()
        self._held = 0
        self._end = bytearray()
        self._terminal = Terminal()
        self._lock = Lock()
        for number in count(seq):
            self.path = folder / f"{number}.txt"
            with suppress(FileExistsError):  # of an earlier tool host of this run
                # Read back through the same descriptor: the command may write in this folder and swap the file.
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                break

    def __del__(self) -> None:
        with suppress(AttributeError):  # it was not created
            os.close(self._fd)

    @property
    def name(self) -> str:
        """The file as commands and tools can name it."""
        return f"{OUTPUT_NAME}/{self.path.name}"

    def __call__(self, piece: bytes) -> bool:
        with self._lock:
            self.last_at = time.monotonic()
            if self.total < _SNIFF and b"\0" in piece[: _SNIFF - self.total]:
                self.binary = True
            self.total += len(piece)
            self._keep(piece if self.binary else self._terminal.take(piece))
        return False

    def finish(self) -> None:
        """The program ended: write the buffered rest to the file."""
        with self._lock:
            self._keep(self._terminal.finish())
            if not self._end:
                return
            end, note = bytes(self._end[-END:]), b""
            self._end.clear()
            if self.left_out > len(end):
                end = end[end.find(b"\n") + 1 :]  # from the beginning of a line on
                note = b"\n[%d bytes are left out here]\n" % (self.left_out - len(end))
            self.left_out -= len(end)
            self._held += _write(self._fd, note + end, self._held)

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes of the file, from byte `start` on."""
        return os.pread(self._fd, max(0, min(size, self._held - start)), start)

    def last(self, size: int) -> bytes:
        """Up to `size` bytes from the end of the text."""
        with self._lock:
            if self._end:
                return bytes(self._end[-size:])
        return self.read(max(0, self._held - size), size)

    def last_line(self) -> str:
        """The last line with something in it, cut; empty for output that is no text."""
        text = "" if self.binary else self.last(_NEAR).decode("utf-8", "replace")
        return ([""] + [line.strip()[:_LONGEST_LINE] for line in text.splitlines() if line.strip()])[-1]

    def unfinished(self) -> bytes:
        """The text of the last line, which has no end yet."""
        with self._lock:
            return self._terminal.unfinished()

    def _keep(self, text: bytes) -> None:
        self.size += len(text)
        remaining = max(self.cap - self._held, 0)
        if remaining:
            self._held += _write(self._fd, text[:remaining], self._held)
        if len(text) > remaining:
            self._end += text[remaining:]
            self.left_out += len(text) - remaining
            if len(self._end) > 2 * END:
                del self._end[:-END]


def _write(fd: int, text: bytes | bytearray, at: int) -> int:
    """Write all of `text` at the byte `at`; return its length. Raises `OSError`."""
    view = memoryview(text)
    done = 0
    while done < len(view):
        done += os.pwrite(fd, view[done:], at + done)
    return done


LONGEST = 256 * 1024
"""Bytes of an unfinished line that are buffered. The beginning of a longer one is passed on; of a longer series of
progress states only the last is kept."""

_HELD_BACK = 8 * 1024
_ODD = bytes({*range(0x20), 0x7F} - {*b"\t\n"})


class Terminal:
    """Takes output in pieces of any size and returns its whole lines as a terminal shows them."""

    def __init__(self) -> None:
        self._line = bytearray()

    def take(self, piece: bytes) -> bytes:
        """The text that is certain after `piece`."""
        cut = piece.rfind(b"\n") + 1
        if not cut:
            self._line += piece
            return self._beginning() if len(self._line) > LONGEST else b""
        whole = bytes(self._line) + piece[:cut] if self._line else piece[:cut]
        self._line = bytearray(piece[cut:])
        return plain(whole)

    def unfinished(self) -> bytes:
        """The shown text of the line that has not ended yet."""
        return plain(bytes(self._line))

    def finish(self) -> bytes:
        """The last line, if it had no end."""
        left = self.unfinished()
        self._line.clear()
        return left

    def _beginning(self) -> bytes:
        """Shorten the buffer of a line that is too long; return its beginning as text."""
        del self._line[: max(self._line.rfind(b"\r", 0, -1), 0)]
        if len(self._line) <= LONGEST:
            return b""
        at = len(self._line) - _HELD_BACK
        while self._line[at] & 0xC0 == 0x80:  # not within a character
            at -= 1
        line, self._line = bytes(self._line[:at]), self._line[at:]
        return plain(line)


def plain(raw: bytes) -> bytes:
    """`raw` as plain UTF-8. Every line feed stays one line end."""
    if raw.isascii() and len(raw.translate(None, _ODD)) == len(raw):
        return raw  # most of what programs print: 20 times as fast
    text = SEQUENCES.sub("", raw.decode("utf-8", "replace").replace("\r\n", "\n"))
    if "\x08" in text:
        text = "\n".join(_overstruck(line) if "\x08" in line else line for line in text.split("\n"))
    if "\r" in text:
        # Of a line that was overwritten by carriage returns, the last state that is not blank.
        lines = (reversed(line.split("\r")) for line in text.split("\n"))
        text = "\n".join(next(filter(str.strip, states), "") for states in lines)
    return CONTROLS.sub("", text).replace("\u2028", " ").replace("\u2029", " ").encode()


def _overstruck(line: str) -> str:
    """`line` after its backspaces, each of which removes the character before it."""
    left: list[str] = []
    for character in line:
        if character != "\x08":
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)


_HEAD_SHARE = 0.3
_HEAD_BYTES = 256 * 1024
_TAIL_BYTES = 512 * 1024
_EDGE = MAX_LINE - 100
_FOLDED_FROM = 6
"""Lines in a row. Of as many alike ones or more the first three and the last are shown."""


def present(spill: Spill, start: int = 0) -> str:
    """The output from a byte on for the model, with the way to the rest if some is left out."""
    if spill.binary:
        return f"[binary output, {spill.total} bytes; all of it: {spill.name}]\n"
    unfinished = spill.unfinished()
    length = spill.size - start
    if not spill.left_out and length <= _HEAD_BYTES + _TAIL_BYTES:
        return _middle_out(_lines(spill.read(start, length) + unfinished), [], spill, length)
    head = spill.read(start, min(_HEAD_BYTES, spill.cap - start))
    tail = spill.last(min(length, _TAIL_BYTES)) + unfinished
    # Without the partial line at the inner edge; of one partial line the outer part.
    if head:
        head = head[: head.rfind(b"\n") + 1] or head[:_EDGE] + b" [the line goes on]\n"
    if tail:
        tail = tail[tail.find(b"\n") + 1 :] or b"[the line began before] " + tail[-_EDGE:]
    return _middle_out(_lines(head), _lines(tail), spill, length)


def with_notes(text: str, notes: Sequence[str], nothing: str) -> str:
    """The text with `notes` beneath it, each in brackets on a line of its own."""
    return (_ended(text) if text.strip() else nothing) + "\n".join(f"[{note}]" for note in notes)


def _lines(raw: bytes) -> list[str]:
    """The lines with their ends, long ones cut. Only line feeds end a line."""
    text = raw.decode("utf-8", "ignore")  # plain already; only the edges of a piece may be broken
    *lines, last = map(_cut, text.split("\n"))
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def _cut(line: str) -> str:
    more = len(line) - MAX_LINE
    return line if more <= 0 else f"{line[:MAX_LINE]} [{more} more characters]"


def _middle_out(head: list[str], tail: list[str], spill: Spill, length: int) -> str:
    """All lines when they fit; else as many as fit of the head and of the tail, with a note between.

    `tail` is empty when `head` is all there is. `length` is that of all the text in bytes.
    """
    if not tail and sum(map(len, head)) <= MAX_OUTPUT:
        text = "".join(head)
        is_cut = any(len(line) > MAX_LINE + 1 for line in head)
        return f"{_ended(text)}[long lines were cut; full output: {spill.name}]\n" if is_cut else text
    head, tail = _folded(head), _folded(tail)
    if not tail and sum(map(len, head)) <= MAX_OUTPUT:
        return f"{_ended(''.join(head))}[alike lines are folded; full output: {spill.name}]\n"
    first = _fitting(head, int(MAX_OUTPUT * _HEAD_SHARE))
    last = _fitting((tail or head[len(first) :])[::-1], MAX_OUTPUT - int(MAX_OUTPUT * _HEAD_SHARE))[::-1]
    size = max(length - sum(len(line.encode()) for line in (*first, *last)), 0)
    note = (
        f"[{size} bytes omitted; full output: {spill.name}; page it with view (offset, limit) or search it with "
        "grep]\n"
    )
    omission_note = (
        f"\n[the output was {spill.size} bytes; the file keeps its beginning and end, without the "
        f"{spill.left_out} between them]\n"
    )
    return "".join([*first, note, *last, omission_note if spill.left_out else ""])


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
