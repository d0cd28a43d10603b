"""Report changed files that a reviewer should look at: configuration, manifests, files that test runners load, and
checker settings in shared files.

A report blocks no change. The lists of `sensitive` are of what is harmless: a file of an unknown kind is configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.contracts.name_patterns import is_one_of
from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.ecosystems.registry import ecosystems
from bot.ecosystems.suite_files import Role, loads_itself, role_of
from bot.gate.dependencies import is_list
from bot.gate.path_rules import folded
from bot.gate.weaker_tests import Line, line_list
from bot.policy.protected import services_of

_CI = "action.yml action.yaml codecov.yml .codecov.yml ci.sh ci.py ci-*.sh ci_*.sh"
_KINDS = ("dependency manifest", "lock file", "configuration")
_CI_FOLDERS = frozenset({"ci", ".ci"})
_CODE_AND_DOCUMENTS = """
    py pyi pyx ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro html htm css scss sass less java kt scala groovy
    clj cljs cs fs vb c h cc cpp cxx hh hpp hxx m mm cu go rs zig nim d swift dart rb erb rake php pl pm lua tcl r jl
    ex exs erl hrl hs lhs ml mli elm lisp el scm rkt f f90 pas adb ads asm s v sv vhd sol sh bash zsh fish ps1 bat cmd
    sql proto graphql j2 tmpl md mdx rst txt adoc org tex bib po pot pdf csv tsv png jpg jpeg gif svg ico webp woff
    woff2 ttf snap
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
    parts = [folded(part) for part in path.split("/")]
    *folders, name = parts
    if any(services_of("/".join(parts))) or not _CI_FOLDERS.isdisjoint(folders) or is_one_of(_CI, name):
        return "CI"
    if is_list("/".join(parts)):
        return "dependency manifest"
    for kind in _KINDS:
        if any(is_one_of(one.sensitive.get(kind, ""), name) for one in ecosystems()):
            return kind
    has_dot = any(part.startswith(".") for part in parts)
    return "configuration" if has_dot or not _is_harmless("/".join(parts), folders, name) else ""


def _is_harmless(path: str, folders: Sequence[str], name: str) -> bool:
    stem, _, suffix = name.rpartition(".")
    return (
        is_one_of(_CODE_AND_DOCUMENTS if stem else _DOCUMENTS, suffix.partition("-")[0])
        or role_of(path) in (Role.TEST, Role.DATA)
        or any(is_one_of(_DATA_FOLDERS, folder) for folder in folders)
    )


_TOOLS_NAMED = 4
# Bytes. Such a file is written by people.
_CONTENT_LIMIT = 256 << 10
_HEADER = re.compile(rb"\s*+\[{1,2}\s*+([^\]\n]{1,200})\]")


def set_up(path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None) -> str:
    """Return a clause that names the changed settings; "" if there are none. `content` is the new file."""
    name = path.rpartition("/")[2].lower()
    if content is None or len(content) > _CONTENT_LIMIT:
        return ""
    old, new = _without_comments(removed), _without_comments(added)
    pattern = next((one.sections[name] for one in ecosystems() if name in one.sections), "")
    if not pattern:
        return ""
    if name.endswith(".json"):
        keys = _by_key(new, pattern) or _by_key(old, pattern)
        return f"sets up {', '.join(list(keys)[:_TOOLS_NAMED])} anew" if keys else ""
    after = content.split(b"\n")
    before = _sections(_before(after, removed, added), pattern)
    clauses = _by_tool(old, before, " before") | _by_tool(new, _sections(after, pattern))
    return ", ".join(list(clauses.values())[:_TOOLS_NAMED])


def _without_comments(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that are neither empty nor a comment."""
    return [line for line in lines if (text := line.text.strip()) and not text.startswith((b"#", b";"))]


def _by_key(lines: Sequence[Line], pattern: str) -> dict[str, None]:
    key = re.compile(rb'\s*+"%b"\s*+:' % pattern.encode())
    return {match[1].decode(): None for line in lines if (match := key.match(line.text))}


def _before(after: Sequence[bytes], removed: Iterable[Line], added: Iterable[Line]) -> list[bytes]:
    """Reconstruct the old file from the new one and the added and removed lines."""
    new = {line.number for line in added}
    unchanged = iter([text for number, text in enumerate(after, 1) if number not in new])
    gone = {line.number: line.text for line in removed}
    old: list[bytes] = []
    for text in unchanged:
        while len(old) + 1 in gone:
            old.append(gone[len(old) + 1])
        old.append(text)
    while len(old) + 1 in gone:
        old.append(gone[len(old) + 1])
    return old


def _sections(text: Sequence[bytes], pattern: str) -> list[str]:
    """Return, for each line, the tool whose section contains it; "" outside of such a section."""
    tools: list[str] = []
    tool = ""
    for line in text:
        if header := _HEADER.match(line[:300]):
            match = re.match(pattern.encode(), header[1].strip())
            tool = match[1].decode() if match else ""
        tools.append(tool)
    return tools


def _by_tool(lines: Iterable[Line], sections: Sequence[str], when: str = "") -> dict[str, str]:
    """Return a clause for each tool whose section contains some of `lines`."""
    numbers_by_tool: dict[str, list[int]] = {}
    for line in lines:
        if line.number <= len(sections) and (tool := sections[line.number - 1]):
            numbers_by_tool.setdefault(tool, []).append(line.number)
    return {
        tool: f"sets up {tool} anew ({line_list(numbers)}{when})" for tool, numbers in numbers_by_tool.items()
    }


def runs_tests(path: str, added: Iterable[Line], content: bytes | None, *, is_new: bool) -> str:
    """Return `CAN_CHANGE_TESTS` if a test runner may load the file, else "". `path` is in lower case, `content` is the
    new file."""
    lines = [line.text[:300] for line in added]
    steers = loads_itself(path.rpartition("/")[2]) or any(
        one.steers_tests(path, lines, content, is_new) for one in ecosystems()
    )
    return CAN_CHANGE_TESTS if steers else ""
