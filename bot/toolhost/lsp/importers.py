"""Find the files that seem to import a changed one, by their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from bot.toolhost.lsp.workers import WatchedFile

MAX_IMPORTERS = 10

_IMPORTING = re.compile(
    r"^[ \t]*(?:from|import|export|const|let|var|use|mod|pub|\}|#[ \t]*include)|\b(?:require|import)\b"
)
"""Begins the part of a line that may name another file."""

_AS_A_WHOLE = r"""(?:/(?:index|mod)(?:\.\w+)?)?(?=['"\s;,]|$)"""
"""Follows the name of an imported folder."""


def importers_of(changed: Sequence[WatchedFile], files: Iterable[WatchedFile]) -> tuple[WatchedFile, ...]:
    """Those of `files` that seem to import a changed one, by any path or alias: first those that name it, then those
    that name its folder, which may re-export it."""
    stems = {stem for file in changed for stem in _stems(file.name)}
    folders = {PurePosixPath(file.name).parent.name for file in changed}
    uses = [
        re.compile(rf"\b(?:{'|'.join(map(re.escape, names))}){then}")
        for names, then in ((stems - {""}, r"\b"), (folders - {""}, _AS_A_WHOLE))
        if names
    ]
    rest = [file for file in files if file not in changed and file.now is not None]
    importers = [file for pattern in uses for file in rest if _imports(file.now or "", pattern)]
    return tuple({file.name: file for file in importers}.values())[:MAX_IMPORTERS]


def _imports(text: str, pattern: re.Pattern[str]) -> bool:
    """Search line by line, in time linear in the text: a bundle is a line of a megabyte."""
    for line in text.split("\n"):
        if (match := _IMPORTING.search(line)) is not None and pattern.search(line, match.end()):
            return True
    return False


def _stems(name: str) -> Iterator[str]:
    """The names by which others import a file."""
    path = PurePosixPath(name)
    if path.stem in ("__init__", "index", "mod"):
        yield path.parent.name
    else:
        yield path.stem
    if path.suffix == ".go":
        yield path.parent.name
