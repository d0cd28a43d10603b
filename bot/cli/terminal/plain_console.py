"""rich's console as this program prints to it."""

from typing import TextIO

from rich.console import Console
from rich.text import Text

from bot.cli.terminal.printer import lines_of


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
