"""Search files line by line with `git grep`: Perl-compatible expressions, all cores, links never followed.

A search has two steps. `counts` returns the number of matching lines by file; `hits` then finds the lines of the few
files that are shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.contracts.tools import ToolFailure
from bot.toolhost.listing import ScratchRepository
from bot.toolhost.programs import ProgramResult

TIMEOUT = 30.0

_CAP = 64 * 1024 * 1024
_LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is left out where memory is short."""

# UCP: \w and \d know Unicode, as in Python. ANYCRLF: "$" matches before the CR of a CRLF line.
_VERBS = "(*UCP)(*ANYCRLF)"

_COUNT = re.compile(rb"([^\0]+)\0(\d+)\n")
_HIT = re.compile(rb"(?:--\n)?([^\0]+)\0(\d+)\0(?:(\d+)\0)?([^\n]*)\n")


class Query(NamedTuple):
    """A pattern, a regular expression unless it is `literal`."""

    pattern: str
    literal: bool = False


class Hit(NamedTuple):
    """A line that matches, or with `column` 0 one near it; `line` and `column` (of the first match, in bytes) are
    1-based."""

    path: str
    line: int
    column: int
    text: str


def counts(git: ScratchRepository, query: Query, names: Sequence[str]) -> Mapping[str, int]:
    """Matching lines by file, of those in `names`. Raises `ToolFailure` for a pattern that is no regular expression."""
    output = _grep(git, query, names, "-c") if names else b""
    return {os.fsdecode(path): int(count) for path, count in _COUNT.findall(output)}


def hits(git: ScratchRepository, query: Query, names: Sequence[str], around: int) -> Iterator[Hit]:
    """The matching lines of these files with the lines `around` each, in their order, lines ascending."""
    output = _grep(git, query, names, "-n", "--column", f"--context={around}")
    for path, line, column, content in _HIT.findall(output):
        text = content.decode("utf-8", "replace").removesuffix("\r")
        yield Hit(os.fsdecode(path), int(line), int(column or 0), text)


def _grep(git: ScratchRepository, query: Query, names: Sequence[str], *arguments: str) -> bytes:
    pattern = ("-F", "-e", query.pattern) if query.literal else ("-P", "-e", _VERBS + query.pattern)
    flags = ("--no-textconv", "--no-color", "--no-recurse-submodules", "--full-name", "-I", "-z")
    finished = git.run(
        "grep", *flags, *pattern, *arguments, index=git.index_of(names), cap=_CAP, timeout=TIMEOUT
    )
    if finished.exit_code in (0, 1) or finished.capped:
        return finished.output
    if (
        b"memory" in finished.errors
    ):  # git reads whole files, and `truncate` makes one of any size in a moment
        small = [name for name in names if _size(git.root / name) <= _LARGEST]
        if len(small) < len(names):
            return _grep(git, query, small, *arguments)
    raise _failure(finished, query)


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _failure(finished: ProgramResult, query: Query) -> ToolFailure:
    if finished.cancelled:
        return ToolFailure("The search was cancelled.")
    if finished.timed_out:
        return ToolFailure(
            f"The search took longer than {TIMEOUT:.0f} s. Narrow it with path, or simplify the pattern."
        )
    words = finished.errors.decode("utf-8", "replace").strip().splitlines()
    reason = words[-1] if words else ""
    if "limit exceeded" in reason:
        return ToolFailure(
            f"The pattern {query.pattern} takes too many steps on one line. Simplify it: repeats within "
            "repeats, as in (a+)+, can take for ever."
        )
    if _VERBS not in reason and "pcre2_" not in reason:
        return ToolFailure(f"git could not search: {reason or 'it gave no reason'}.")
    return ToolFailure(
        f"The pattern {query.pattern} does not work as a regular expression: {reason.rpartition(chr(39) + ': ')[2]}. "
        'Escape special characters with a backslash, or set "literal" to true.'
    )
