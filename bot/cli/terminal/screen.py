"""A terminal with printed lines and a live part below them, drawn with rich."""

from __future__ import annotations

from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.text import Text

from bot.cli.terminal.board import Board
from bot.cli.terminal.console import console_on
from bot.cli.terminal.printer import encodable, lines_of, speaks_unicode

_A_SECOND = 5
_STYLES = {
    "step": "bold",
    "agent": "cyan",
    "used": "dim",
    "completed": "dim",
    "in_progress": "bold",
    "pending": "",
}


class Screen:
    """`board` is what is drawn, from `draw` to `stop`. Printing is safe from any thread at any time."""

    def __init__(self, stream: TextIO, board: Board) -> None:
        self.console = console_on(stream)
        self._unicode = speaks_unicode(self.console.encoding)
        self._board = board
        self._live: Live | None = None

    @property
    def drawn(self) -> bool:
        return self._live is not None

    def draw(self) -> None:
        self._live = Live(
            console=self.console,
            get_renderable=self._lines,
            refresh_per_second=_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)

    def stop(self) -> None:
        """Remove the live part; printed lines stay."""
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def print(self, text: str, style: str = "") -> None:
        for line in lines_of(text):
            self.console.print(Text(encodable(line, self.console.encoding), style), soft_wrap=True)

    def _lines(self) -> Group:
        size = self.console.size
        # The last column stays free: some terminals go on to the next line when it is written to.
        width = max(size.width - 1, 1)
        lines = self._board.lines(width, max(size.height - 1, 1), unicode=self._unicode)
        return Group(*(self._cut(line, _STYLES.get(style, ""), width) for line, style in lines))

    def _cut(self, line: str, style: str, width: int) -> Text:
        text = Text(encodable(line, self.console.encoding), style, no_wrap=True)
        text.truncate(width, overflow="ellipsis" if self._unicode else "crop")
        return text
