"""`glob`: files whose path matches a pattern, newest first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import missing
from bot.workshop.host.globs import TooManyAlternativesError, matcher
from bot.workshop.host.paths import inside, relative, resolve_readable, shown
from bot.workshop.host.place import place_of
from bot.workshop.host.specs import MAX_FILES


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    pattern = given.text(arguments, "pattern")
    asked = given.text(arguments, "path", ".")
    folder = resolve_readable(context, asked)
    if not folder.is_dir():
        if folder.exists():
            raise ToolFailure(f"{shown(asked)} is a file. Give a folder, or leave path out.")
        raise missing(context, folder, asked)
    found = _matching(context, folder, _from_folder(context, pattern, folder))
    if not found:
        where = "" if asked == "." else f" in {relative(context, folder)}"
        return ToolOutcome(
            f"No file matches {pattern}{where}. Try a wider pattern such as **/*name*, or ls.",
            metadata={"matches": 0},
        )
    newest = _newest_first(folder, found)[:MAX_FILES]
    lines = [relative(context, folder / name) for name in newest]
    if len(found) > MAX_FILES:
        lines.append(f"[the newest {MAX_FILES} of {len(found)} files; narrow the pattern to see others]")
    metadata = {"matches": len(found), "truncated": len(found) > MAX_FILES}
    return ToolOutcome("\n".join(lines), metadata=metadata)


def _from_folder(context: Context, pattern: str, folder: Path) -> str:
    """The pattern relative to the folder; an absolute one counts from the root of the repository, if inside."""
    if not pattern:
        raise ToolFailure('"pattern" is empty. Use * for everything.')
    if ".." in pattern.split("/"):
        raise ToolFailure("A pattern cannot go up with ..; give the folder as path.")
    for start in (str(folder), str(context.root)):
        if inside(pattern, start) and folder == Path(os.path.realpath(start)):
            return "./" + pattern[len(start) :].lstrip("/")
    return pattern


def _matching(context: Context, folder: Path, pattern: str) -> list[str]:
    """Files in the folder that match, relative to it."""
    try:
        matches = matcher(pattern).fullmatch
    except TooManyAlternativesError:
        raise ToolFailure("The braces stand for too many patterns. Send fewer alternatives.") from None
    names = place_of(context, folder).names(context)
    # Names with brackets exist as well, such as app/[id]/page.tsx.
    return list(filter(matches, names)) or [n for n in names if n == pattern.removeprefix("./")]


def _newest_first(folder: Path, names: list[str]) -> list[str]:
    start = f"{folder}/"

    def age(name: str) -> tuple[int, str]:
        try:
            return -os.lstat(start + name).st_mtime_ns, name
        except OSError:
            return 0, name  # gone since it was listed

    return sorted(names, key=age)
