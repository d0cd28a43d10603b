"""`grep`: lines that match a regular expression, or the files they are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from bot.contracts.formatting import count_of
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.contracts.workspace_tools import MAX_MATCHES, MODES
from bot.toolhost.context import Context, integer_argument, text_argument
from bot.toolhost.files import SearchLocation, display_name, missing, resolve_readable, search_location
from bot.toolhost.listing import ScratchRepository, matcher, scratch_repository
from bot.toolhost.search import Hit, Query, counts, hits


class _GrepRequest(NamedTuple):
    """The arguments of a call, validated."""

    query: Query
    location: SearchLocation
    glob: str
    mode: str
    around: int


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    request = _read(arguments, context)
    try:
        with scratch_repository(request.location.root, context.tmp, context.cancelled) as git:
            return _answer(git, request, context)
    except OSError as error:
        if context.cancelled.is_set():
            raise ToolFailure("The search was cancelled.") from None
        raise ToolFailure(f"The files could not be searched: {error.strerror}.") from None


def _read(arguments: Mapping[str, Any], context: Context) -> _GrepRequest:
    pattern = text_argument(arguments, "pattern")
    if not pattern:
        raise ToolFailure('"pattern" is empty. Give the text to search for, or use glob to find files.')
    if "\n" in pattern or "\0" in pattern:
        raise ToolFailure(
            "A search goes line by line; the pattern cannot hold a line break. Search for one of its lines."
        )
    raw_path = text_argument(arguments, "path", ".")
    path = resolve_readable(context, raw_path)
    if not path.exists():
        raise missing(context, path, raw_path)
    if not (path.is_file() or path.is_dir()):
        raise ToolFailure(
            f"{display_name(raw_path)} is neither a file nor a folder. Give a path that is one."
        )
    query = Query(pattern, arguments.get("literal") is True)
    glob = text_argument(arguments, "glob", "")
    around = integer_argument(arguments, "context", 0, 0, MAX_CONTEXT)
    mode = arguments.get("mode", MODES[0])
    return _GrepRequest(query, search_location(context, path), glob, mode, around)


def _answer(git: ScratchRepository, request: _GrepRequest, context: Context) -> ToolOutcome:
    found = counts(git, request.query, _searched(request))
    total, count = sum(found.values()), len(found)
    if not found:
        where = f" in {display_name(request.location.below)}" if request.location.below else ""
        only = f" in files like {request.glob}" if request.glob else ""
        return ToolOutcome(f"No line matches {request.query.pattern}{where}{only}.")
    paths = sorted(found)
    if request.mode == "lines":
        shown = _first_hits(git, request, found)
        lines = list(render(request.location, shown, request.around))
        for path in dict.fromkeys(hit.path for hit in shown):
            context.records.mention(request.location.root / path)
        matches = sum(hit.column > 0 for hit in shown)
        cut = total > matches
        note = f'; the first {matches} are shown, narrow with path or glob, or set mode "files"'
    else:
        lines = [
            request.location.display(path) + (f": {found[path]}" if request.mode == "count" else "")
            for path in paths[:MAX_MATCHES]
        ]
        cut = count > MAX_MATCHES
        note = f"; the first {MAX_MATCHES} files are shown, narrow with path or glob"
    if cut:
        lines.append(f"[{count_of(total, 'matching line')} in {count_of(count, 'file')}{note}]")
    return ToolOutcome("\n".join(lines))


def _searched(request: _GrepRequest) -> list[str]:
    names = request.location.full_names
    if not request.glob:
        return names
    matches = matcher(request.glob)
    start = len(request.location.below) + 1 if request.location.below else 0
    return [path for path in names if matches(path[start:] or path.rpartition("/")[2])]


def _first_hits(git: ScratchRepository, request: _GrepRequest, found: Mapping[str, int]) -> list[Hit]:
    """The first `MAX_MATCHES` matches with the lines around them."""
    some: list[str] = []
    expected = 0
    for path in sorted(found):
        if expected >= MAX_MATCHES:
            break
        some.append(path)
        expected += found[path]
    taken: list[Hit] = []
    last, left = 0, MAX_MATCHES
    for hit in hits(git, request.query, some, request.around):
        if hit.column and not left:
            break
        if hit.column:
            last, left = len(taken), left - 1
        taken.append(hit)
    if not taken:
        return []  # the files changed meanwhile
    path, end = taken[last].path, taken[last].line + request.around
    return taken[: last + 1] + [hit for hit in taken[last + 1 :] if hit.path == path and hit.line <= end]


MAX_LINE = 500
MAX_CONTEXT = 20


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
    """At most `MAX_LINE` characters of the line, around the match. `column` counts bytes from 1."""
    if len(line) <= MAX_LINE:
        return line
    at = len(line.encode()[: column - 1].decode("utf-8", "ignore"))
    start = max(0, min(at - MAX_LINE // 4, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
