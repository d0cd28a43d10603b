"""Display a run on a terminal: lines of finished calls, and below them the live part (`board.py`)."""

from __future__ import annotations

import os
import select
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.text import Text

from bot.cli.terminal.board import Board
from bot.cli.terminal.console import console_on
from bot.cli.terminal.printer import encodable, lines_of, speaks_unicode
from bot.cli.terminal.question import ask
from bot.cli.terminal.viewer import UNDER, Viewer, plain_lines
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import Note, Response, Result
from bot.contracts.progress import BeginEvent, Event, Inquiry, Reply, WaitEvent, Written

_POLL = 0.3
"""Seconds after which it is seen that nothing can be skipped any more."""
_A_SECOND = 5
_STYLES = {"step": "bold", "agent": "cyan", "used": "dim", "completed": "dim", "in_progress": "bold"}


class LiveViewer(Viewer):
    """Nothing else is printed during the run, since that would break the display.

    The live part is drawn below the printed lines, but not before the first event, so that a refusal is fast, nor
    during a question. `keyboard` is the terminal that a person types into, or `None`.
    """

    def __init__(self, stream: TextIO, keyboard: int | None = None, *, verbose: bool = False) -> None:
        super().__init__(self._ask_below if keyboard is not None else None)
        self.interrupted = self._print_at_once
        self._console = console_on(stream)
        self._keyboard = keyboard
        self._verbose = verbose
        self._board = Board(time.monotonic)
        self._live: Live | None = None
        self._skip: Callable[[], None] | None = None
        self._typing: threading.Thread | None = None

    def tell(self, event: Event) -> None:
        if isinstance(event, BeginEvent):
            return
        self._board.take(event)
        with self._turn:
            if self._live is None:
                self._draw()
            for line in plain_lines(event, verbose=self._verbose):
                for row in _rows(event, line, self._console.width - 1):
                    self._print(row, _style(event, line))

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        self._skip = skip
        if skip is not None and self._keyboard is not None and self._typing is None:
            self._typing = threading.Thread(target=self._read_keys, name="keyboard", daemon=True)
            self._typing.start()

    def _read_keys(self) -> None:
        """Read keys until nothing can be skipped, so that later input goes to the next reader."""
        assert self._keyboard is not None
        with suppress(OSError, ValueError):  # the terminal is gone
            while (skip := self._skip) is not None:
                ready, _, _ = select.select([self._keyboard], [], [], _POLL)
                if ready and self._skip is skip:
                    if not os.read(self._keyboard, 1_000):
                        break
                    skip()
        self._typing = None

    def close(self) -> None:
        with self._turn:
            self._stop()

    def _print_last(self, text: str) -> None:
        self._stop()
        super()._print_last(text)

    def _print_at_once(self, text: str) -> None:
        # Not in turn: while somebody is asked, this is what ends the question.
        self._print(text if self._live is not None else f"\n{text}", "yellow")

    def _ask_below(self, inquiry: Inquiry, cancel: CancelToken) -> Reply:
        assert self._keyboard is not None
        self._stop()
        try:
            return ask(inquiry, cancel, self._console, self._keyboard)
        finally:
            self._draw()

    def _draw(self) -> None:
        self._live = Live(
            console=self._console,
            get_renderable=self._lines,
            refresh_per_second=_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)

    def _stop(self) -> None:
        """Remove the live part; printed lines stay."""
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _print(self, text: str, style: str = "") -> None:
        for line in lines_of(text):
            self._console.print(Text(encodable(line, self._console.encoding), style), soft_wrap=True)

    def _lines(self) -> Group:
        size = self._console.size
        # The last column stays free: some terminals go on to the next line when it is written to.
        width = max(size.width - 1, 1)
        lines = self._board.lines(width, max(size.height - 1, 1))
        return Group(*(self._cut(line, _STYLES.get(style, ""), width) for line, style in lines))

    def _cut(self, line: str, style: str, width: int) -> Text:
        text = Text(encodable(line, self._console.encoding), style, no_wrap=True)
        text.truncate(width, overflow="ellipsis" if speaks_unicode(self._console.encoding) else "crop")
        return text


def _rows(event: Event, line: str, width: int) -> list[str]:
    """The rows of `line`: sentences are wrapped at words, other lines are left to the terminal."""
    is_sentence = isinstance(event, Note) or (
        isinstance(event, Written) and isinstance(event.record, Response)
    )
    if not is_sentence or len(line) <= width:
        return [line]
    return textwrap.wrap(line, max(width, 20), subsequent_indent="     ", break_on_hyphens=False)


def _style(event: Event, line: str) -> str:
    match event:
        case Written(Result(is_error=failed)):
            return "dim" if line.startswith(UNDER) else "red" if failed else ""
        case Written(Response()):
            return "bold"
        case Note() | WaitEvent() | Written():
            return "dim"
        case _:
            return ""
