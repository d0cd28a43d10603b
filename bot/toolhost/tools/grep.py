"""`grep`: lines that match a regular expression, or the files they are in.

git searches: Perl-compatible expressions, all cores, links never followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from bot.contracts.plain_text import printable_name
from bot.contracts.tool_descriptions import MODES
from bot.contracts.tool_limits import MAX_CONTEXT, MAX_MATCH, MAX_MATCHES
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.files import SearchLocation, missing, resolve_readable, search_location
from bot.toolhost.listing import ScratchRepository, matcher, scratch_repository
from bot.toolhost.programs import ProgramResult


class _Request(NamedTuple):
    """The arguments of a call, validated. The pattern is a regular expression unless it is `literal`."""

    pattern: str
    literal: bool
    location: SearchLocation
    glob: str
    mode: str
    around: int


def run(
    host: Context,
    pattern: str,
    path: str = ".",
    glob: str = "",
    literal: bool = False,
    context: int = 0,
    mode: str = MODES[0],
) -> ToolOutcome:
    if not pattern:
        raise ToolFailure('"pattern" is empty. Give the text to search for, or use glob to find files.')
    if "\n" in pattern or "\0" in pattern:
        raise ToolFailure(
            "A search goes line by line; the pattern cannot hold a line break. Search for one of its lines."
        )
    real = resolve_readable(host, path)
    if not real.exists():
        raise missing(host, real, path)
    if not (real.is_file() or real.is_dir()):
        raise ToolFailure(f"{printable_name(path)} is neither a file nor a folder. Give a path that is one.")
    location = search_location(host, real)
    request = _Request(pattern, literal, location, glob, mode, max(0, min(context, MAX_CONTEXT)))
    try:
        with scratch_repository(location.root, host.tmp, host.cancelled) as git:
            return _answer(git, request, host)
    except OSError as error:
        if host.cancelled.is_set():
            raise ToolFailure("The search was cancelled.") from None
        raise ToolFailure(f"The files could not be searched: {error.strerror}.") from None


def _answer(git: ScratchRepository, request: _Request, context: Context) -> ToolOutcome:
    names = request.location.full_names
    if request.glob:
        matches_glob = matcher(request.glob)
        both = zip(names, request.location.names, strict=True)
        names = [path for path, own in both if matches_glob(own or basename(path))]
    if request.mode == "lines":
        hits, cut = _first_hits(git, request, names)
        lines = list(render(request.location, hits, request.around))
        for path in dict.fromkeys(hit.path for hit in hits):
            context.records.mention(request.location.root / path)
        note = f'over {MAX_MATCHES} lines match; narrow with path or glob, or set mode "files"'
    else:
        counts = _COUNT.findall(_grep(git, request, names, "-c"))
        lines = [
            request.location.display(os.fsdecode(path))
            + (f": {int(count)}" if request.mode == "count" else "")
            for path, count in counts[:MAX_MATCHES]
        ]
        cut = len(counts) > MAX_MATCHES
        note = f"the first {MAX_MATCHES} of {len(counts)} files; narrow with path or glob"
    if not lines:
        where = f" in {printable_name(request.location.below)}" if request.location.below else ""
        only = f" in files like {request.glob}" if request.glob else ""
        return ToolOutcome(f"No line matches {request.pattern}{where}{only}.")
    return ToolOutcome("\n".join([*lines, *([f"[{note}]"] if cut else [])]))


def _first_hits(git: ScratchRepository, request: _Request, names: Sequence[str]) -> tuple[list[Hit], bool]:
    """The first `MAX_MATCHES` matches with the lines around them, and whether there are more."""
    hits: list[Hit] = []
    matches = 0
    for hit in _hits(git, request, names):
        matches += hit.column > 0
        if matches > MAX_MATCHES:  # without the lines above it
            last = next(one for one in reversed(hits) if one.column)
            while hits[-1].path != last.path or hits[-1].line > last.line + request.around:
                hits.pop()
            return hits, True
        hits.append(hit)
    return hits, False


def render(location: SearchLocation, hits: Sequence[Hit], around: int) -> Iterator[str]:
    """A line with a file's name, then its matches as `12:text` and the lines around them as `11-text`, `--` where lines
    are left out between them. The name is never on the line of a match, so it may hold anything."""
    for path, group in groupby(hits, key=lambda hit: hit.path):
        yield location.display(path)
        previous = 0
        for hit in group:
            if around and previous and hit.line > previous + 1:
                yield "--"
            previous = hit.line
            yield f"{hit.line}{':' if hit.column else '-'}{_short(hit.text, hit.column or 1)}"


def _short(line: str, column: int) -> str:
    """At most `MAX_MATCH` characters of the line, around the match. `column` counts bytes from 1."""
    if len(line) <= MAX_MATCH:
        return line
    at = len(line.encode()[: column - 1].decode("utf-8", "ignore"))
    start = max(0, min(at - MAX_MATCH // 4, len(line) - MAX_MATCH))
    end = start + MAX_MATCH
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


TIMEOUT = 30.0

_CAP = 64 * 1024 * 1024
_LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is left out where memory is short."""

# UCP: \w and \d know Unicode, as in Python. ANYCRLF: "$" matches before the CR of a CRLF line.
_VERBS = "(*UCP)(*ANYCRLF)"

_COUNT = re.compile(rb"([^\0]+)\0(\d+)\n")
_HIT = re.compile(rb"(?:--\n)?([^\0]+)\0(\d+)\0(?:(\d+)\0)?([^\n]*)\n")


class Hit(NamedTuple):
    """A line that matches, or with `column` 0 one near it; `line` and `column` (of the first match, in bytes) are
    1-based."""

    path: str
    line: int
    column: int
    text: str


def _hits(git: ScratchRepository, request: _Request, names: Sequence[str]) -> Iterator[Hit]:
    """The matching lines of these files with the lines around each, in their order, lines ascending."""
    output = _grep(git, request, names, "-n", "--column", f"--context={request.around}")
    for match in _HIT.finditer(output):
        path, line, column, content = match.groups()
        text = content.decode("utf-8", "replace").removesuffix("\r")
        yield Hit(os.fsdecode(path), int(line), int(column or 0), text)


def _grep(git: ScratchRepository, request: _Request, names: Sequence[str], *arguments: str) -> bytes:
    pattern = ("-F", "-e", request.pattern) if request.literal else ("-P", "-e", _VERBS + request.pattern)
    flags = ("--no-textconv", "--no-color", "--no-recurse-submodules", "--full-name", "-I", "-z")
    finished = git.run(
        "grep", *flags, *pattern, *arguments, index=git.index_of(names), cap=_CAP, timeout=TIMEOUT
    )
    if finished.exit_code in (0, 1) or finished.capped:
        return finished.output
    # git reads whole files, and `truncate` makes one of any size in a moment.
    if b"memory" in finished.errors:
        small = [name for name in names if _size(git.root / name) <= _LARGEST]
        if len(small) < len(names):
            return _grep(git, request, small, *arguments)
    raise _failure(finished, request.pattern)


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _failure(finished: ProgramResult, pattern: str) -> ToolFailure:
    if finished.cancelled:
        return ToolFailure("The search was cancelled.")
    if finished.timed_out:
        return ToolFailure(
            f"The search took longer than {TIMEOUT:.0f} s. Narrow it with path, or simplify the pattern."
        )
    reason = finished.last_words
    if "limit exceeded" in reason:
        return ToolFailure(
            f"The pattern {pattern} takes too many steps on one line. Simplify it: repeats within "
            "repeats, as in (a+)+, can take for ever."
        )
    if _VERBS not in reason and "pcre2_" not in reason:
        return ToolFailure(f"git could not search: {reason or 'it gave no reason'}.")
    return ToolFailure(
        f"The pattern {pattern} does not work as a regular expression: {reason.rpartition(chr(39) + ': ')[2]}. "
        'Escape special characters with a backslash, or set "literal" to true.'
    )
