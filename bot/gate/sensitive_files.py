"""Report changed files that a reviewer should look at: configuration, manifests, files that test runners load, and
checker settings in shared files.

A report blocks no change. The lists of `sensitive` are of what is harmless: a file of an unknown kind is configuration.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

from bot.contracts.name_patterns import is_one_of
from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.contracts.suite_files import Role, loads_itself, role_of
from bot.gate.path_rules import folded, is_requirements
from bot.gate.weaker_tests import Line, line_list
from bot.policy.protected import service_of

_KINDS: tuple[tuple[str, str], ...] = (
    (
        "dependency manifest",
        """
        package.json pyproject.toml setup.py setup.cfg pipfile environment.yml environment.yaml cargo.toml
        go.mod go.work gemfile *.gemspec composer.json pom.xml build.gradle build.gradle.kts settings.gradle
        settings.gradle.kts *.csproj *.fsproj packages.config nuget.config mix.exs package.swift
        pubspec.yaml deno.json deno.jsonc build.sbt conanfile.* uv.toml poetry.toml pdm.toml .condarc
        """,
    ),
    (
        "lock file",
        """
        package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock
        pdm.lock uv.lock pylock*.toml requirements.lock pipfile.lock cargo.lock go.sum go.work.sum
        gemfile.lock composer.lock gradle.lockfile mix.lock package.resolved pubspec.lock
        packages.lock.json flake.lock deno.lock
        """,
    ),
    ("CI", "action.yml action.yaml codecov.yml .codecov.yml ci.sh ci.py ci-*.sh ci_*.sh"),
    # Source code and text that sets up or builds.
    (
        "configuration",
        """
        *.config.* *.conf.* *.setup.* *.workspace.* *.mix.* build.* gulpfile.* gruntfile.* noxfile.py fabfile.py
        dodo.py conf.py cmakelists.txt runtime.txt gradlew.bat mvnw.cmd
        """,
    ),
)
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
    if service_of("/".join(parts)) or not _CI_FOLDERS.isdisjoint(folders):
        return "CI"
    if is_requirements("/".join(parts)):
        return "dependency manifest"
    if kind := next((kind for kind, patterns in _KINDS if is_one_of(patterns, name)), ""):
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
_SHARED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini", "cargo.toml"})
_HEADER = re.compile(rb"\s*+\[{1,2}\s*+([^\]\n]{1,200})\]")
_TOOL = re.compile(
    rb"(?:tool[.:])?\"?(ruff|mypy|ty|pyright|basedpyright|pylint|flake8|coverage|pytest|bandit|pyre|vulture)\b"
    rb"|(?:workspace\.)?(lints)\b"
)
_KEYS = re.compile(
    rb'\s*+"(coverageThreshold|collectCoverageFrom|coveragePathIgnorePatterns|testPathIgnorePatterns|eslintConfig|eslintIgnore'
    rb'|nyc|c8|xo|check-coverage)"\s*+:'
)


def set_up(path: str, removed: Iterable[Line], added: Iterable[Line], content: bytes | None) -> str:
    """Return a clause that names the changed settings; "" if there are none. `content` is the new file."""
    name = path.rpartition("/")[2].lower()
    if content is None or len(content) > _CONTENT_LIMIT:
        return ""
    old, new = _without_comments(removed), _without_comments(added)
    if name == "package.json":
        keys = _by_key(new) or _by_key(old)
        return f"sets up {', '.join(list(keys)[:_TOOLS_NAMED])} anew" if keys else ""
    if name not in _SHARED:
        return ""
    after = content.split(b"\n")
    clauses = _by_tool(old, _before(after, removed, added), " before") | _by_tool(new, after)
    return ", ".join(list(clauses.values())[:_TOOLS_NAMED])


def _without_comments(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that are neither empty nor a comment."""
    return [line for line in lines if (text := line.text.strip()) and not text.startswith((b"#", b";"))]


def _by_key(lines: Sequence[Line]) -> dict[str, None]:
    return {match[1].decode(): None for line in lines if (match := _KEYS.match(line.text))}


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


def _sections(text: Sequence[bytes]) -> list[str]:
    """Return, for each line, the tool whose section contains it; "" outside of such a section."""
    tools: list[str] = []
    tool = ""
    for line in text:
        if header := _HEADER.match(line[:300]):
            match = _TOOL.match(header[1].strip())
            tool = next(filter(None, match.groups())).decode() if match else ""
        tools.append(tool)
    return tools


def _by_tool(lines: Iterable[Line], text: Sequence[bytes], when: str = "") -> dict[str, str]:
    """Return a clause for each tool whose section of `text` contains some of `lines`."""
    sections = _sections(text)
    numbers_by_tool: dict[str, list[int]] = {}
    for line in lines:
        if line.number <= len(sections) and (tool := sections[line.number - 1]):
            numbers_by_tool.setdefault(tool, []).append(line.number)
    return {
        tool: f"sets up {tool} anew ({line_list(numbers)}{when})" for tool, numbers in numbers_by_tool.items()
    }


_NAMES = "unittest*.py pytest*.py coverage.py _pytest.py"
_IN_TESTS = "__init__.py setup.* setup-*.*"
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})
_FOLDERS = frozenset({"_pytest", "node_modules", "site-packages"})
# What a module at the top of the import path must not be called, the standard library apart.
_FRAMEWORKS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "nose", "nose2", "mock", "hypothesis", "xdist"}
)
_TOP = frozenset({"", "src", "lib", *_TEST_FOLDERS})
_LINES = (
    ("cargo.toml", rb"\s*+harness\s*+=\s*+false\b"),
    (
        "package.json",
        rb'\s*+"(?:setupFiles(?:AfterEnv)?|globalSetup|testRunner|testEnvironment|moduleNameMapper|jest|mocha|ava|vitest)"\s*:',
    ),
)
_TEST_MAIN = re.compile(rb"^func\s+TestMain\s*\(", re.MULTILINE)


def runs_tests(path: str, added: Iterable[Line], content: bytes | None, *, is_new: bool) -> str:
    """Return `CAN_CHANGE_TESTS` if a test runner may load the file, else "". `path` is in lower case, `content` is the
    new file."""
    *folders, name = path.split("/")
    named = loads_itself(name) or is_one_of(_NAMES, name)
    empty = content is not None and not content.strip()
    in_tests = not empty and is_one_of(_IN_TESTS, name) and role_of(path) in (Role.TEST, Role.DATA)
    has_setting = any(
        re.match(pattern, line.text[:300]) for kind, pattern in _LINES if name == kind for line in added
    )
    main = name.endswith("_test.go") and _TEST_MAIN.search(content or b"")
    if (
        named
        or in_tests
        or has_setting
        or main
        or not _FOLDERS.isdisjoint(folders)
        or (is_new and _shadows(folders, name))
    ):
        return CAN_CHANGE_TESTS
    return ""


def _shadows(folders: list[str], name: str) -> bool:
    """Whether an import of a test framework or of the standard library may load this file instead."""
    if name == "__init__.py" and folders:
        *folders, module = folders
    else:
        module, _, suffix = name.partition(".")
        if suffix not in ("py", "so", "pyc"):
            return False
    at_top = len(folders) < 2 and (folders[0] if folders else "") in _TOP
    return at_top and module in (sys.stdlib_module_names | _FRAMEWORKS) - _TEST_FOLDERS
