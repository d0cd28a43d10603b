"""Parse the text of a patch into operations. Pure: it reads no file.

    patch   := "*** Begin Patch" op* "*** End Patch"
    op      := "*** Add File: " path ("+" text)*
             | "*** Delete File: " path
             | "*** Update File: " path ["*** Move to: " path] section*
    section := ("@@" [" " text])* line+ ["*** End of File"]
             | "@@ -" number ["," number] " +" number ["," number] " @@" [text] line+
    line    := " " text | "-" text | "+" text | ""

The first column decides what a body line is, so that files that contain patches can be patched. A header may be
indented. The last line that is not blank is the patch's end. A unified diff, as git writes it, is translated first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.contracts.tools import ToolFailure

HEADERS = ("*** Add File: ", "*** Delete File: ", "*** Update File: ")
_ADD, _DELETE, _UPDATE = HEADERS
_MOVE = "*** Move to: "
_AT_END = "*** End of File"
_NUMBERED = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_NO_END = "\\ No newline at end of file"
_MOST = 20
_VALID = "Valid are " + ", ".join(f'"{header}PATH"' for header in HEADERS)


class Problem(NamedTuple):
    """One mistake. `line` is the patch's, from 1; `path` is the file as the patch names it, empty for none."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}, {self.path}" if self.path else f"line {self.line}"
        return f"{where}: {self.message.rstrip('.')}."


class PatchError(ToolFailure):
    """The patch cannot be applied. The message names every problem and says that nothing was written."""

    def __init__(self, *problems: Problem) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        head = f"Nothing was written: the patch has {count} (lines are those of the patch)."
        lines = [f"- {problem}" for problem in problems[:_MOST]]
        if len(problems) > _MOST:
            lines.append(f"- and {len(problems) - _MOST} more")
        super().__init__("\n".join([head, *lines, "Send the whole patch again, corrected."]))


class Section(NamedTuple):
    """One place of a file. `body` is (sign, text) with the signs " ", "-" and "+"; `line` is the patch's, from 1,
    `number` the file's in a unified diff."""

    line: int
    anchors: tuple[str, ...]
    body: tuple[tuple[str, str], ...]
    at_end: bool
    number: int | None

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.body if sign != "+"]

    @property
    def new(self) -> list[str]:
        return [text for sign, text in self.body if sign != "-"]


class Add(NamedTuple):
    line: int
    path: str
    lines: tuple[str, ...]


class Delete(NamedTuple):
    line: int
    path: str


class Update(NamedTuple):
    line: int
    path: str
    move_to: str | None
    sections: tuple[Section, ...]


Operation = Add | Delete | Update


def parse(text: str) -> tuple[Operation, ...]:
    """A patch's operations, in order. Raises `PatchError` at the first mistake of its grammar."""
    operations = tuple(_Reader(_unwrapped(text)).operations())
    if not operations:
        raise PatchError(Problem(1, "", f"The patch is empty: no files were modified. {_VALID}."))
    return operations


class _Reader:
    def __init__(self, rows: Sequence[Numbered]) -> None:
        self._rows = rows
        self._at = 0
        self._path = ""

    def operations(self) -> Iterator[Operation]:
        while self._more:
            line, text = self._rows[self._at]
            header = text.strip()
            kind = next((kind for kind in HEADERS if header.startswith(kind.rstrip())), "")
            self._path = header.removeprefix(kind.rstrip()).strip() if kind else ""
            if header and not kind:
                raise self._mistake(f"a header is due here, not {_quoted(header)}. {_VALID}")
            if header and not self._path:
                raise self._mistake(f'"{header}" names no file')
            self._at += 1
            if kind == _DELETE:
                yield Delete(line, self._path)
            elif kind:
                yield self._add(line) if kind == _ADD else self._update(line)

    @property
    def _more(self) -> bool:
        return self._at < len(self._rows)

    @property
    def _text(self) -> str:
        return self._rows[self._at][1]

    def _add(self, line: int) -> Add:
        lines: list[str] = []
        while self._more and self._text[:1] == "+":
            lines.append(self._text[1:])
            self._at += 1
        if self._more and self._text.strip() and not self._text.lstrip().startswith("***"):
            raise self._mistake(f'a line of a new file must begin with "+", not with {_quoted(self._text)}')
        return Add(line, self._path, tuple(lines))

    def _update(self, line: int) -> Update:
        move_to = None
        if self._more and self._text.strip().startswith(_MOVE.rstrip()):
            move_to = self._text.strip().removeprefix(_MOVE.rstrip()).strip()
            if not move_to:
                raise self._mistake(f'"{_MOVE.rstrip()}" names no file')
            self._at += 1
        sections: list[Section] = []
        while self._more and not self._at_header:
            if not self._text.strip() and (not sections or sections[-1].at_end):
                self._at += 1
            else:
                sections.append(self._section())
        if not sections and move_to is None:
            message = "an update needs at least one section: context, - and + lines, after @@ or without"
            raise PatchError(Problem(line, self._path, message))
        return Update(line, self._path, move_to, tuple(sections))

    def _section(self) -> Section:
        line = self._rows[self._at][0]
        anchors: list[str] = []
        number = None
        while self._more and self._text.startswith("@@"):
            anchor = self._text[2:].removeprefix(" ").removesuffix("\r")
            if header := _NUMBERED.match(self._text):
                number = int(header[1])  # what follows is above the place, but may be cut
            elif anchor.strip():
                anchors.append(anchor)
            self._at += 1
        body = tuple(self._body())
        at_end = self._more and self._text.rstrip() == _AT_END
        self._at += at_end
        if not body:
            message = "a section has no lines: give those that change, with some around them"
            raise PatchError(Problem(line, self._path, message))
        return Section(line, tuple(anchors), body, at_end, number)

    def _body(self) -> Iterator[tuple[str, str]]:
        """The lines up to the next section or header."""
        while self._more and not self._at_header:
            text = self._text.removesuffix("\r")
            sign, rest = text[:1] or " ", text[1:]
            if text.startswith("@@") or text.rstrip() == _AT_END:
                return
            if text.rstrip() != _NO_END:
                if sign not in " +-":
                    raise self._mistake(
                        f"a line must begin with a space (kept), - (removed) or + (added), not with {_quoted(text)}"
                    )
                yield sign, rest
            self._at += 1

    @property
    def _at_header(self) -> bool:
        text = self._text
        return text.startswith("*** ") and text.rstrip() != _AT_END

    def _mistake(self, message: str) -> PatchError:
        """A mistake in the current line."""
        return PatchError(Problem(self._rows[self._at][0], self._path, message))


def _quoted(text: str) -> str:
    return f'"{text[:60]}…"' if len(text) > 60 else f'"{text}"'


BEGIN, END = "*** Begin Patch", "*** End Patch"

_FENCE = re.compile(r"```[\w-]*$")

Numbered = tuple[int, str]
"""A line's number in the patch as it was sent, from 1, and its text."""


def _unwrapped(text: str) -> list[Numbered]:
    """The lines between begin and end. Raises `PatchError` if either is missing. Only a line feed ends a line; if
    every line ends with a carriage return too, these are removed."""
    lines = text.split("\n")
    if len(lines) > 1 and all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    rows = _stripped(list(enumerate(lines, start=1)))
    if len(rows) >= 2 and _FENCE.match(rows[0][1].strip()) and rows[-1][1].strip() == "```":
        rows = _stripped(rows[1:-1])
    if rows and (translated := list(_from_unified(rows))):
        return translated
    for at, due in ((0, BEGIN), (-1, END)):
        if not rows or rows[at][1].strip() != due:
            raise PatchError(Problem(1, "", f'The first line must be "{BEGIN}", and the last one "{END}"'))
    return rows[1:-1]


def _from_unified(rows: Sequence[Numbered]) -> Iterator[Numbered]:
    """The rows of a unified diff as those of a patch; none if it is no unified diff."""
    rows = [row for row in rows if row[1].strip() not in (BEGIN, END)]
    texts = [*(text for _, text in rows), "", ""]
    if not texts[0].startswith(("--- ", "diff --git ")):
        return
    kind, header_at, moved = "", -1, False
    for at, (line, text) in enumerate(rows):
        if text.startswith("--- ") and texts[at + 1].startswith("+++ ") and texts[at + 2].startswith("@@"):
            old, new = _diff_path(text), _diff_path(texts[at + 1])
            kind, header_at = _ADD if old == _NULL else _DELETE if new == _NULL else _UPDATE, at
            if not moved:
                yield line, kind + (new if kind == _ADD else old)
        elif text.startswith("rename to "):
            kind, moved = _UPDATE, True
            yield line, _UPDATE + texts[at - 1].removeprefix("rename from ")
            yield line, _MOVE + text.removeprefix("rename to ")
        elif text.startswith("diff --git "):
            kind, moved = "", False
        elif (
            text[:1] in ("+" if kind == _ADD else " +-@\\" if kind == _UPDATE else ()) and at > header_at + 1
        ):
            yield line, text


_NULL = "/dev/null"


def _diff_path(row: str) -> str:
    """The file of a row with --- or +++, without the prefix of git and without a date."""
    path = row[4:].partition("\t")[0].strip()
    return path if path == _NULL else re.sub(r"^[ab]/", "", path)


def _stripped(rows: list[Numbered]) -> list[Numbered]:
    """Without blank lines at both ends."""
    filled = [at for at, (_, text) in enumerate(rows) if text.strip()]
    return rows[filled[0] : filled[-1] + 1] if filled else []
