"""rich's console as this program prints to it."""

from typing import TextIO

from rich.console import Console


class PlainConsole(Console):
    """Takes text as text, and never hides the cursor: whatever ends the process, there is nothing to bring back."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


def console_on(stream: TextIO) -> Console:
    return PlainConsole(
        file=stream, force_terminal=True, markup=False, emoji=False, highlight=False, legacy_windows=False
    )
