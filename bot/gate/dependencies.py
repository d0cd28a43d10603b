"""Report the dependencies and package sources that a change adds, in manifests and in lock files.

A report blocks no change; reviewers see it. A dependency is new if an added line names it and no removed line does, so
an update of a version is none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename
from typing import TypeVar

from bot.contracts.formatting import first_of
from bot.ecosystems.registry import ecosystems
from bot.gate.weaker_tests import Line
from bot.parsing.parser import ParseError, Parser

_LONGEST = 80
# Bytes of a line that are searched: a line may be a file's five megabytes.
_LINE_LIMIT = 20_000
_Value = TypeVar("_Value")
_WORD = re.compile(r"[\w@][\w@/.-]*")
# Settings of package managers that say where packages come from.
_SETTING = (
    r"(?i)\s*['\"]?[\w.:@/-]*(?:index|registry|registryserver|find-links|trusted-host|source|url|mirror|replace-with|channels?)"
    r"['\"]?\s*[:=]\s*\[?\s*['\"]?((?:[a-z+]+:)?//[^\s'\"]+|[\w.-]+\.[\w.-]+)"
)
_USER = re.compile(r"//[^/@\s]*@")


def new_dependencies(
    path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None, parser: Parser
) -> str:
    """Return a clause that names the new dependencies, or says why they are not known; "" if there are none, or if
    `path` is no manifest or lock file. `content` is the new file."""
    low = path.lower()
    name = basename(low)
    old, new = _texts(removed), _texts(added)
    if not new or content is None:
        return ""
    tables = [one.dependencies for one in ecosystems()]
    if manifest := _first(name, (table.manifests for table in tables)):
        function, declared = manifest
        try:
            data = parser.parse(function, content.decode(errors="replace"))
        except ParseError as error:
            return f"may add dependencies, which are not known: {error}"
        words = _words(new) - _words(old)
        added_names = (one[:_LONGEST] for one in declared(data) if one.lower() in words)
        return _clause("adds the dependency", "adds {} dependencies", list(dict.fromkeys(added_names)))
    lists = (table.lists[1] for table in tables if re.fullmatch(table.lists[0], low))
    if line := next(lists, None) or _first(name, (table.lines for table in tables)):
        return _clause("adds the dependency", "adds {} dependencies", _by_line(line, old, new))
    if line := _first(name, (table.locks for table in tables)):
        return _clause("pins the new package", "pins {} new packages", _by_line(line, old, new))
    return ""


def is_lock_file(path: str) -> bool:
    """Whether a package manager writes the file, with the versions that it resolved."""
    name = basename(path.lower())
    return _first(name, (one.dependencies.locks for one in ecosystems())) is not None


def new_sources(path: str, removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the new hosts or addresses that packages are fetched from; "" if there are none."""
    low = path.lower()
    tables = [one.dependencies for one in ecosystems()]
    settings = (dict.fromkeys(table.settings.split(), _SETTING) for table in tables)
    lists = (table.lists[2] for table in tables if re.fullmatch(table.lists[0], low))
    usual = {address for table in tables for address in table.usual.split()}
    line = next(lists, None) or _first(low, (*(table.sources for table in tables), *settings))
    changed = _by_line(line, _texts(removed), _texts(added)) if line else ()
    sources = [address for one in changed if (address := _USER.sub("//", one)) not in usual]
    return _clause("fetches packages from", "fetches packages from {} places", sources)


def is_list(path: str) -> bool:
    """Whether `path`, in lower case, is a plain list of dependencies, such as pip's requirements."""
    return any(re.fullmatch(one.dependencies.lists[0], path) for one in ecosystems())


def _first(path: str, tables: Iterable[Mapping[str, _Value]]) -> _Value | None:
    """Return the first value whose pattern matches `path` or its name."""
    name = basename(path)
    for table in tables:
        for pattern, value in table.items():
            if fnmatchcase(name, pattern) or fnmatchcase(path, pattern):
                return value
    return None


def _texts(lines: Iterable[Line]) -> list[str]:
    return [line.text[:_LINE_LIMIT].decode(errors="replace") for line in lines]


def _words(lines: Sequence[str]) -> set[str]:
    return {word.rstrip(".-").lower() for line in lines for word in _WORD.findall(line)}


def _by_line(line: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    before, after = (
        [
            next(filter(None, match.groups()), "")[:_LONGEST]
            for match in map(re.compile(line).match, lines)
            if match
        ]
        for lines in (old, new)
    )
    return list(dict.fromkeys(name for name in after if name not in before))


def _clause(one: str, many: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    named = first_of(names, 8)
    return f"{one} {named}" if len(names) == 1 else f"{many.format(len(names))}: {named}"
