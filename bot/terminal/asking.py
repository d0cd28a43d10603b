"""How a person is asked at the terminal: the question is shown, and a line that they type is the answer."""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal

from rich.console import Console
from rich.text import Text

from bot.contracts.progress import Cancelled, Inquiry, Reply
from bot.terminal.question import Lines, Paper, everything, question
from bot.terminal.words import encodable, one_line

_LONGEST_LINE = 4_000
_ANSWERS: Mapping[str, Literal["once", "session", "no"]] = {
    "o": "once", "once": "once", "y": "once", "yes": "once", "s": "session", "session": "session", "n": "no",
    "no": "no",
}  # fmt: skip
_AGAIN = "Answer with once, session or no, or with a sentence for the model."


def ask(inquiry: Inquiry, cancel: Cancelled, console: Console, keyboard: int) -> Reply:
    """What is said by whoever reads `console` and types into the terminal `keyboard`."""
    with _line_by_line(keyboard, cancel) as lines:
        # What was typed before the question was there is no answer to it.
        with suppress(termios.error):
            termios.tcflush(keyboard, termios.TCIFLUSH)
        paper = Paper(console.size.width, console.size.height, console.encoding)
        _show(console, question(inquiry, paper))
        for line in lines:
            if line.strip() == "d":
                _show(console, everything(inquiry, paper))
            elif (reply := understood(line)) is not None:
                return reply
            else:
                _show(console, [(_AGAIN, "")])
    return Reply("gone")


def understood(line: str) -> Reply | None:
    """What a typed line means: an answer by its name or first letter, or some words; `None` for anything else."""
    typed = one_line(line)
    known = _ANSWERS.get(typed.casefold())
    if known is not None:
        return Reply(known)
    return Reply("words", typed) if " " in typed else None


def _show(console: Console, lines: Lines) -> None:
    for line, style in lines:
        console.print(Text(encodable(line, console.encoding), style), soft_wrap=True)
    console.print("> ", end="")


@contextmanager
def _line_by_line(keyboard: int, cancel: Cancelled) -> Iterator[Iterator[str]]:
    """Lines as they are typed, until the terminal is gone, or the token fires."""
    woken, wake = os.pipe()
    forget = cancel.on_fire(lambda: _wake(wake))
    try:
        yield _lines(keyboard, woken)
    finally:
        forget()
        os.close(wake)
        os.close(woken)


def _wake(pipe: int) -> None:
    with suppress(OSError):  # answered in the same moment
        os.write(pipe, b"!")


def _lines(keyboard: int, woken: int) -> Iterator[str]:
    typed = b""
    while True:
        ready, _, _ = select.select([keyboard, woken], [], [])
        if woken in ready:
            return
        try:
            some = os.read(keyboard, _LONGEST_LINE)
        except OSError:
            return
        if not some:
            return
        typed += some
        *whole, typed = typed.split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
