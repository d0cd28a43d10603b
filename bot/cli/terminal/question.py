"""Ask the person at the terminal about a call that waits for permission.

Lines that quote a file, a command or a path have a gutter, wrapped rows too, so none can look like a line of the
question. The question comes last.
"""

import os
import select
import termios
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Literal, TextIO

from rich.console import Console
from rich.text import Text

from bot.cli.terminal.printer import diff_style, lines_of, one_line
from bot.contracts.cancel import CancelToken
from bot.contracts.progress import Inquiry, Reply


class PlainConsole(Console):
    """Takes text as text, and never hides the cursor: whatever ends the process, there is nothing to bring back."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            file=stream, force_terminal=True, markup=False, emoji=False, highlight=False, legacy_windows=False
        )

    def print_lines(self, text: str, style: str) -> None:
        """Print anybody's text, whose lines the terminal wraps."""
        for line in lines_of(text):
            self.print(Text(line, style), soft_wrap=True)

    def show_cursor(self, show: bool = True) -> bool:
        return False


_INDENT = " " * 11
GUTTER = "  │ "


def _rows(text: str, width: int) -> list[str]:
    """Return `text` in rows of at most `width` columns; what is not ASCII may be two columns wide in some terminal."""
    size = max(width if text.isascii() else width // 2, 5)
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def question_text(inquiry: Inquiry, width: int) -> Iterator[tuple[str, str]]:
    """Yield the quoted lines and the question, each with its style, for a terminal of `width` columns."""
    yield "", ""
    if inquiry.question:
        subject = [(line, "bold") for line in lines_of(inquiry.question)]
    elif inquiry.files:
        subject = [(f"{action:<8} {one_line(path)}", "") for path, action in inquiry.files]
    else:
        subject = [(line, "") for line in lines_of(inquiry.subject.rstrip("\n"))]
    diff = lines_of(inquiry.diff.rstrip("\n")) if inquiry.diff else []
    for text, style in chain(subject, ((line, diff_style(line)) for line in diff)):
        yield from ((f"{GUTTER}{row}", style) for row in _rows(text, width - 1 - len(GUTTER)))
    if inquiry.question:
        yield "The agent asks the question above.", "bold yellow"
        yield from _field("answer", "in one line; the run goes on with it", width)
        yield from _field("Enter", "no answer: the run ends here, and the work so far is kept", width)
        return
    asker = f"The subagent {one_line(inquiry.agent)[:60]}" if inquiry.agent else "The agent"
    for row in _rows(f"{asker} asks: may it call {one_line(inquiry.tool)[:60]}?", width - 1):
        yield row, "bold yellow"
    reason = f": {one_line(inquiry.reason)}" if inquiry.reason else ""
    fields = (
        ("rule", f"{one_line(inquiry.rule)}{reason}"),
        ("once", "this call alone"),
        ("session", f"{one_line(inquiry.remembered)}, until this run ends"),
        ("no", "and the run ends here; the work so far is kept"),
        ("or", "a sentence: it is not done, and the model is told so in your words"),
    )
    for name, meaning in fields:
        yield from _field(name, meaning, width)


def _field(name: str, text: str, width: int) -> Iterator[tuple[str, str]]:
    """A label and its text, wrapped with an indent."""
    rows = _rows(text, width - 1 - len(_INDENT))
    yield f"  {name:<8} {rows[0]}", ""
    yield from ((f"{_INDENT}{row}", "") for row in rows[1:])


_LONGEST_LINE = 4_000
_POLL = 0.1
"""Seconds after which it is seen that the token fired."""
_ANSWERS: Mapping[str, Literal["once", "session", "no"]] = {
    **dict.fromkeys(("o", "once", "y", "yes"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("n", "no"), "no"),
}
_AGAIN = "Answer with once, session or no, or with a sentence for the model."


def ask(inquiry: Inquiry, cancel: CancelToken, console: PlainConsole, keyboard: int) -> Reply:
    """The reply of the person who reads `console` and types into the terminal `keyboard`."""
    # What was typed before the question was there is no answer to it.
    with suppress(termios.error):
        termios.tcflush(keyboard, termios.TCIFLUSH)
    _print(console, question_text(inquiry, console.size.width))
    for line in _typed_lines(keyboard, cancel):
        if inquiry.question:
            return Reply("words", line) if line else Reply("gone")
        if answer := _ANSWERS.get(line.casefold()):
            return Reply(answer)
        if " " in line:
            return Reply("words", line)
        _print(console, [(_AGAIN, "")])
    return Reply("gone")


def _print(console: PlainConsole, lines: Iterable[tuple[str, str]]) -> None:
    for line, style in lines:
        console.print_lines(line, style)
    console.print("> ", end="")


def _typed_lines(keyboard: int, cancel: CancelToken) -> Iterator[str]:
    """Yield lines as they are typed, until the terminal is gone, or the token fires."""
    typed = b""
    with suppress(OSError):
        while not cancel.fired:
            if not select.select([keyboard], [], [], _POLL)[0]:
                continue
            if not (some := os.read(keyboard, _LONGEST_LINE)):
                return
            *whole, typed = (typed + some).split(b"\n")
            yield from (one_line(line.decode("utf-8", "replace")) for line in whole)
