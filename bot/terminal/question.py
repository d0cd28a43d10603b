"""What a person at the terminal is shown of a call that waits for their word. Pure.

Lines that quote a file, a command or a path stand behind a gutter, also where they go on in the next row, so none of
them can look like a line of the question's own. The question comes last and the whole fits the screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from bot.contracts.progress import Inquiry
from bot.contracts.wording import count_of
from bot.terminal.words import encodable, lines_of, one_line, speaks_unicode

Lines = list[tuple[str, str]]
"""Each line with its style."""

_MOST_QUOTED = 40
_FEWEST_QUOTED = 3
_MOST_ROWS = 2
_INDENT = " " * 11


@dataclass(frozen=True, slots=True)
class Paper:
    """What it is written on: columns, rows, and what the characters may be."""

    width: int = 80
    height: int = 25
    encoding: str = "utf-8"

    @property
    def gutter(self) -> str:
        return "  │ " if speaks_unicode(self.encoding) else "  | "

    def rows(self, text: str, room: int) -> list[str]:
        """`text` in rows of at most `room` columns; what is not ASCII may be two columns wide in some terminal."""
        made, used = [""], 0
        for character in encodable(text, self.encoding):
            columns = 1 if character.isascii() else 2
            if used + columns > room and made[-1]:
                made.append("")
                used = 0
            made[-1] += character
            used += columns
        return made


def question(inquiry: Inquiry, paper: Paper) -> Lines:
    """What is quoted, as much of it as there is room for, and the question."""
    asked = list(_asked(inquiry, paper))
    room = paper.height - len(asked) - 3  # the empty line, the one that tells of more, and what is typed
    quoted = list(_quoted(inquiry, paper))
    most = max(min(room, _MOST_QUOTED), _FEWEST_QUOTED)
    if len(quoted) > most:
        more = f"  ({count_of(len(quoted) - most, 'more line')}; d shows all)"
        quoted = [*quoted[:most], (more, "bold")]
    return [("", ""), *quoted, *asked]


def everything(inquiry: Inquiry, paper: Paper) -> Lines:
    """All that is quoted, and the question once more."""
    return [("", ""), *_quoted(inquiry, paper), *_asked(inquiry, paper)]


def _quoted(inquiry: Inquiry, paper: Paper) -> Iterator[tuple[str, str]]:
    room = paper.width - 1 - len(paper.gutter)
    if len(inquiry.files) > 1 or (inquiry.files and not inquiry.diff):
        named = [(f"{action:<8} {one_line(path)}", "") for path, action in inquiry.files]
    else:
        named = []
    command = [] if inquiry.files or _is_short(inquiry, paper) else [(line, "") for line in _command(inquiry)]
    diff = lines_of(inquiry.diff.rstrip("\n")) if inquiry.diff else []
    for text, style in chain(named, command, ((line, _colour(line)) for line in diff)):
        yield from ((f"{paper.gutter}{row}", style) for row in paper.rows(text, max(room, 10)))


def _asked(inquiry: Inquiry, paper: Paper) -> Iterator[tuple[str, str]]:
    who = f"The subagent {one_line(inquiry.agent)[:60]}" if inquiry.agent else "The agent"
    for row in paper.rows(f"{who} asks: may it call {one_line(inquiry.tool)[:60]}?", paper.width - 1):
        yield row, "bold yellow"
    reason = f": {one_line(inquiry.reason)}" if inquiry.reason else ""
    fields = (
        _subject(inquiry, paper),
        ("rule", f"{one_line(inquiry.rule)}{reason}"),
        ("once", "this call alone"),
        ("session", f"{one_line(inquiry.remembered)}, until this run ends"),
        ("no", "and the run ends here; what there is so far is kept"),
        ("or", "a sentence: it is not done, and the model is told so in your words"),
    )
    for name, text in fields:
        yield from _field(name, text, paper)


def _subject(inquiry: Inquiry, paper: Paper) -> tuple[str, str]:
    if len(inquiry.files) == 1:
        path, action = inquiry.files[0]
        return action, one_line(path)
    if inquiry.files:
        return "files", f"the {len(inquiry.files)} above"
    return "call", _command(inquiry)[0] if _is_short(inquiry, paper) else "as above"


def _field(name: str, text: str, paper: Paper) -> Iterator[tuple[str, str]]:
    """A name and what it is, which goes on below itself; of what is long the middle is left out."""
    rows = paper.rows(text, max(paper.width - 1 - len(_INDENT), 10))
    if len(rows) > _MOST_ROWS:
        rows = [*rows[: _MOST_ROWS - 1], f"... {rows[-1]}"[: paper.width - 1 - len(_INDENT)]]
    yield f"  {name[:8]:<8} {rows[0]}", ""
    yield from ((f"{_INDENT}{row}", "") for row in rows[1:])


def _command(inquiry: Inquiry) -> Sequence[str]:
    return lines_of(inquiry.subject.rstrip("\n"))


def _is_short(inquiry: Inquiry, paper: Paper) -> bool:
    """Whether a command fits the line that names it."""
    lines = _command(inquiry)
    return len(lines) == 1 and len(paper.rows(lines[0], paper.width - 1 - len(_INDENT))) == 1


def _colour(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
