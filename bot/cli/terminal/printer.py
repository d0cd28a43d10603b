"""How results are printed for people: a headline with a mark, labelled lines, Markdown.

Colour, wrapping and Markdown are for terminals alone. Text by anybody goes through here, so nothing in it is a terminal
sequence or a command to Actions' runner. rich is imported only if Markdown is shown on a terminal.
"""

import os
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
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII = ("[ok]", "[x]", "...", "-", "->", "|", *"|/-\\|/-\\|/")
_PLAIN = str.maketrans(dict(zip(f"✔✘…·→│{SPINNER}", _ASCII, strict=True)))
"""For encodings that lack them."""

_CODES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_LABEL = 9
_NARROWEST = 30
_WIDEST = 100


class Printer:
    """`actions` prints if `stream` is no terminal, and may withhold a line."""

    def __init__(
        self, stream: TextIO, environment: Mapping[str, str], actions: Actions | None = None
    ) -> None:
        self._stream = stream
        self._encoding = stream.encoding or "ascii"
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
            self._width = max(min(columns or 80, _WIDEST) - 1, _NARROWEST)

    def headline(self, mark: Mark, text: str) -> None:
        sign, style = _MARKS[mark]
        sign = encodable(sign, self._encoding)
        first, *rest = self._wrapped(" ".join(lines_of(text)), " " * (len(sign) + 1))
        self._write(f"{self._styled(sign, style, 'bold')} {self._styled(first.lstrip(), style, 'bold')}")
        for line in rest:
            self._write(self._styled(line, style, "bold"))

    def field(self, label: str, text: str, style: Style = "", *, copied: bool = False) -> None:
        """Print `text` after its label, wrapped with an indent. Text to copy, such as a command, is left to the
        terminal to wrap."""
        indent = " " * (_LABEL + 3)
        name = f"  {label:<{_LABEL}} "
        lines = [
            line
            for part in lines_of(text)
            for line in ([indent + part] if copied else self._wrapped(part, indent))
        ]
        for number, line in enumerate(lines):
            prefix = self._styled(name, "dim") if number == 0 else indent
            self._write(f"{prefix}{self._styled(line[len(indent) :], style)}".rstrip())

    def line(self, text: str = "", style: Style = "") -> None:
        for part in lines_of(text):
            self._write(self._styled(part, style))

    def diff(self, text: str) -> None:
        """Print a patch without the lines that only git needs."""
        styles: Mapping[str, Style] = {"+": "green", "-": "red", "@": "cyan"}
        for line in text.splitlines():
            if line.startswith("index "):
                continue
            is_header = line.startswith(("+++", "---", "diff "))
            self.line(line, "bold" if is_header else styles.get(line[:1], ""))

    def markdown(self, text: str) -> None:
        """Rendered in colour on a terminal, else as it was written."""
        plain_text = "\n".join(lines_of(text.strip("\n")))
        if not self._colour or not speaks_unicode(self._encoding):
            self.line(plain_text)
            return
        from rich.markdown import Markdown

        from bot.cli.terminal.plain_console import PlainConsole

        # Without hyperlinks an address is shown, and not only what it is called.
        text = Markdown(plain_text, hyperlinks=False, code_theme="ansi_dark")
        PlainConsole(self._stream).print(text, width=self._width)

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
        if not self._colour:
            self._actions.print(encodable(line, self._encoding))
            return
        self._stream.write(f"{encodable(line, self._encoding)}\n")
        self._stream.flush()


_TAB = 4


def one_line(text: str) -> str:
    """`text` on one line: no control sequences, invisible characters as escapes."""
    return printable_name(" ".join(printable(text).split()))


def lines_of(text: str) -> list[str]:
    """The same, line by line, with indentation kept."""
    return [printable_name(line.expandtabs(_TAB)) for line in printable(text).split("\n")]


def encodable(text: str, encoding: str) -> str:
    """`text` in what the terminal's encoding has; the rest by its escape."""
    if speaks_unicode(encoding):
        return text
    return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)


def speaks_unicode(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-", "utf8"))
