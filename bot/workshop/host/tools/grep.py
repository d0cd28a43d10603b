"""`grep`: lines that match a regular expression, or the files they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import missing
from bot.workshop.host.globs import TooManyAlternativesError, matcher
from bot.workshop.host.listing import scratch_repository
from bot.workshop.host.matches import MAX_CONTEXT, render
from bot.workshop.host.paths import resolve_readable, shown
from bot.workshop.host.place import Place, place_of
from bot.workshop.host.search import Engine, GitEngine, Hit, PythonEngine, Query, SearchUnavailableError
from bot.workshop.host.shown import count_as_shown
from bot.workshop.host.specs import MAX_MATCHES, MODES


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the call asks for, read and checked."""

    query: Query
    place: Place
    glob: str
    mode: str
    around: int
    too_wide: bool = False


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    wish = _read(arguments, context)
    seen = None if wish.place.plain else context.files.seen(wish.place.below)
    with scratch_repository(wish.place.root, context.tmp, context.cancelled) as git:
        try:
            engine: Engine = (
                GitEngine(git, wish.query, seen) if git else PythonEngine(wish.query, context.cancelled)
            )
            return _answer(engine, wish, context)
        except SearchUnavailableError:
            return _answer(PythonEngine(wish.query, context.cancelled), wish, context)


def _read(arguments: Mapping[str, Any], context: Context) -> _Wish:
    pattern = given.text(arguments, "pattern")
    if not pattern:
        raise ToolFailure('"pattern" is empty. Give the text to search for, or use glob to find files.')
    if "\n" in pattern or "\0" in pattern:
        raise ToolFailure(
            "A search goes line by line; the pattern cannot hold a line break. Search for one of its lines."
        )
    asked = given.text(arguments, "path", ".")
    path = resolve_readable(context, asked)
    if not path.exists():
        raise missing(context, path, asked)
    if not (path.is_file() or path.is_dir()):
        raise ToolFailure(f"{shown(asked)} is neither a file nor a folder. Give a path that is one.")
    place = place_of(context, path)
    names = None
    if path.is_file():
        names = [place.below]
    elif place.plain:
        names = place.full_names(context)
    query = Query(pattern, given.flag(arguments, "literal"), place.root, place.below, names)
    glob = given.text(arguments, "glob", "")
    around = given.integer(arguments, "context", 0, 0, MAX_CONTEXT)
    too_wide = given.integer(arguments, "context", 0, 0, 1 << 40) > around
    return _Wish(query, place, glob, given.choice(arguments, "mode", MODES), around, too_wide)


def _answer(engine: Engine, wish: _Wish, context: Context) -> ToolOutcome:
    counts = _filtered(engine.counts(), wish)
    total, count = sum(counts.values()), len(counts)
    metadata = {"matches": total, "files": count}
    if not counts:
        where = f" in {shown(wish.place.below)}" if wish.place.below else ""
        only = f" in files like {wish.glob}" if wish.glob else ""
        return ToolOutcome(f"No line matches {wish.query.pattern}{where}{only}.", metadata=metadata)
    paths = sorted(counts)
    if wish.mode == "lines":
        hits = _first_hits(engine, paths, counts)
        found = list(render(wish.place, hits, wish.around))
        lines = [line for file in found for line in file.text]
        for file in found:
            count_as_shown(context, file.path, file.whole)
        cut = total > len(hits)
        note = f'; the first {len(hits)} are shown, narrow with path or glob, or set mode "files"'
    else:
        lines = [
            _named(wish, path) + (f": {counts[path]}" if wish.mode == "count" else "")
            for path in paths[:MAX_MATCHES]
        ]
        cut = count > MAX_MATCHES
        note = f"; the first {MAX_MATCHES} files are shown, narrow with path or glob"
    wide = f"; context is {MAX_CONTEXT} lines at most" if wish.too_wide and wish.mode == "lines" else ""
    if cut or wide:
        lines.append(
            f"[{_number(total, 'matching line')} in {_number(count, 'file')}{note if cut else ''}{wide}]"
        )
    return ToolOutcome("\n".join(lines), metadata={**metadata, "truncated": cut})


def _filtered(counts: Mapping[str, int], wish: _Wish) -> dict[str, int]:
    if not wish.glob:
        return dict(counts)
    try:
        matches = matcher(wish.glob).fullmatch
    except TooManyAlternativesError:
        raise ToolFailure(
            "The braces of glob stand for too many patterns. Send fewer alternatives."
        ) from None
    start = len(wish.place.below) + 1 if wish.place.below else 0
    return {path: n for path, n in counts.items() if matches(path[start:] or path.rpartition("/")[2])}


def _first_hits(engine: Engine, paths: list[str], counts: Mapping[str, int]) -> list[Hit]:
    some: list[str] = []
    expected = 0
    for path in paths:
        if expected >= MAX_MATCHES:
            break
        some.append(path)
        expected += counts[path]
    return [hit for hit, _ in zip(engine.hits(some), range(MAX_MATCHES), strict=False)]


def _named(wish: _Wish, path: str) -> str:
    return shown(path if wish.place.in_tree else str(wish.place.root / path))


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
