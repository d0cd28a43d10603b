"""New dependencies, manifest by manifest: what a reviewer is told of a change to one."""

from collections.abc import Iterator

import pytest

from bot.gate.flagged_files import new_dependencies, new_sources, sensitive
from bot.gate.weaker_tests import Line
from bot.parsing.parser import Parser
from tests.support.changed_lines import changed_lines

PYPROJECT = """\
[build-system]
requires = ["hatchling"]

[project]
name = "invoices"
dependencies = [
  "httpx>=0.27",
]

[tool.ruff]
lint.select = ["E", "F"]
"""
PACKAGE = (
    '{\n "name": "x",\n "scripts": {"test": "jest"},\n "dependencies": {\n  "left-pad": "1.0.0"\n }\n}\n'
)
CARGO = '[package]\nname = "x"\nversion = "0.1.0"\n\n[dependencies]\nserde = "1"\n'
POETRY = """\
[tool.poetry.dependencies]
python = "^3.11"
rich = "*"
[tool.poetry.group.d.dependencies]
rope = {git = "x"}
"""

UNKNOWN = "may add dependencies, which are not known: "
CASES = {
    "a new requirement": (
        "requirements-dev.txt", "pytest==8\n", "pytest==8\nrequests[socks]>=2 # why\n",
        "adds the dependency requests",
    ),
    "a raised version": ("requirements.txt", "pytest==8\n", "pytest==9\n", ""),
    "an address": (
        "requirements.txt", "", "git+https://evil.test/x.git\n-e git+https://evil.test/y\n",
        "adds 2 dependencies: git+https://evil.test/x.git, git+https://evil.test/y",
    ),
    "options and comments": ("requirements.txt", "", "# pytest\n-r other.txt\n--hash=sha256:0\n", ""),
    "an item of pyproject": (
        "pyproject.toml", PYPROJECT, PYPROJECT.replace('",\n]', '",\n  "Left.Pad[all] ~= 1; os_name != \'x\'",\n]'),
        "adds the dependency Left.Pad",
    ),
    "a group of pyproject": (
        "a/pyproject.toml", PYPROJECT, PYPROJECT + '[dependency-groups]\ndev = ["nose", {include-group = "x"}]\n',
        "adds the dependency nose",
    ),
    "poetry": (
        "pyproject.toml", "", POETRY,
        "adds 2 dependencies: rich, rope",
    ),
    "a rule of a linter": ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"F"', '"F", "httpx2"'), ""),
    "a raised version of pyproject": ("pyproject.toml", PYPROJECT, PYPROJECT.replace("0.27", "0.28"), ""),
    "npm": (
        "web/package.json", PACKAGE, PACKAGE.replace('"1.0.0"', '"1.0.0",\n  "@evil/pad": "latest"'),
        "adds the dependency @evil/pad",
    ),
    "a script of npm": ("package.json", PACKAGE, PACKAGE.replace("jest", "vitest"), ""),
    "a scope that another package has, too": (
        "package.json", PACKAGE, PACKAGE.replace('"left-pad": "1.0.0"', '"left-pad": "1.0.0", "pad": "1"'),
        "adds the dependency pad",
    ),
    "cargo": (
        "Cargo.toml", CARGO, CARGO + 'rand = { version = "0.8" }\n[target.unix.dev-dependencies]\nnix = "1"\n',
        "adds 2 dependencies: rand, nix",
    ),
    "go": (
        "go.mod", "module x\n", "module x\n\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n",
        "adds the dependency github.com/a/b",
    ),
    "a lock of npm": (
        "package-lock.json", "{\n", '{\n  "node_modules/@a/b": {\n  "node_modules/a/node_modules/c": {\n',
        "pins the new package @a/b",
    ),
    "a lock of uv": (
        "uv.lock", '[[package]]\nname = "a"\n', '[[package]]\nname = "a"\n\n[[package]]\nname = "b"\n',
        "pins the new package b",
    ),
    "a lock of yarn": ("yarn.lock", "", '"@a/b@^1":\n  version "1"\n', "pins the new package @a/b"),
    "a lock of pnpm": (
        "pnpm-lock.yaml", "", "packages:\n  '@a/b@1.0.0':\n  c@2.0.0:\n", "pins 2 new packages: @a/b, c",
    ),
    "go.sum": (
        "go.sum", "", "github.com/a/b v1.0.0 h1:x=\ngithub.com/a/b v1.0.0/go.mod h1:y=\n",
        "pins the new package github.com/a/b",
    ),
    "many": (
        "requirements.txt", "", "".join(f"p{n}\n" for n in range(12)),
        "adds 12 dependencies: p0, p1, p2, p3, p4, p5, p6, p7 and 4 more",
    ),
    "any other file": ("notes.txt", "", "requests==2\n", ""),
    "not TOML": ("pyproject.toml", "", "[[[[ dependencies",
                 f"{UNKNOWN}Invalid initial character for a key part (at line 1, column 3)"),
    "too deep": ("package.json", "", '{"dependencies":' + "[" * 51 + "]" * 51 + "}",
                 f"{UNKNOWN}it is nested over 50 levels deep"),
    "a byte order mark": ("package.json", "", "\ufeff" + PACKAGE, "adds the dependency left-pad"),
    "a list where a table should be": ("package.json", "", '{"dependencies": ["a"]}', ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(60) as started:
        yield started


@pytest.mark.parametrize("name", CASES)
def test_what_a_change_brings_in_is_named(name: str, parser: Parser):
    path, before, after, expected = CASES[name]
    removed, added = changed_lines(before, after)
    assert new_dependencies(path, removed, added, after.encode(), parser) == expected


def test_a_deleted_manifest_brings_nothing_in(parser: Parser):
    removed, _ = changed_lines("requests\n", "")
    assert new_dependencies("requirements.txt", removed, [], None, parser) == ""


def test_a_name_of_any_length_stays_short_and_a_huge_manifest_is_not_parsed(parser: Parser):
    _, added = changed_lines("", "a" * 10_000 + "\n")
    assert len(new_dependencies("requirements.txt", [], added, b"a", parser)) < 120
    huge = ('{"dependencies": {"a": "1"}}' + " " * (1 << 20)).encode()
    note = new_dependencies("package.json", [], [Line(1, huge)], huge, parser)
    assert note == f"{UNKNOWN}it has over 1,048,576 characters"


SOURCES = {
    "pip's index": ("requirements/base.txt", "", "--index-url https://me:pw@evil.test/simple\n",
                    "fetches packages from https://evil.test/simple"),
    "pip's second index": ("dev.in", "", "--extra-index-url=https://evil.test/s\n", "fetches packages from https://evil.test/s"),
    "pip's links": ("requirements.in", "", "-f ./wheels\n", "fetches packages from ./wheels"),
    "uv": ("uv.toml", "", 'index-url = "https://evil.test/simple"\n', "fetches packages from https://evil.test/simple"),
    "an index of uv": ("pyproject.toml", "", '[[tool.uv.index]]\nurl = "https://evil.test/s"\n',
                       "fetches packages from https://evil.test/s"),
    "a page of the project": ("pyproject.toml", "", '[project.urls]\nHomepage = "https://x.test"\n', ""),
    "cargo": (".cargo/config.toml", "", '[source.x]\nregistry = "https://evil.test/i"\n', "fetches packages from https://evil.test/i"),
    "yarn": (".yarnrc.yml", "", 'npmRegistryServer: "https://evil.test"\n', "fetches packages from https://evil.test"),
    "bundler": ("Gemfile", "", "source 'https://evil.test'\n", "fetches packages from https://evil.test"),
    "go": ("go.mod", "", "replace a.test/b => evil.test/b v1.0.0\n", "fetches packages from evil.test/b"),
    "a lock of npm": ("package-lock.json", "", '   "resolved": "https://evil.test/x.tgz",\n "url": "https://fund.test"\n',
                      "fetches packages from evil.test"),
    "a lock of npm as usual": ("package-lock.json", "", '   "resolved": "https://registry.npmjs.org/x.tgz",\n', ""),
    "a lock of yarn": ("yarn.lock", "", '  resolved "https://evil.test/x.tgz#1"\n', "fetches packages from evil.test"),
    "a lock of pnpm": ("pnpm-lock.yaml", "", "    resolution: {tarball: https://evil.test/x.tgz}\n",
                       "fetches packages from evil.test"),
    "a lock of uv": ("uv.lock", "", 'source = { registry = "https://evil.test/simple" }\n',
                     "fetches packages from evil.test"),
    "a lock of cargo": ("Cargo.lock", "", 'source = "git+https://evil.test/x"\n', "fetches packages from evil.test"),
    "the same as before": ("uv.toml", 'index-url = "https://a.test/s"\n', 'index-url = "https://a.test/s" # why\n', ""),
    "no package manager's": ("docs/index.toml", "", 'index-url = "https://a.test/s"\n', ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SOURCES)
def test_a72_where_packages_come_from_is_named(case: str):
    path, old, new, note = SOURCES[case]
    assert new_sources(path, *changed_lines(old, new)) == note


@pytest.mark.parametrize(
    "path", ["requirements/base.txt", "requirements/sub/x.in", "reqs/dev.in", "Constraints.txt"]
)
def test_a72_every_list_of_requirements_is_a_manifest(path: str, parser: Parser):
    assert sensitive(path) == "dependency manifest"
    assert (
        new_dependencies(path, *changed_lines("", "evil==1\n"), b"evil==1\n", parser)
        == "adds the dependency evil"
    )
