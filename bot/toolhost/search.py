"""Search files line by line: with git where it works, else in Python.

A search has two steps. `counts` returns the number of matching lines by file; `hits` then reads the lines of the few
files that are shown.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bot.contracts.tools import ToolFailure
from bot.toolhost.listing import FileList, ScratchRepository, files, leads_elsewhere
from bot.toolhost.programs import Cancellation, ProgramResult
from bot.toolhost.text import SNIFF, split_lines

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

TIMEOUT = 30.0

SIMPLIFY = "Simplify it: repeats within repeats, as in (a+)+, can take for ever."

_CAP = 64 * 1024 * 1024
# Bytes of a file over which it is not searched without git: `truncate` makes one of any size in a moment.
_LARGEST = 64 * 1024 * 1024
# Up to here untracked files are searched by name; beyond, git walks the tree once more for them.
_FEW = 20_000
# More than there are cores hide some of the wait for the file system; with eight it is slower again (measured).
_AT_ONCE = 4
# From here on so many processes of one thread each: threads of one process wait for each other in the kernel, and
# 300,000 files take twice as long.
_MANY = 20_000

# UCP: \w and \d know Unicode, as in Python. ANYCRLF: "$" matches before the CR of a CRLF line.
_VERBS = "(*UCP)(*ANYCRLF)"

_COUNT = re.compile(rb"([^\0]+)\0(\d+)\n")
_HIT = re.compile(rb"([^\0]+)\0(\d+)\0(\d+)\0([^\n]*)\n")


class Query(NamedTuple):
    """A pattern, and where to search it beneath `root`: in the files `names`, or if that is `None` in all files beneath
    `below` that are not ignored."""

    pattern: str
    literal: bool
    root: Path
    below: str = ""
    names: Sequence[str] | None = None


class Hit(NamedTuple):
    """A line that matches; `line` and `column` (of the first match, in bytes) are 1-based."""

    path: str
    line: int
    column: int
    text: str


class SearchUnavailableError(Exception):
    """git cannot be used for this search; `PythonEngine` can."""


class Engine(Protocol):
    def counts(self) -> Mapping[str, int]:
        """Matching lines a file. Raises `ToolFailure` for a pattern that is no regular expression."""
        ...

    def hits(self, paths: Sequence[str]) -> Iterator[Hit]:
        """The matching lines of these files, in their order, lines ascending."""
        ...


class GitEngine:
    """`git grep` in a scratch repository: Perl-compatible expressions, all cores, links never followed."""

    def __init__(self, git: ScratchRepository, query: Query, seen: FileList | None = None) -> None:
        """`seen` are the files beneath the query's folder, if they are known."""
        self._git = git
        self._query = query
        self._seen = seen

    def counts(self) -> Mapping[str, int]:
        if self._query.names is not None:
            return self._present(self._count_in(self._query.names))
        index = self._git.tree_index
        if index is None:
            return self._count("--untracked", "--", self._below)
        return self._present(self._tracked_and_not(index))

    def hits(self, paths: Sequence[str]) -> Iterator[Hit]:
        output = self._grep("-n", "--column", index=self._index_of(paths))
        for path, line, column, content in _HIT.findall(output):
            text = content.decode("utf-8", "replace").removesuffix("\r")
            yield Hit(os.fsdecode(path), int(line), int(column), text)

    @property
    def _below(self) -> str:
        return self._query.below or "."

    def _tracked_and_not(self, index: Path) -> dict[str, int]:
        """Search the files of the index, while git lists the untracked ones if they are unknown."""
        untracked = self._seen.untracked if self._seen else None
        try:
            if untracked is not None:
                counts = self._in_portions(index)
            else:
                with _threads(1) as other:
                    looking = other.submit(self._git.present, self._query.below, index)
                    counts = _counted(self._grep("-c", "--", self._below, index=index))
                    untracked = looking.result()
        except SearchUnavailableError:  # an index that this git cannot read
            return self._count("--untracked", "--", self._below)
        if untracked is None or len(untracked) > _FEW:
            return counts | self._count("--untracked", "--", self._below)
        return counts | self._count_in(untracked)

    def _in_portions(self, index: Path) -> dict[str, int]:
        """Search many files by several processes, each in a part of the tree."""
        names = self._seen.names if self._seen else []
        parts = portions(names, _AT_ONCE) if len(names) >= _MANY else [[]]
        if len(parts) == 1:
            return _counted(self._grep("-c", "--", self._below, index=index))

        def search(paths: Sequence[str]) -> bytes:
            return self._grep("-c", "--", *paths, index=index, threads=1)

        with _threads(len(parts)) as others:
            return {
                path: count
                for counts in others.map(search, parts)
                for path, count in _counted(counts).items()
            }

    def _count_in(self, names: Sequence[str]) -> dict[str, int]:
        return _counted(self._grep("-c", index=self._index_of(names))) if names else {}

    def _count(self, *arguments: str) -> dict[str, int]:
        return _counted(self._grep("-c", *arguments))

    def _present(self, counts: dict[str, int]) -> dict[str, int]:
        """Leave out files that git reached through a folder that became a link."""
        folders = {name.rpartition("/")[0] for name in counts}
        linked = {folder for folder in folders if leads_elsewhere(self._query.root, folder)}
        return {n: c for n, c in counts.items() if n.rpartition("/")[0] not in linked} if linked else counts

    def _index_of(self, names: Iterable[str]) -> Path:
        index = self._git.index_of(names)
        if index is None:
            raise SearchUnavailableError
        return index

    def _grep(self, *arguments: str, index: Path | None = None, threads: int = _AT_ONCE) -> bytes:
        query = self._query
        pattern = ("-F", "-e", query.pattern) if query.literal else ("-P", "-e", _VERBS + query.pattern)
        flags = (
            "--no-textconv",
            "--no-color",
            "--no-recurse-submodules",
            "--full-name",
            "-I",
            "-z",
            f"--threads={threads}",
        )
        finished = self._git.run("grep", *flags, *pattern, *arguments, index=index, cap=_CAP, timeout=TIMEOUT)
        if finished.exit_code in (0, 1) or finished.capped:
            return finished.output
        raise _git_failure(finished, query)


class PythonEngine:
    """The same search without git: slower, and with Python's regular expressions."""

    def __init__(self, query: Query, cancelled: Cancellation) -> None:
        self._query = query
        self._cancelled = cancelled
        try:
            self._regex = re.compile(re.escape(query.pattern) if query.literal else query.pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise _bad_pattern(query.pattern, str(error)) from None

    def counts(self) -> Mapping[str, int]:
        query = self._query
        names = files(query.root, below=query.below) if query.names is None else query.names
        counts = {name: sum(1 for _ in self._matches(name)) for name in names}
        return {name: count for name, count in counts.items() if count}

    def hits(self, paths: Sequence[str]) -> Iterator[Hit]:
        for path in paths:
            yield from self._matches(path)

    def _matches(self, name: str) -> Iterator[Hit]:
        if self._cancelled.is_set():
            raise ToolFailure("The search was cancelled.")
        for number, line in enumerate(_text_lines(self._query.root / name), 1):
            if match := self._regex.search(line):
                yield Hit(name, number, len(_bytes(line[: match.start()])) + 1, _printable(line))


def _threads(count: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # 8 ms, which most searches do not pay

    return ThreadPoolExecutor(count)


def _counted(output: bytes) -> dict[str, int]:
    return {os.fsdecode(path): int(count) for path, count in _COUNT.findall(output)}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _printable(line: str) -> str:
    return _bytes(line).decode("utf-8", "replace")


def searched_lines(path: Path) -> list[str]:
    """The lines of a file as they are searched, without their ends; none for a file that is not searched."""
    return [_printable(line) for line in _text_lines(path)]


def _text_lines(path: Path) -> list[str]:
    """The lines; empty for binary files, links and everything that is no file. Bytes that are not UTF-8 are
    surrogates."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []  # gone meanwhile, a link, or not readable: git passes over it too
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return []
        data = file.read(_LARGEST)
    if b"\0" in data[:SNIFF]:
        return []
    return [line.removesuffix("\r") for line in split_lines(data.decode("utf-8", "surrogateescape"))]


def _git_failure(finished: ProgramResult, query: Query) -> Exception:
    if finished.cancelled:
        return ToolFailure("The search was cancelled.")
    if finished.timed_out:
        return ToolFailure(
            f"The search took longer than {TIMEOUT:.0f} s. Narrow it with path, or simplify the pattern."
        )
    words = finished.errors.decode("utf-8", "replace").strip().splitlines()
    reason = words[-1] if words else ""
    if _VERBS not in reason and "pcre2_" not in reason:
        return SearchUnavailableError(reason)
    if "limit exceeded" in reason:
        return ToolFailure(f"The pattern {query.pattern} takes too many steps on one line. {SIMPLIFY}")
    return _bad_pattern(query.pattern, reason.rpartition("': ")[2])


def _bad_pattern(pattern: str, reason: str) -> ToolFailure:
    return ToolFailure(
        f"The pattern {pattern} does not work as a regular expression: {reason}. Escape special characters with "
        'a backslash, or set "literal" to true.'
    )


_MOST_PATHS = 200
"""git compares each path of its index with each of a portion."""

_FINENESS = 4
"""A folder is split while it has more than one in this many files of a portion."""

_UNEVEN = 2


def portions(names: Sequence[str], count: int) -> list[list[str]]:
    """Split `names` (sorted) into `count` lists of folders and files; one empty list, which stands for everything, if
    the tree cannot be split evenly by a few paths."""
    fair = len(names) / count
    # Largest first; the range of names that a unit covers goes with it.
    units = [(-(len(names)), "", 0, len(names))]
    while units:
        size, path, start, end = units[0]
        below = list(_children(names, path, start, end)) if -size > fair / _FINENESS else []
        if not below or len(units) + len(below) > _MOST_PATHS:
            break
        heappop(units)
        for child, first, last in below:
            heappush(units, (first - last, child, first, last))
    parts: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for size, path, _, _ in sorted(units):
        least = sizes.index(min(sizes))
        parts[least].append(path)
        sizes[least] -= size
    return parts if max(sizes) <= _UNEVEN * fair and all(parts) else [[]]


def _children(names: Sequence[str], path: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The entries directly in `path` (a folder, or "" for the root), each with its range; none for a file."""
    if names[start] == path:
        return
    skip = len(path) + 1 if path else 0
    at = start
    while at < end:
        slash = names[at].find("/", skip)
        child = names[at] if slash < 0 else names[at][:slash]
        # "0" comes right after "/".
        after = at + 1 if slash < 0 else bisect_left(names, f"{child}0", at, end)
        yield child, at, after
        at = after
