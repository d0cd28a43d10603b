"""Report the dependencies and package sources that a change adds, in manifests and in lock files.

A report blocks no change; reviewers see it. A dependency is new if an added line names it and no removed line does, so
an update of a version is none.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from bot.gate.path_rules import is_requirements
from bot.gate.weaker_tests import Line
from bot.parsing.parser import ParseError, Parser

_NAMED = 8
_LONGEST = 80
# Bytes of a line that are searched: a line may be a file's five megabytes.
_LINE_LIMIT = 20_000
_WORD = re.compile(r"[\w@][\w@/.-]*")


def new_dependencies(
    path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None, parser: Parser
) -> str:
    """Return a clause that names the new dependencies, or says why they are not known; "" if there are none, or if
    `path` is no manifest or lock file. `content` is the new file."""
    name = path.rpartition("/")[2]
    old, new = _texts(removed), _texts(added)
    if not new or content is None:
        return ""
    for pattern, function, declared in _MANIFESTS:
        if fnmatchcase(name, pattern):
            try:
                data = parser.parse(function, content.decode(errors="replace"))
            except ParseError as error:
                return f"may add dependencies, which are not known: {error}"
            names = dict.fromkeys(_added(declared(data), old, new))
            return _clause("adds the dependency", "adds {} dependencies", list(names))
    if is_requirements(path.lower()):
        return _clause("adds the dependency", "adds {} dependencies", _by_line(_REQUIREMENT_LINE, old, new))
    for pattern, line in _LINES:
        if fnmatchcase(name, pattern):
            return _clause("adds the dependency", "adds {} dependencies", _by_line(line, old, new))
    for pattern, line in _LOCKS:
        if fnmatchcase(name, pattern):
            return _clause("pins the new package", "pins {} new packages", _by_line(line, old, new))
    return ""


def new_sources(path: str, removed: Iterable[Line], added: Iterable[Line]) -> str:
    """Return a clause that names the new hosts or addresses that packages are fetched from; "" if there are none."""
    low = path.lower()
    name = low.rpartition("/")[2]
    for pattern, line in _SOURCES:
        if (
            fnmatchcase(low, pattern)
            or fnmatchcase(name, pattern)
            or (is_requirements(low) and pattern == "*.in")
        ):
            sources = [_USER.sub("//", one) for one in _by_line(line, _texts(removed), _texts(added))]
            return _clause(
                "fetches packages from",
                "fetches packages from {} places",
                [one for one in sources if one not in _USUAL],
            )
    return ""


def _texts(lines: Iterable[Line]) -> list[str]:
    return [line.text[:_LINE_LIMIT].decode(errors="replace") for line in lines]


def _added(declared: Iterable[str], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before, after = _words(old), _words(new)
    return (name[:_LONGEST] for name in declared if name.lower() in after and name.lower() not in before)


def _words(lines: Sequence[str]) -> set[str]:
    return {word.rstrip(".-").lower() for line in lines for word in _WORD.findall(line)}


def _by_line(line: str, old: Sequence[str], new: Sequence[str]) -> list[str]:
    pattern = re.compile(line)
    before = set(_matches(pattern, old))
    return list(dict.fromkeys(name for name in _matches(pattern, new) if name not in before))


def _matches(pattern: re.Pattern[str], lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if match := pattern.match(line):
            yield next(filter(None, match.groups()), "")[:_LONGEST]


def _clause(one: str, many: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    names_text = ", ".join(names[:_NAMED]) + (
        f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    )
    return f"{one} {names_text}" if len(names) == 1 else f"{many.format(len(names))}: {names_text}"


# Manifests that are data


def _of_pyproject(data: Any) -> Iterator[str]:
    project, poetry = _at(data, "project"), _at(data, "tool", "poetry")
    listed = [project.get("dependencies"), _at(data, "build-system").get("requires")]
    listed += [*_at(project, "optional-dependencies").values(), *_at(data, "dependency-groups").values()]
    listed += [
        _at(data, "tool", "uv").get("dev-dependencies"),
        *_at(data, "tool", "pdm", "dev-dependencies").values(),
    ]
    for requirements in listed:
        for one in requirements if isinstance(requirements, list) else ():
            if isinstance(one, str) and (match := _REQUIREMENT.match(one)):
                yield match[0]
    tables = [_at(poetry, "dependencies"), _at(poetry, "dev-dependencies")]
    tables += [_at(poetry, "group", group, "dependencies") for group in _at(poetry, "group")]
    yield from (name for table in tables for name in table if name != "python")


def _of_cargo(data: Any) -> Iterator[str]:
    tables = [data, _at(data, "workspace"), *(_at(data, "target", name) for name in _at(data, "target"))]
    for table in tables:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from _at(table, kind)


def _of_pipfile(data: Any) -> Iterator[str]:
    yield from (*_at(data, "packages"), *_at(data, "dev-packages"))


def _of_package(data: Any) -> Iterator[str]:
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        yield from _at(data, kind)


def _of_composer(data: Any) -> Iterator[str]:
    yield from (*_at(data, "require"), *_at(data, "require-dev"))


def _at(data: Any, *keys: str) -> dict[str, Any]:
    """Return the table at `keys`, an empty one if the value is no table."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REQUIREMENT_LINE = (
    r"(?:-e\s+)?(git\+\S+|https?://\S+)|([A-Za-z0-9][A-Za-z0-9._-]*)(?=\s*(?:$|[=<>!~;@\[# ]))"
)
_MANIFESTS: tuple[tuple[str, Callable[[str], Any], Callable[[Any], Iterator[str]]], ...] = (
    ("pyproject.toml", tomllib.loads, _of_pyproject),
    ("[Cc]argo.toml", tomllib.loads, _of_cargo),
    ("Pipfile", tomllib.loads, _of_pipfile),
    ("package.json", json.loads, _of_package),
    ("composer.json", json.loads, _of_composer),
)
# Of these a line is a declaration wherever it stands.
_LINES = (
    ("go.mod", r"\s*(?:require\s+)?([\w.~-]+(?:/[\w.~-]+)+)\s+v\d"),
    ("Gemfile", r"\s*gem\s+['\"]([\w.-]+)['\"]"),
)
_LOCKS = (
    ("package-lock.json", r'\s*"(?:node_modules/)+((?:@[^/"]+/)?[^/"]+)": \{'),
    ("yarn.lock", r'"?((?:@[^/"\s]+/)?[^@"\s]+)@'),
    ("pnpm-lock.yaml", r"  ['\"]?/?((?:@[^/'\"\s]+/)?[^@/'\"\s]+)@\d"),
    ("go.sum", r"(\S+) v\S+ h1:"),
    ("Gemfile.lock", r"    ([\w.-]+) \("),
    ("*.lock", r'name = "([^"]+)"'),
)
# Where packages come from: options of pip, settings of package managers, and the addresses that locks hold.
_OPTION = r"\s*(?:--(?:extra-)?index-url|--find-links|--trusted-host|-i|-f)[ =]\s*(\S+)"
_SETTING = (
    r"(?i)\s*['\"]?[\w.:@/-]*(?:index|registry|registryserver|find-links|trusted-host|source|url|mirror|replace-with|channels?)"
    r"['\"]?\s*[:=]\s*\[?\s*['\"]?((?:[a-z+]+:)?//[^\s'\"]+|[\w.-]+\.[\w.-]+)"
)
_HOST = r"[^'\"]{0,8}['\"]?(?:[a-z]+\+)?https?://(?:[^/@\s'\"]*@)?([^/'\"\s?#]+)"
_SETTING_FILES = """
    uv.toml pyproject.toml poetry.toml pdm.toml pipfile bunfig.toml .yarnrc* .condarc
    .cargo/config* */.cargo/config* cargo.toml setup.cfg
"""
_SOURCES = (
    ("*.in", _OPTION),
    ("*package-lock.json", rf'\s*"resolved"{_HOST}'),
    ("npm-shrinkwrap.json", rf'\s*"resolved"{_HOST}'),
    ("pnpm-lock.yaml", rf".*\btarball{_HOST}"),
    ("*.lock", rf'.*?\b(?:resolved|registry|source|remote|url|index)"?{_HOST}'),
    ("pylock*.toml", rf".*?\b(?:index|url){_HOST}"),
    ("gemfile", r"\s*source[ (]\s*['\"]([^'\"]+)"),
    ("go.mod", r"\s*(?:replace\s+)?\S+(?:\s+v\S+)?\s+=>\s+(\S+)"),
    *((name, _SETTING) for name in _SETTING_FILES.split()),
)
_USER = re.compile(r"//[^/@\s]*@")
_USUAL_HOSTS = """
    registry.npmjs.org registry.yarnpkg.com pypi.org files.pythonhosted.org rubygems.org github.com
    https://pypi.org/simple https://rubygems.org
"""
_USUAL = frozenset(_USUAL_HOSTS.split())
