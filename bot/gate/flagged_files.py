"""Report changed files that a reviewer should look at: configuration, manifests, files that test runners load, and
checker settings in shared files.

A report blocks no change. The lists of `sensitive` are of what is harmless: a file of an unknown kind is configuration.
"""

import re
from collections.abc import Iterable
from posixpath import basename

from bot.contracts.formatting import first_of
from bot.contracts.name_patterns import is_one_of
from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.ecosystems.registry import ecosystems
from bot.ecosystems.test_files import Role, loads_itself, role_of
from bot.gate.dependencies import is_list
from bot.gate.path_rules import folded
from bot.gate.weaker_tests import Line
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
    name = basename(path).lower()
    return next((one.sections[name] for one in ecosystems() if name in one.sections), "")


_LinesByTool = dict[bytes, list[bytes]]


def _keys(text: bytes, pattern: bytes) -> _LinesByTool:
    """Return the lines with each key."""
    keys: _LinesByTool = {}
    for line in text.split(b"\n"):
        if key := re.match(rb'\s*+"%b"\s*+:' % pattern, line):
            keys.setdefault(key[1], []).append(line.strip())
    return keys


def _sections(text: bytes, pattern: bytes) -> _LinesByTool:
    """Return the lines in the sections of each tool, without comments and empty lines."""
    sections: _LinesByTool = {}
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
    steers = loads_itself(basename(path)) or any(
        one.steers_tests(path, lines, content, is_new) for one in ecosystems()
    )
    return CAN_CHANGE_TESTS if steers else ""
