"""What a terminal would show of a program's output, as plain UTF-8, while the output still comes.

Terminal sequences and control characters go, and a progress bar becomes its last state. Lines are worked on one by
one, so how the output was cut into pieces makes no difference.
"""

from __future__ import annotations

from bot.contracts.plain_text import CONTROLS, SEQUENCES

LONGEST = 256 * 1024
"""Bytes of a line that are held until its end is known. Of a longer one the beginning is given away as it is; of
a longer row of progress states only the last is held."""

_HELD_BACK = 8 * 1024
_ODD = bytes({*range(0x20), 0x7F} - {*b"\t\n"})


class Terminal:
    """Takes output in pieces of any size and gives back whole lines of what is to be seen."""

    def __init__(self) -> None:
        self._line = bytearray()

    def take(self, piece: bytes) -> bytes:
        """What can be said for sure once `piece` came."""
        cut = piece.rfind(b"\n") + 1
        if not cut:
            self._line += piece
            return self._beginning() if len(self._line) > LONGEST else b""
        whole = bytes(self._line) + piece[:cut] if self._line else piece[:cut]
        self._line = bytearray(piece[cut:])
        return plain(whole)

    def unfinished(self) -> bytes:
        """What is to be seen of the line that has not ended yet."""
        return plain(bytes(self._line))

    def finish(self) -> bytes:
        """The last line, where it had no end."""
        left = self.unfinished()
        self._line.clear()
        return left

    def _beginning(self) -> bytes:
        """Make room in a line that is too long to be held."""
        state = self._line.rfind(b"\r", 0, -1)
        if state >= 0:
            shown = self._line[state:] if self._line[state:].strip() else _last_state_of(self._line)
            self._line = shown if len(shown) <= LONGEST else shown[:LONGEST]
            return b""
        at = len(self._line) - _HELD_BACK
        while self._line[at] & 0xC0 == 0x80:  # not within a character
            at -= 1
        given, self._line = bytes(self._line[:at]), self._line[at:]
        return plain(given)


def plain(raw: bytes) -> bytes:
    """`raw` as plain UTF-8. Every line feed stays one line end."""
    if raw.isascii() and len(raw.translate(None, _ODD)) == len(raw):
        return raw  # most of what programs print: 20 times as fast
    return _plain(raw.decode("utf-8", "replace")).encode()


def _plain(text: str) -> str:
    text = SEQUENCES.sub("", text.replace("\r\n", "\n"))
    if "\x08" in text:
        text = "\n".join(map(_overstruck, text.split("\n")))
    if "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    return CONTROLS.sub("", text).replace("\u2028", " ").replace("\u2029", " ")


def _overstruck(line: str) -> str:
    """`line` as it is after its backspaces, each of which takes the character before it."""
    if "\x08" not in line:
        return line
    left: list[str] = []
    for character in line:
        if character != "\x08":
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)


def _last_state(line: str) -> str:
    """What a terminal would show of a line that was written over: the last state that is not blank."""
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def _last_state_of(line: bytearray) -> bytearray:
    return next((state for state in reversed(line.split(b"\r")) if state.strip()), bytearray())
