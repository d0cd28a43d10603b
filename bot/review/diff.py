"""Parse a unified diff of git into files, hunks and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.contracts.pulls import Side


class FileStatus(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"
    RETYPED = "retyped"


class Row(NamedTuple):
    """One line of a hunk. `kind` is a space, `-` or `+`; a number is 0 on the side that lacks the line."""

    kind: str
    old: int
    new: int
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """`kinds` has one character per line: a space, `-` or `+`. The lines of each side are consecutive. `section` is the
    function that git names at the head of the hunk, if it knows one."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    kinds: str
    texts: tuple[str, ...]
    section: str = ""

    def start(self, side: Side) -> int:
        return self.new_start if side is Side.RIGHT else self.old_start

    def count(self, side: Side) -> int:
        return self.new_count if side is Side.RIGHT else self.old_count

    def holds(self, side: Side, line: int) -> bool:
        """Whether the hunk has this line of the side, as context or changed."""
        return self.start(side) <= line < self.start(side) + self.count(side)

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


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. `path` is its new name, or its old one if it was removed; a name that is not UTF-8 has
    surrogates. `size` is the length of its part of the diff, `blobs` are the object ids of both sides. `binary`: git,
    and so GitHub, shows no lines of it."""

    path: str
    old_path: str
    status: FileStatus
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    size: int = 0
    blobs: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Diff:
    """All files in the diff's order. `find` also accepts the old name of a renamed file."""

    files: tuple[FileDiff, ...]
    _by_path: Mapping[str, FileDiff] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        old_names = {file.old_path: file for file in self.files if file.status is FileStatus.RENAMED}
        names = old_names | {file.path: file for file in self.files}
        object.__setattr__(self, "_by_path", names)

    def find(self, path: str) -> FileDiff | None:
        return self._by_path.get(path)


_NOWHERE = "/dev/null"
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: (.*))?", re.DOTALL)
# As git takes a line for the head of a function, where it does not know the language.
_HEADING = re.compile(r"[A-Za-z_$]")
_ESCAPE = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = {
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    '"': '"',
    "\\": "\\",
}
_NO_LINE = re.compile(r"[^ +\-\\]")
_INDEX = re.compile(r"index ([0-9a-f]*)\.\.([0-9a-f]*)")
_SUBMODULE = "160000"
_MODE = re.compile(r"[0-7]{6}")
_SECTION = "diff --git "
_BINARY_DATA = re.compile(r"(?:literal|delta) \d+|[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]+|")


class DiffError(UsageError):
    """The text is not a valid diff of git. The message names the line."""


def parse_diff(raw: bytes) -> Diff:
    """Parse the output of `git diff`. Raises `DiffError`. Bytes that are not UTF-8 become U+FFFD in lines."""
    if not raw:
        return Diff(())
    reader = _Reader(raw.removesuffix(b"\n").decode(errors="surrogateescape"))
    files: list[FileDiff] = []
    while not reader.at_end:
        file = _file(reader)
        if files and _is_retyped(files[-1], file):
            files[-1] = _retyped(files[-1], file)
        else:
            files.append(file)
    return Diff(tuple(files))


class _Reader:
    """The lines and the current position. Bytes that are not UTF-8 are surrogates here, so that names keep them."""

    def __init__(self, text: str) -> None:
        self.lines: Sequence[str] = text.split("\n")
        # git may write an empty line of context without its space.
        self.kinds = "".join(line[0] if line else " " for line in self.lines)
        self.ascii = text.isascii()
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.lines)

    def peek(self) -> str:
        """Return the next line; empty at the end."""
        return "" if self.at_end else self.lines[self.position]

    def size_since(self, start: int) -> int:
        """Return the size in bytes of the lines from `start` to the current one."""
        lines = self.lines[start : self.position]
        lengths = (
            map(len, lines) if self.ascii else (len(line.encode(errors="surrogateescape")) for line in lines)
        )
        return sum(lengths) + len(lines)

    def wrong(self, what: str) -> DiffError:
        return DiffError(f"Line {self.position + 1} of the diff is not what git writes: {what}.")


@dataclass(slots=True)
class _Header:
    """The fields of the lines before the first hunk."""

    names: str
    status: FileStatus = FileStatus.MODIFIED
    old_mode: str = ""
    new_mode: str = ""
    moved_from: str = ""
    moved_to: str = ""
    blobs: tuple[str, str] = ("", "")


def _file(reader: _Reader) -> FileDiff:
    first, start = reader.peek(), reader.position
    if not first.startswith(_SECTION):
        combined = first.startswith(("diff --cc ", "diff --combined "))
        raise reader.wrong("a combined diff has no two sides" if combined else "`diff --git` was expected")
    header = _Header(first.removeprefix(_SECTION))
    reader.position += 1
    while _read_header(reader, header):
        reader.position += 1
    old, new = _names(reader, header)
    binary = _skip_binary(reader)
    hunks: tuple[Hunk, ...] = ()
    if reader.peek().startswith("--- "):
        old, new = _marked_names(reader, header, old, new)
        hunks = _hunks(reader)
    path = old if header.status is FileStatus.REMOVED else new
    return FileDiff(
        path,
        old,
        header.status,
        hunks,
        binary,
        header.old_mode,
        header.new_mode,
        reader.size_since(start),
        header.blobs,
    )


def _read_header(reader: _Reader, header: _Header) -> bool:
    """Read the next line into `header` if it is an extended header; return whether it was one."""
    line = reader.peek()
    for words, status, mode_of in (
        ("old mode ", None, "old"),
        ("new mode ", None, "new"),
        ("deleted file mode ", FileStatus.REMOVED, "old"),
        ("new file mode ", FileStatus.ADDED, "new"),
    ):
        if line.startswith(words):
            mode = line.removeprefix(words)
            if not _MODE.fullmatch(mode):
                raise reader.wrong("a file mode has six octal digits")
            header.status = status or header.status
            if mode_of == "old":
                header.old_mode = mode
            else:
                header.new_mode = mode
            return True
    for word, status in (("rename", FileStatus.RENAMED), ("copy", FileStatus.COPIED)):
        if line.startswith(f"{word} from "):
            header.status, header.moved_from = status, _unquoted(reader, line.removeprefix(f"{word} from "))
            return True
        if line.startswith(f"{word} to "):
            header.moved_to = _unquoted(reader, line.removeprefix(f"{word} to "))
            return True
    if match := _INDEX.match(line):
        header.blobs = (match[1], match[2])
    return line.startswith(("similarity index ", "dissimilarity index ", "index "))


def _names(reader: _Reader, header: _Header) -> tuple[str, str]:
    """Return both names of the header. Without a rename they are equal, which determines where the first one ends."""
    if header.moved_from and header.moved_to:
        return header.moved_from, header.moved_to
    names = header.names
    if names.startswith('"'):
        end = _end_of_quoted(reader, names)
        return _without_prefix(reader, names[:end], "a/"), _without_prefix(reader, names[end + 1 :], "b/")
    middle = len(names) // 2
    old, new = names[:middle], names[middle + 1 :]
    if names[middle : middle + 1] != " " or old[2:] != new[2:]:
        raise reader.wrong("the two names of `diff --git` differ without a rename")
    return _without_prefix(reader, old, "a/"), _without_prefix(reader, new, "b/")


def _marked_names(reader: _Reader, header: _Header, old: str, new: str) -> tuple[str, str]:
    """Read the `---` and `+++` lines, which must agree with the header."""
    for word, prefix, name, gone in (
        ("--- ", "a/", old, FileStatus.ADDED),
        ("+++ ", "b/", new, FileStatus.REMOVED),
    ):
        line = reader.peek()
        if not line.startswith(word):
            raise reader.wrong(f"`{word}` was expected")
        # A name with a space is followed by a tab.
        quoted = line.removeprefix(word).removesuffix("\t")
        nowhere = quoted == _NOWHERE
        if nowhere != (header.status is gone) or not (
            nowhere or _without_prefix(reader, quoted, prefix) == name
        ):
            raise reader.wrong("the file's name is another than in `diff --git`")
        reader.position += 1
    return old, new


def _hunks(reader: _Reader) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while (line := reader.peek()).startswith("@@"):
        match = _HUNK.fullmatch(line)
        if match is None:
            raise reader.wrong("the head of a hunk cannot be read")
        reader.position += 1
        *numbers, section = match.groups()
        old, old_count, new, new_count = (1 if number is None else int(number) for number in numbers)
        hunk = _hunk(reader, (old, old_count), (new, new_count), section or "")
        if hunks and not all(
            hunks[-1].start(side) + hunks[-1].count(side) <= hunk.start(side) + (not hunk.count(side))
            for side in Side
        ):
            raise reader.wrong("hunks overlap")
        hunks.append(hunk)
    if not hunks:
        raise reader.wrong("a hunk was expected")
    return tuple(hunks)


def _hunk(reader: _Reader, old: tuple[int, int], new: tuple[int, int], section: str) -> Hunk:
    """Read exactly as many lines as the hunk's head states. No head begins like a line of a hunk."""
    start = reader.position
    match = _NO_LINE.search(reader.kinds, start)
    reader.position = end = match.start() if match else len(reader.lines)
    kinds, lines = reader.kinds[start:end], reader.lines[start:end]
    if "\\" in kinds:
        # "No newline at end of file" is a remark on the line before it.
        lines = [line for line in lines if not line.startswith("\\")]
        kinds = kinds.replace("\\", "")
    if (len(kinds) - kinds.count("+"), len(kinds) - kinds.count("-")) != (old[1], new[1]):
        raise reader.wrong("the hunk has not as many lines as its head says")
    texts = [section, *(line[1:] for line in lines)]
    if not reader.ascii:
        texts = [text.encode(errors="surrogateescape").decode(errors="replace") for text in texts]
    return Hunk(*old, *new, kinds, tuple(texts[1:]), texts[0].strip())


def _skip_binary(reader: _Reader) -> bool:
    line = reader.peek()
    if line.startswith("Binary files ") and line.endswith(" differ"):
        reader.position += 1
        return True
    if line != "GIT binary patch":
        return False
    reader.position += 1
    while not reader.at_end and not (line := reader.peek()).startswith(_SECTION):
        if not _BINARY_DATA.fullmatch(line):
            raise reader.wrong("binary data was expected")
        reader.position += 1
    return True


def _is_retyped(before: FileDiff, file: FileDiff) -> bool:
    """Whether a file became a link, or the other way round: git writes a removal and an addition."""
    return (before.status, file.status) == (FileStatus.REMOVED, FileStatus.ADDED) and before.path == file.path


def _retyped(before: FileDiff, file: FileDiff) -> FileDiff:
    """Join the removal and the addition, with the lines of both."""
    binary = before.binary or file.binary
    return replace(
        file,
        status=FileStatus.RETYPED,
        hunks=() if binary else (*before.hunks, *file.hunks),
        binary=binary,
        old_mode=before.old_mode,
        blobs=(
            before.blobs[0] if before.old_mode != _SUBMODULE else "",
            file.blobs[1] if file.new_mode != _SUBMODULE else "",
        ),
    )


def _without_prefix(reader: _Reader, name: str, prefix: str) -> str:
    plain = _unquoted(reader, name)
    if not plain.startswith(prefix) or plain == prefix:
        raise reader.wrong(f"a name starts with {prefix}")
    return plain.removeprefix(prefix)


def _end_of_quoted(reader: _Reader, names: str) -> int:
    """Return the end of the first of two names, a quoted one."""
    match = re.match(r'"(?:[^"\\]|\\.)*"', names)
    if match is None or names[match.end() : match.end() + 1] != " ":
        raise reader.wrong("a quoted name does not end")
    return match.end()


def _unquoted(reader: _Reader, name: str) -> str:
    """Undo git's quoting of a name: C escapes, and three octal digits for each byte outside ASCII."""
    if not name.startswith('"'):
        return name
    inner = name[1:-1]
    if len(name) < 2 or not name.endswith('"') or re.search(r'[\\"]', _ESCAPE.sub("", inner)):
        raise reader.wrong("a quoted name cannot be read")

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return _ESCAPED[code] if code in _ESCAPED else chr(int(code, 8) & 0xFF)

    # Octal escapes are bytes, so every character is converted to bytes first and the whole is decoded as UTF-8.
    as_bytes = inner.encode(errors="surrogateescape").decode("latin-1")
    return _ESCAPE.sub(plain, as_bytes).encode("latin-1").decode(errors="surrogateescape")
