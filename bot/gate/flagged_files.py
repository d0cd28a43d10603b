"""Report changed files that a reviewer should look at: configuration, manifests, files that test runners load, and
checker settings in shared files; and the dependencies and package sources that a change adds, in manifests and in lock
files.

A report blocks no change. The lists of `sensitive` are of what is harmless: a file of an unknown kind is configuration.
A dependency is new if an added line names it and no removed line does, so an update of a version is none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from bot.contracts.formatting import first_of
from bot.contracts.name_patterns import is_one_of
from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.ecosystems.registry import ecosystems
from bot.ecosystems.test_files import Role, loads_itself, role_of
from bot.gate.path_rules import folded
from bot.gate.weaker_tests import Line
from bot.parsing.parser import ParseError, Parser
from bot.policy.protected_files import services_of

_CI = "action.yml action.yaml codecov.yml .codecov.yml ci.sh ci.py ci-*.sh ci_*.sh"
_KINDS = ("dependency manifest", "lock file", "configuration")
_CI_FOLDERS = frozenset({"ci", ".ci"})
_CODE_AND_DOCUMENTS = """
    py pyi pyx ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro html htm css scss sass less java kt scala groovy
    clj cljs cs fs vb c h cc cpp cxx hh hpp hxx m mm cu go rs zig nim d swift dart rb erb rake php pl pm lua tcl r jl
    ex exs erl hrl hs lhs ml mli elm lisp el scm rkt f f90 pas adb ads asm s v sv vhd sol sh bash zsh fish ps1 bat cmd
    sql proto graphql j2 tmpl md mdx rst txt adoc org tex bib po pot pdf csv tsv png jpg jpeg gif svg ico webp woff
    woff2 ttf snap cr gleam idr odin purs res roc sml
"""
_DOCUMENTS = """
    readme license licence copying notice copyright patents changelog changes news history authors contributors
    maintainers contributing security support governance code_of_conduct todo thanks install faq
"""
_DATA_FOLDERS = "data locale locales i18n lang translations res assets public static examples samples"


def sensitive(path: str) -> str:
    """Return the kind of a file that builds, runs by itself, or sets up tools and dependencies; "" for another one.

    A path with a name that begins with a dot is configuration, as is a file that is neither source code nor a document
    nor in a folder of tests or data.
    """
    plain = folded(path)
    *folders, name = parts = plain.split("/")
    if any(services_of(plain)) or not _CI_FOLDERS.isdisjoint(folders) or is_one_of(_CI, name):
        return "CI"
    if is_list(plain):
        return "dependency manifest"
    for kind in _KINDS:
        if any(is_one_of(one.sensitive.get(kind, ""), name) for one in ecosystems()):
            return kind
    stem, _, suffix = name.rpartition(".")
    is_harmless = not any(part.startswith(".") for part in parts) and (
        is_one_of(_CODE_AND_DOCUMENTS if stem else _DOCUMENTS, suffix.partition("-")[0])
        or plain.endswith(tuple(suffix for one in ecosystems() for suffix in one.suffixes))
        or role_of(plain) in (Role.TEST, Role.DATA)
        or any(is_one_of(_DATA_FOLDERS, folder) for folder in folders)
    )
    return "" if is_harmless else "configuration"


# Bytes. Such a file is written by people.
_CONTENT_LIMIT = 256 << 10
_HEADER = re.compile(rb"\s*+\[{1,2}\s*+([^\]\n]{1,200})\]")


def has_sections(path: str) -> bool:
    """Whether `path` is a file that configures several tools."""
    return bool(_sections_of(path))


def set_up(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a clause that names the tools with other settings in `after` than in `before`; "" if there are none."""
    pattern = _sections_of(path)
    if not pattern or after is None or max(len(before or b""), len(after)) > _CONTENT_LIMIT:
        return ""
    read = _keys if path.lower().endswith(".json") else _sections
    old, new = (read(side, pattern.encode()) for side in (before or b"", after))
    tools = [tool.decode() for tool in dict.fromkeys((*new, *old)) if old.get(tool) != new.get(tool)]
    return f"sets up {first_of(tools, 4)} anew" if tools else ""


def _sections_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return next((one.sections[name] for one in ecosystems() if name in one.sections), "")


def _keys(text: bytes, pattern: bytes) -> dict[bytes, list[bytes]]:
    """Return the lines with each key."""
    keys: dict[bytes, list[bytes]] = {}
    for line in text.split(b"\n"):
        if key := re.match(rb'\s*+"%b"\s*+:' % pattern, line):
            keys.setdefault(key[1], []).append(line.strip())
    return keys


def _sections(text: bytes, pattern: bytes) -> dict[bytes, list[bytes]]:
    """Return the lines in the sections of each tool, without comments and empty lines."""
    sections: dict[bytes, list[bytes]] = {}
    tool = b""
    for line in map(bytes.strip, text.split(b"\n")):
        if header := _HEADER.match(line[:300]):
            match = re.match(pattern, header[1].strip())
            tool = match[1] if match else b""
        if tool and line and not line.startswith((b"#", b";")):
            sections.setdefault(tool, []).append(line)
    return sections


def runs_tests(path: str, added: Iterable[Line], content: bytes | None, *, is_new: bool) -> str:
    """Return `CAN_CHANGE_TESTS` if a test runner may load the file, else "". `path` is in lower case, `content` is the
    new file."""
    lines = [line.text[:300] for line in added]
    steers = loads_itself(path.rpartition("/")[2]) or any(
        one.steers_tests(path, lines, content, is_new) for one in ecosystems()
    )
    return CAN_CHANGE_TESTS if steers else ""


_LONGEST = 80
# Bytes of a line that are searched: a line may be a file's five megabytes.
_LINE_LIMIT = 20_000
_Value = TypeVar("_Value")
_WORD = re.compile(r"[\w@][\w@/.-]*")


def new_dependencies(
    path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None, parser: Parser
) -> str:
    """Return a clause that names the new dependencies, or says why they are not known; "" if there are none, or if
    `path` is no manifest or lock file. `content` is the new file."""
    low = path.lower()
    name = low.rpartition("/")[2]
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
    name = path.rpartition("/")[2]
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


# Settings of package managers that say where packages come from.
_SETTING = (
    r"(?i)\s*['\"]?[\w.:@/-]*(?:index|registry|registryserver|find-links|trusted-host|source|url|mirror|replace-with|channels?)"
    r"['\"]?\s*[:=]\s*\[?\s*['\"]?((?:[a-z+]+:)?//[^\s'\"]+|[\w.-]+\.[\w.-]+)"
)
_USER = re.compile(r"//[^/@\s]*@")
