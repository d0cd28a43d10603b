"""How a person is asked at the terminal: what the call is, the rule that asks, the diff, and a line that they type."""

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
from bot.contracts.wording import count_of
from bot.terminal.words import encodable, lines_of, one_line

_LINES = 40
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
        _show(console, question(inquiry))
        for line in lines:
            if line.strip() == "d" and inquiry.diff:
                _show(console, diff_lines(inquiry.diff, None))
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


def question(inquiry: Inquiry) -> Iterator[tuple[str, str]]:
    """The question's lines, each with its style."""
    who = f"The subagent {one_line(inquiry.agent)}" if inquiry.agent else "The agent"
    yield "", ""
    yield f"{who} asks: may it call {one_line(inquiry.tool)}?", "bold yellow"
    if inquiry.files:
        for path, action in inquiry.files:
            yield f"  {action:<8} {one_line(path)}", ""
    else:
        first, *more = lines_of(inquiry.subject)
        yield f"  call     {first}", ""
        yield from ((f"           {line}", "") for line in more)
    reason = f": {one_line(inquiry.reason)}" if inquiry.reason else ""
    yield f"  rule     {one_line(inquiry.rule)}{reason}", ""
    if inquiry.diff:
        yield from diff_lines(inquiry.diff, _LINES)
    yield "  once     this call alone", ""
    yield f"  session  {one_line(inquiry.remembered)}, until this run ends", ""
    yield "  no       and the run ends here; what there is so far is kept", ""
    yield "  or a sentence: it is not done, and the model is told so in your words", ""


def diff_lines(diff: str, most: int | None) -> Iterator[tuple[str, str]]:
    """A diff with its colours; of a long one the beginning, and how to see the rest."""
    lines = lines_of(diff.rstrip("\n"))
    for line in lines[:most]:
        yield f"  {line}", _colour(line)
    if most is not None and len(lines) > most:
        yield f"  ({count_of(len(lines) - most, 'more line')}; d shows all)", "bold"


def _colour(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _show(console: Console, lines: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> None:
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
