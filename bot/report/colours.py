"""Colours code with Pygments: a text becomes lines of pieces, each with a class of the page's style sheet.

Only well-known lexers are used, by the end of a file's name, and only so much is coloured: what they get is hostile,
and some of their patterns take long for it: Java's, half a minute for 20 kB of a word. What is over budget stays plain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer

BUDGET = 400_000
"""Characters of one page."""

_SECONDS = 4.0
"""Of the processor's time, of one page. One that is honest takes less than one."""

_LONGEST = 20_000
_LONGEST_LINE = 400
_LEXERS: Mapping[str, str] = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".jsx": "javascript", ".ts": "typescript", ".tsx": "typescript", ".go": "go", ".rs": "rust", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".java": "java", ".kt": "kotlin", ".rb": "ruby",
    ".php": "php", ".cs": "csharp", ".swift": "swift", ".sh": "bash", ".bash": "bash", ".json": "json",
    ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".css": "css", ".sql": "sql",
}  # fmt: skip
_CLASSES = (("Comment", "c"), ("Keyword", "k"), ("Literal.String", "s"), ("Literal.Number", "m"),
            ("Name.Function", "f"), ("Name.Class", "f"), ("Name.Decorator", "f"), ("Name.Builtin", "b"),
            ("Name.Tag", "k"), ("Name.Attribute", "b"), ("Operator.Word", "k"))  # fmt: skip


class Piece(NamedTuple):
    """`kind` is empty for what has no colour of its own."""

    kind: str
    text: str


Line = tuple[Piece, ...]


class Colours:
    """The colours of one page."""

    def __init__(self, budget: int = BUDGET, seconds: float = _SECONDS) -> None:
        self._left = budget
        self._seconds = seconds
        self._lexers: dict[str, Lexer] = {}
        self._kinds: dict[object, str] = {}

    def lines(self, path: str, text: str) -> list[Line]:
        """One line for each of `text`, with as many characters: nothing is added, nothing lost."""
        rows = text.split("\n")
        lexer = self._lexer(path)
        too_much = len(text) > min(_LONGEST, self._left) or any(len(row) > _LONGEST_LINE for row in rows)
        if lexer is None or too_much:
            return [(Piece("", row),) for row in rows]
        self._left -= len(text)
        began = time.thread_time()
        coloured = list(self._split(lexer, text, began + self._seconds))
        self._seconds -= time.thread_time() - began
        plain = ["".join(piece.text for piece in line) for line in coloured]
        return coloured if plain == rows else [(Piece("", row),) for row in rows]

    def _lexer(self, path: str) -> Lexer | None:
        name = _LEXERS.get(PurePosixPath(path).suffix.lower())
        if name is None:
            return None
        if name not in self._lexers:
            from pygments.lexers import get_lexer_by_name

            self._lexers[name] = get_lexer_by_name(name, stripnl=False, ensurenl=False)
        return self._lexers[name]

    def _split(self, lexer: Lexer, text: str, until: float) -> Iterator[Line]:
        """Ends early once it is `until`: then the lines are not those of `text`, and stay plain."""
        line: list[Piece] = []
        for count, (token, value) in enumerate(lexer.get_tokens(text)):
            if count % 32 == 0 and time.thread_time() >= until:
                self._left = 0
                return
            kind = self._kind(token)
            for number, part in enumerate(value.split("\n")):
                if number:
                    yield tuple(line)
                    line = []
                if not part:
                    continue
                if line and (line[-1].kind == kind or not part.strip()):
                    line[-1] = Piece(line[-1].kind, line[-1].text + part)
                else:
                    line.append(Piece(kind, part))
        yield tuple(line)

    def _kind(self, token: object) -> str:
        if token not in self._kinds:
            name = str(token).removeprefix("Token.")
            self._kinds[token] = next((kind for start, kind in _CLASSES if name.startswith(start)), "")
        return self._kinds[token]
