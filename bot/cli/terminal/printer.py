"""How results are printed for people: a headline with a mark, labelled lines, Markdown.

Colour, wrapping and Markdown are for terminals alone. Text by anybody goes through here, so nothing in it is a terminal
sequence or a command to Actions' runner. rich is imported only if Markdown is shown on a terminal.
"""

import os
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, TextIO

from bot.contracts.plain_text import printable, printable_name
from bot.github.actions import Actions

Mark = Literal["good", "bad", "doubt"]
Style = Literal["", "bold", "dim", "red", "green", "yellow", "cyan"]

_MARKS: Mapping[Mark, tuple[str, Style]] = {
    "good": ("✔", "green"),
    "bad": ("✘", "red"),
    "doubt": ("!", "yellow"),
}
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_LABEL = 9


class Printer:
    """Prints to standard output by default. `actions` prints if `stream` is no terminal, and may withhold a line."""

    def __init__(
        self,
        stream: TextIO | None = None,
        environment: Mapping[str, str] = os.environ,
        actions: Actions | None = None,
    ) -> None:
        self._stream = stream = stream or sys.stdout
        self._actions = actions or Actions(environment, stream)
        self.is_terminal = stream.isatty()
        is_drawn = self.is_terminal and not self._actions.active
        plain = environment.get("NO_COLOR") or environment.get("TERM", "dumb") in ("dumb", "unknown", "")
        self._colour = is_drawn and not plain  # https://no-color.org
        self._width: int | None = None
        if is_drawn:
            columns = 0
            with suppress(OSError, ValueError):
                columns = os.get_terminal_size(stream.fileno()).columns
            # The last column stays free: some terminals go on to the next line when it is written to.
            self._width = max(min(columns or 80, 100) - 1, 30)

    def headline(self, mark: Mark, text: str) -> None:
        sign, style = _MARKS[mark]
        prefix = f"{self._styled(sign, style, 'bold')} "
        for line in self._wrapped(" ".join(lines_of(text)), "  "):
            self._write(f"{prefix}{self._styled(line[2:], style, 'bold')}")
            prefix = "  "

    def field(self, label: str, text: str, style: Style = "", *, copied: bool = False) -> None:
        """Print `text` after its label, wrapped with an indent. Text to copy, such as a command, is left to the
        terminal to wrap."""
        indent = " " * (_LABEL + 3)
        prefix = self._styled(f"  {label:<{_LABEL}} ", "dim")
        for part in lines_of(text):
            for line in [indent + part] if copied else self._wrapped(part, indent):
                self._write(f"{prefix}{self._styled(line[len(indent) :], style)}".rstrip())
                prefix = indent

    def line(self, text: str = "", style: Style = "") -> None:
        for part in lines_of(text):
            self._write(self._styled(part, style))

    def diff(self, text: str) -> None:
        """Print a patch without the lines that only git needs."""
        for line in text.splitlines():
            if not line.startswith("index "):
                self.line(line, diff_style(line))

    def markdown(self, text: str) -> None:
        """Rendered in colour on a terminal, else as it was written."""
        plain_text = "\n".join(lines_of(text.strip("\n")))
        if not self._colour:
            self.line(plain_text)
            return
        from rich.console import Console
        from rich.markdown import Markdown

        # Without hyperlinks an address is shown, and not only what it is called.
        rendered = Markdown(plain_text, hyperlinks=False, code_theme="ansi_dark")
        Console(file=self._stream, force_terminal=True, legacy_windows=False).print(
            rendered, width=self._width
        )

    def _wrapped(self, text: str, indent: str) -> list[str]:
        """Lines that begin with `indent`. A word that does not fit, such as a path, is left to the terminal."""
        if self._width is None:
            return [indent + text]
        rows = textwrap.wrap(
            text,
            self._width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        # Before a first word that is too long it leaves an empty row.
        return [row for row in rows if row.strip()] or [indent]

    def _styled(self, text: str, *styles: Style) -> str:
        codes = ";".join(_CODES[style] for style in styles if style)
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() and self._colour else text

    def _write(self, line: str) -> None:
        if self._colour:
            print(line, file=self._stream, flush=True)
        else:
            self._actions.print(line)


def one_line(text: str) -> str:
    """`text` on one line: no control sequences, invisible characters as escapes."""
    return printable_name(" ".join(printable(text).split()))


def lines_of(text: str) -> list[str]:
    """The same, line by line, with indentation kept."""
    return [printable_name(line.expandtabs(4)) for line in printable(text).split("\n")]


def diff_style(line: str) -> Style:
    """The style of a line of a diff."""
    styles: Mapping[str, Style] = {"+": "green", "-": "red", "@": "cyan"}
    return "bold" if line.startswith(("+++", "---", "diff ")) else styles.get(line[:1], "")
