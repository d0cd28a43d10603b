"""The files of a repository that make up its tests, by language: tests and their helpers, data that tests read, and
settings of test runners. Decided by the path alone, so that no content can hide a file.

To support a language, add its row to `LANGUAGES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from bot.contracts.name_patterns import is_one_of


class Role(StrEnum):
    """`TEST`: code that tests or that only tests use. `DATA`: fixtures, snapshots, golden files. `SETTINGS`: of a test
    runner. `MIXED`: settings of a test runner beside others."""

    TEST = "test"
    DATA = "data"
    SETTINGS = "settings"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Language:
    """`suffixes` are of source files, `tests` patterns of their names without the suffix. `settings` and `mixed` are
    patterns of whole names. `inside` matches tests in source files; with `optional` they may never run."""

    name: str
    suffixes: str
    tests: str
    settings: str = ""
    mixed: str = ""
    inside: re.Pattern[str] | None = None
    optional: bool = False


_DOCTEST = re.compile(r"^[ \t]*>>> .*(?:\n(?![ \t]*\n).*)*", re.MULTILINE)
# Declarations of test modules in other files, what follows the first test, and examples in documentation.
_RUST_INSIDE = re.compile(
    r"#\[cfg\([^\]\n]{0,200}\btest\b[^\]\n]{0,200}\]\s{0,100}(?:mod\s{1,9}\w+|use\s[^;]{1,300});"
    r"|(?:#\[(?:cfg\([^\]\n]{0,200}\btest\b|(?:\w+::){0,9}(?:\w*test|test_case|quickcheck)\b)|\bproptest!)[\s\S]*"
    r"|^[ \t]*//[/!] *```[\s\S]*?^[ \t]*//[/!] *```",
    re.MULTILINE,
)

LANGUAGES = (
    Language(
        "python",
        "py pyi",
        "test_* test[0-9A-Z]* *_test *_tests test tests",
        "conftest.py sitecustomize.py usercustomize.py *.pth pytest.ini .pytest.ini pytest.toml .pytest.toml",
        "pyproject.toml setup.cfg tox.ini noxfile.py",
        _DOCTEST,
        optional=True,
    ),
    Language(
        "javascript",
        "js jsx mjs cjs ts tsx mts cts vue svelte",
        "*.test *.tests *.spec *.test-d *.cy *.e2e *-test *-tests *-spec *_test *_spec test test-* setupTests",
        """
        jest.config.* jest.setup.* jest.preset.* vitest.config.* vitest.setup.* vitest.workspace.* setupTests.*
        globalSetup.* .mocharc* .taprc ava.config.* karma.conf.* playwright.config.*
        cypress.config.* cypress.json jasmine.json web-test-runner.config.*
        """,
        "package.json vite.config.* babel.config.* .babelrc tsconfig*.json deno.json deno.jsonc bunfig.toml",
        re.compile(r"\bimport\.meta\.vitest\b[\s\S]*"),
    ),
    Language("go", "go", "*_test testutil* test_util* testhelper*", "", "go.mod go.work"),
    Language(
        "rust",
        "rs",
        "test tests test_* *_test *_tests",
        "nextest.toml",
        "Cargo.toml",
        _RUST_INSIDE,
    ),
    Language(
        "java and kotlin",
        "java kt kts groovy scala",
        "*Test *Tests *TestCase *IT",
        "junit-platform.properties testng.xml",
        "pom.xml build.gradle build.gradle.kts build.sbt gradle.properties",
    ),
    Language(
        "ruby",
        "rb rake",
        "*_test *_spec test_* spec_helper rails_helper test_helper",
        ".rspec .rspec-local",
        "Gemfile Rakefile *.gemspec",
    ),
    Language(
        "php",
        "php",
        "*Test *TestCase *Cest *Cept",
        "phpunit.xml phpunit.xml.dist phpunit.dist.xml codeception.yml behat.yml",
        "composer.json",
    ),
    Language(
        "c#",
        "cs fs vb",
        "*Test *Tests",
        "*.runsettings xunit.runner.json",
        "*.csproj *.fsproj *.vbproj Directory.Build.*",
    ),
    Language(
        "c and c++",
        "c cc cpp cxx h hh hpp hxx m mm",
        "test tests test_* *_test *_tests *_unittest *_unittests *Test *Tests",
        "CTestConfig.cmake CTestCustom.cmake",
        "CMakeLists.txt meson.build configure.ac Makefile.am BUILD BUILD.bazel",
    ),
    Language(
        "others", "swift ex exs dart lua sh bash pl pm", "test test_* *_test *_tests *_spec *Test *Tests"
    ),
    Language("only tests", "bats t feature", "*"),
)

_TEST_FOLDERS = "test tests spec specs e2e __test__ __tests__ *Test *Tests *.Test *.Tests"
_DATA_FOLDERS = (
    "testdata test-data test_data fixture fixtures __fixtures__ __mocks__ snapshot snapshots __snapshots__"
    " golden goldens cassettes"
)
_DATA_NAMES = "*.snap *.snapshot *.golden *.approved.* *.verified.* *.ambr"
_SETTINGS = " ".join(one.settings for one in LANGUAGES)
_MIXED = " ".join([*(one.mixed for one in LANGUAGES), "Makefile GNUmakefile makefile justfile Justfile"])
_BY_SUFFIX = {suffix: one for one in LANGUAGES for suffix in one.suffixes.split()}


def language_of(path: str) -> Language | None:
    return _BY_SUFFIX.get(path.rpartition(".")[2].lower())


def role_of(path: str) -> Role | None:
    """Return what `path` is among the tests of its repository, `None` for another file."""
    *folders, name = path.split("/")
    if is_one_of(_SETTINGS, name):
        return Role.SETTINGS
    language = language_of(name)
    in_data = any(map(_is_data_folder, folders)) or is_one_of(_DATA_NAMES, name)
    if in_data or any(map(_is_test_folder, folders)):
        return Role.TEST if language and not in_data else Role.DATA
    if is_one_of(_MIXED, name):
        return Role.MIXED
    # A folder may have become a link or a file.
    if _is_test_folder(name) or _is_data_folder(name):
        return Role.DATA
    return Role.TEST if named_as_test(name) else None


def data_root(path: str) -> str:
    """Return the folder whose tests may read the data file `path`: what holds its outermost data folder."""
    *folders, _ = path.split("/")
    number = next((at for at, one in enumerate(folders) if _is_data_folder(one)), len(folders))
    return "/".join(folders[:number])


def loads_itself(name: str) -> bool:
    """Whether a test runner or the interpreter loads a file of this name by itself. `name` is in lower case."""
    return is_one_of(_SETTINGS.lower(), name)


def named_as_test(path: str) -> bool:
    """Whether a source file has the name of a test, whatever its folder."""
    *_, name = path.split("/")
    language = language_of(name)
    return language is not None and is_one_of(language.tests, name.rpartition(".")[0])


def inner_tests(path: str, text: str) -> list[str]:
    """Return the tests within a source file: Rust's test modules, examples in documentation."""
    language = language_of(path)
    return [match[0] for match in language.inside.finditer(text)] if language and language.inside else []


def _is_test_folder(name: str) -> bool:
    return is_one_of(_TEST_FOLDERS, name) or is_one_of(_TEST_FOLDERS, name.lower())


def _is_data_folder(name: str) -> bool:
    return is_one_of(_DATA_FOLDERS, name.lower())
