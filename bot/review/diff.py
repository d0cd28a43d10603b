"""Parse a unified diff of git into files, hunks and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.contracts.plain_text import quoted
from bot.contracts.pulls import Side


class FileStatus(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"


class Row(NamedTuple):
    """One line of a hunk. `kind` is a space, `-` or `+`; a number is 0 on the side that lacks the line."""

    kind: str
    old: int
    new: int
    text: str


class Hunk(NamedTuple):
    """`kinds` has a space, `-` or `+` for each line. `section` is the function that git names at its head, if any."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    kinds: str
    texts: tuple[str, ...]
    section: str = ""

    def start(self, side: Side) -> int:
        return self.new_start if side is Side.RIGHT else self.old_start

    def size(self, side: Side) -> int:
        return self.new_count if side is Side.RIGHT else self.old_count

    def holds(self, side: Side, line: int) -> bool:
        """Whether the hunk has this line of the side, as context or changed."""
        return self.start(side) <= line < self.start(side) + self.size(side)

    def side(self, side: Side) -> list[str]:
        """Return the lines of the side; the first one has the number `start(side)`."""
        absent = "-" if side is Side.RIGHT else "+"
        return [text for kind, text in zip(self.kinds, self.texts, strict=True) if kind != absent]

    def changed(self, side: Side) -> frozenset[int]:
        """Return the numbers of the lines that only this side has."""
        wanted, absent = ("+", "-") if side is Side.RIGHT else ("-", "+")
        kinds = self.kinds.replace(absent, "")
        return frozenset(number for number, kind in enumerate(kinds, self.start(side)) if kind == wanted)

    def part(self, first: int, end: int) -> Hunk:
        """Return the rows from `first` up to `end`, which is not included."""
        before, kinds, section = self.kinds[:first], self.kinds[first:end], self.section
        for kind, text in zip(before, self.texts, strict=False):
            if kind != "-" and _HEADING.match(text):
                section = text.rstrip()

        def numbers(start: int, count: int, absent: str) -> tuple[int, int]:
            held = len(kinds) - kinds.count(absent)
            # A side without a line names the line before it.
            next_line = start + (not count) + len(before) - before.count(absent)
            return next_line - (not held), held

        old = numbers(self.old_start, self.old_count, "+")
        new = numbers(self.new_start, self.new_count, "-")
        return Hunk(*old, *new, kinds, self.texts[first:end], section)

    def rows(self) -> Iterator[Row]:
        """Yield every line in order, with its numbers on both sides."""
        old, new = self.old_start, self.new_start
        for kind, text in zip(self.kinds, self.texts, strict=True):
            yield Row(kind, 0 if kind == "+" else old, 0 if kind == "-" else new, text)
            old += kind != "+"
            new += kind != "-"


class FileDiff(NamedTuple):
    """One file of a diff. `path` is its new name, or its old one if it was removed; a name that is not UTF-8 has
    surrogates. `size` is the length of its part of the diff. `binary`: git, and so GitHub, shows no lines of it."""

    path: str
    old_path: str
    status: FileStatus
    hunks: tuple[Hunk, ...]
    binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    size: int = 0


@dataclass(frozen=True)
class Diff:
    """All files in the diff's order. `find` also accepts the old name of a renamed file."""

    files: tuple[FileDiff, ...]

    @cached_property
    def _by_path(self) -> Mapping[str, FileDiff]:
        old_names = {file.old_path: file for file in self.files if file.status is FileStatus.RENAMED}
        return old_names | {file.path: file for file in self.files}

    def find(self, path: str) -> FileDiff | None:
        return self._by_path.get(path)


_START = re.compile(r"^diff --git ", re.MULTILINE)
_FIELD = re.compile(r"^((?:old|new|deleted file|new file) mode|rename (?:from|to)) (.*)$", re.MULTILINE)
_BODY = re.compile(r"^(?:--- |@@|GIT binary patch$|Binary files .* differ$)", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: (.*))?\n", re.MULTILINE)
# As git takes a line for the head of a function, where it does not know the language.
_HEADING = re.compile(r"[A-Za-z_$]")
_ESCAPE = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = dict(zip('abtnvfr"\\', '\a\b\t\n\v\f\r"\\', strict=True))
_NO_LINE = re.compile(r"[^ +\-\\]")


class DiffError(UsageError):
    """The text is not a diff of git."""


def parse_diff(raw: bytes) -> Diff:
    """Parse the output of `git diff`. Raises `DiffError`. Bytes that are not UTF-8 become U+FFFD in lines."""
    text = raw.decode(errors="surrogateescape")
    starts = [match.start() for match in _START.finditer(text)]
    if text and starts[:1] != [0]:
        combined = text.startswith(("diff --cc ", "diff --combined "))
        raise _wrong(text, "a combined diff has no two sides" if combined else "`diff --git` was expected")
    # No line of a hunk or of binary data begins like the head of a file.
    return Diff(tuple(_file(text[start:end]) for start, end in pairwise([*starts, len(text)])))


def _wrong(text: str, why: str) -> DiffError:
    return DiffError(f"What begins with {quoted(text[:80])} is not what git writes in a diff: {why}.")


def _file(text: str) -> FileDiff:
    body = _BODY.search(text)
    header = text[: body.start()] if body else text
    fields = dict(_FIELD.findall(header))
    old, new = _names(header, fields)
    status = next((status for field, status in _STATUSES.items() if field in fields), FileStatus.MODIFIED)
    return FileDiff(
        old if status is FileStatus.REMOVED else new,
        old,
        status,
        _hunks(text[body.start() :]) if body and body[0] in ("--- ", "@@") else (),
        body is not None and body[0] not in ("--- ", "@@"),
        fields.get("old mode") or fields.get("deleted file mode", ""),
        fields.get("new mode") or fields.get("new file mode", ""),
        len(text.encode(errors="surrogateescape")),
    )


_STATUSES = {
    "deleted file mode": FileStatus.REMOVED,
    "new file mode": FileStatus.ADDED,
    "rename to": FileStatus.RENAMED,
}


def _names(header: str, fields: Mapping[str, str]) -> tuple[str, str]:
    """Return both names of the header. Without a rename they are equal, which determines where the first one ends."""
    if "rename from" in fields and "rename to" in fields:
        return _unquoted(fields["rename from"]), _unquoted(fields["rename to"])
    names = header.partition("\n")[0].removeprefix("diff --git ")
    middle = len(names) // 2
    old, new = _unquoted(names[:middle]), _unquoted(names[middle + 1 :])
    name = old[2:]
    if names[middle : middle + 1] != " " or not name or (old, new) != (f"a/{name}", f"b/{name}"):
        raise _wrong(header, "the two names of `diff --git` differ without a rename")
    return name, name


def _hunks(text: str) -> tuple[Hunk, ...]:
    heads = list(_HUNK.finditer(text))
    if not heads or text.count("\n@@", 0) + text.startswith("@@") != len(heads):
        raise _wrong(text, "the head of a hunk cannot be read")
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return tuple(_hunk(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=True))


def _hunk(head: re.Match[str], text: str) -> Hunk:
    *numbers, section = head.groups()
    old, old_count, new, new_count = (1 if number is None else int(number) for number in numbers)
    if not text.isascii():
        text = text.encode(errors="surrogateescape").decode(errors="replace")
    # "No newline at end of file" is a remark on the line before it.
    lines = [line for line in text.removesuffix("\n").split("\n") if not line.startswith("\\")]
    # git may write an empty line of context without its space.
    kinds = "".join(line[:1] or " " for line in lines)
    held = len(kinds) - kinds.count("+"), len(kinds) - kinds.count("-")
    if _NO_LINE.search(kinds) or held != (old_count, new_count):
        raise _wrong(head[0], "the hunk has not as many lines as its head says")
    texts = tuple(line[1:] for line in lines)
    return Hunk(old, old_count, new, new_count, kinds, texts, (section or "").strip())


def _unquoted(name: str) -> str:
    """Undo git's quoting of a name: C escapes, and three octal digits for each byte outside ASCII."""
    if not name.startswith('"'):
        return name
    inner = name[1:-1]
    if len(name) < 2 or not name.endswith('"') or re.search(r'[\\"]', _ESCAPE.sub("", inner)):
        raise _wrong(name, "a quoted name cannot be read")

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return _ESCAPED[code] if code in _ESCAPED else chr(int(code, 8) & 0xFF)

    # Octal escapes are bytes, so every character is converted to bytes first and the whole is decoded as UTF-8.
    as_bytes = inner.encode(errors="surrogateescape").decode("latin-1")
    return _ESCAPE.sub(plain, as_bytes).encode("latin-1").decode(errors="surrogateescape")
