"""`Ecosystem`: what one language, or one family of build tools, brings."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from bot.ecosystems.checker import Checker, Form, Names
from bot.ecosystems.checker import Files as Files  # which the languages use, too
from bot.ecosystems.language_server import Server
from bot.ecosystems.test_command import CheckCommand, Related
from bot.ecosystems.test_results import Runner

_MODIFIED = (
    r"(?:(?:abstract|async|data|default|export|final|fileprivate|inline|internal|open|operator|override|partial|private"
    r"|protected|public|readonly|sealed|static|suspend|unsafe|virtual)\s+)*"
)
TYPES = (
    rf"\s*{_MODIFIED}(?:class|interface|enum|record|object|struct|trait|protocol|extension|namespace|module|func?|function"
    r"|def|type|impl)\s+[\w$~<(]"
)
NOT_CALLS = r"(?!(?:if|for|while|switch|catch|return|else|do|new|await|throw|case|delete|typeof)\b)"
METHOD = rf"(?:\t| {{2,8}}){NOT_CALLS}{_MODIFIED}(?:[\w<>\[\],.?*]+\s+){{0,3}}[\w$#]+\s*\([^;]*\{{\s*$"

CLASSES = rf"{TYPES}|{METHOD}"
"""Languages with classes in braces."""

MODULES = r"\s*(?:class|module|defmodule|def|defp|(?:local\s+)?function)\s+\S"


class Use(IntEnum):
    """What a command is for. Of several commands, the highest decides."""

    SYSTEM = 1
    INSTALL = 2
    BUILD = 3
    LINT = 4
    TYPES = 5
    TESTS = 6


def listed(text: str) -> Names:
    """Return the entries of a list that is separated by semicolons."""
    return tuple(entry for one in text.split(";") if (entry := " ".join(one.split())))


def uses(**groups: str) -> dict[str, Use | None]:
    """Return a table for `Ecosystem.uses`: `uses(TESTS="pytest; coverage run", NONE="ruff format")`."""
    return {
        command: Use[name] if name != "NONE" else None
        for name, commands in groups.items()
        for command in listed(commands)
    }


class Suite(NamedTuple):
    """The tests of a language. `suffixes` are of source files, `tests` patterns of their names without the suffix.
    `settings` are patterns of the names of test runners' settings, `mixed` of those of settings beside others. `inside`
    matches tests in source files, which do not run by themselves if they are `optional`. With `beside` a source file
    may have all of its tests; with `collected_by_name` tests in files without such a name are not run. `assertion`,
    `skip` and `test` match lines, `test` the one where a test begins, whose name may follow on a later line. With
    `hash_comments` comments begin with `#`."""

    suffixes: str
    tests: str
    settings: str = ""
    mixed: str = ""
    inside: str = ""
    optional: bool = False
    beside: bool = False
    collected_by_name: bool = False
    assertion: str = (
        r"\bassert\w*|\bexpect\w*\s*\(|\.should\b|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\s*\("
    )
    skip: str = (
        r"\b(?:skip|xfail|ignore|disabled|pending)\b\s*[(:]|\b(?:GTEST_SKIP|DISABLED_)"
        r"|\bmarkTest(?:Skipped|Incomplete)\b"
    )
    test: str = (
        r"\b(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO)\s*\(([^)]*)|^\s*(?:public\s+)?function\s+(test\w*)"
        r"|^@test\s+(.*)"
    )
    hash_comments: bool = False


HOST = r"[^'\"]{0,8}['\"]?(?:[a-z]+\+)?https?://(?:[^/@\s'\"]*@)?([^/'\"\s?#]+)"
"""Matches an address in a lock file, and the host in it."""


class Dependencies(NamedTuple):
    """How dependencies look in files, by patterns of names in lower case. `manifests` are read as data: the parser, and
    the function that yields the names. In `lines` and `locks` a pattern matches the line that declares or pins one, in
    `sources` the line that names where packages come from, of which `usual` are the registries' own. `settings` are
    files with settings of package managers. `lists` has a pattern of paths, and those of lines of both kinds."""

    manifests: Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Iterable[str]]]] = {}
    lines: Mapping[str, str] = {}
    locks: Mapping[str, str] = {}
    sources: Mapping[str, str] = {}
    settings: str = ""
    usual: str = ""
    lists: tuple[str, str, str] = ("(?!)", "", "")


def guarded(command: str, makes: str) -> str:
    """Return `command`, guarded by a test for the folder that it makes; if that is there, it need not run."""
    return f"[ -d {makes} ] || ({command})" if makes else command


def guarded_folder(command: str) -> str:
    """Return the folder in the guard of `guarded`; empty for any other command."""
    match = re.match(r"\[ -d ([\w./-]+) \] \|\| \(", command)
    return match[1] if match else ""


class Pin(NamedTuple):
    """A file by which a repository selects the version that a manager's shims start. `shims` and `versions` are folders
    in the home, `variable` is the shell's own selection. `pattern` has a group `version` and, where `versions` is one
    folder a tool, a group `tool`. `install` is the command that installs a `{version}` (of a `{tool}`)."""

    manager: str
    file: str
    shims: str
    versions: str
    variable: str
    install: str
    pattern: str = r"^\s*(?P<version>[\w.+-]+)"

    @classmethod
    def usual(cls, manager: str, file: str) -> Pin:
        """Return that of a manager with one folder for all."""
        folder, variable = f".{manager}", f"{manager.upper()}_VERSION"
        install = f"{manager} install {{version}}"
        return cls(manager, file, f"{folder}/shims", f"{folder}/versions", variable, install)


def nothing(*arguments: Any) -> Any:
    """For what an ecosystem does not have."""
    return ()


Added = Sequence[bytes]
"""The lines that a change adds to a file."""


class Action(NamedTuple):
    """`pin` is its commit and version, `inputs` are those that choose a version or an architecture, `off` turns
    off what else it does by default. Without an input in `read` it reads a file: its name, and a pattern."""

    pin: str
    inputs: str
    off: Mapping[str, str] = {}
    read: Mapping[str, tuple[str, str]] = {}


class Ecosystem(NamedTuple):
    """What is known of a language. A comment stands above the fields that it is about; folders in a home are relative
    to it, and names of files are patterns where the comment says so."""

    name: str
    # Names of the files that show it, or suffixes such as `*.sln`; suffixes of its sources; lock files, as patterns.
    manifests: Names = ()
    suffixes: Names = ()
    locks: Names = ()
    # Names of lock files, each with the command beside it that writes it anew: from the manifests, with the versions
    # that it had.
    relock: Mapping[str, str] = {}
    # Files that `setup` reads besides manifests and pins.
    also_read: Names = ()

    # Commands. "program" and "program argument" by use, the first match counts; `None` says that it is no check.
    uses: Mapping[str, Use | None] = {}
    # Prefixes of commands that run a script or target by its name, as `npm run`.
    scripts: Names = ()
    # What runs the command that follows it, as `uv run`, and the options of these that take a value.
    launchers: Names = ()
    values: Names = ()
    # Commands that make the installed packages those that manifests name, and remove any other.
    syncs: Names = ()
    # Programs that install what tests need in the command that runs them.
    isolates: Names = ()
    # Words by which a test runner only compiles or lists.
    runs_no_test: re.Pattern[str] | None = None

    # Checks and setup. The commands that manifests suggest where CI runs no tests; the one install for given checks.
    # At a terminal `checks` can read the files that a user's builds leave in the checkout as well.
    checks: Callable[[Files], Iterable[str]] = nothing
    builds_leave: Names = ()
    setup: Callable[[Files, Sequence[str]], str] = nothing
    # The folder that the install creates.
    makes: str = ""
    # Whether its test command builds what it needs.
    compiles: bool = False
    # The tools that compute a version from git's history, by a function that reads a file.
    version_tools: Callable[[Callable[[str], str]], list[str]] = nothing
    # Advice to people: a test command, an install, and how tests are kept from using copies of the tree's code.
    test: str = ""
    install: str = ""
    copies: str = ""
    # The programs whose version matters to what is installed; actions of GitHub Actions that install its toolchain.
    interpreters: Names = ()
    actions: Mapping[str, Action] = {}

    # Test runs. JUnit files that its tools write by themselves; how output of its runners is read.
    reports: Names = ()
    runners: tuple[Runner, ...] = ()
    # Lines that say how many tests ran, with groups of `ran`, `passed`, `failed`, `errors` and `skipped`, for runners
    # without a report; the line of a runner that passes without tests, with their number in a group.
    counts: Names = ()
    ran: str = ""
    # Lines by which its tools name a program or package that is not installed.
    absent: Names = ()
    # Of a command and its plain words: the command that reports its tests in a file, and the one that does so for tests
    # that failed, in the tree in which they did. With the variables `reporting` runners report behind a script.
    report: Callable[[str, list[str], str], CheckCommand | None] = nothing
    reporting: Mapping[str, str] = {}
    rerun: Callable[[str, list[str], Collection[str], str], CheckCommand | None] = nothing
    # The command for the tests related to a change, empty if it cannot be narrowed. In the sandbox `related` finds them
    # for changed files: paths, or names of packages.
    related_command: Callable[[str, list[str], Related], str] = nothing
    related: Callable[[Path, Sequence[str]], list[str]] | None = None
    # A path at which the pattern matches cannot be used elsewhere, and advice.
    moved: tuple[str, str] = ("(?!)", "")

    # Checkers, and the readers of their output by the name of the format. `checking` are variables with which one
    # downloads nothing, `{tmp}` is a folder outside the tree; `bundled` are programs that came with ours.
    checkers: tuple[Checker, ...] = ()
    forms: Mapping[str, Form] = {}
    checking: Mapping[str, str] = {}
    bundled: Names = ()
    servers: tuple[Server, ...] = ()
    # Suffixes with the pattern at which a definition begins.
    outline: Mapping[str, str] = {}

    # What a change is judged by. Tests; dependencies; kinds of files by patterns of names in lower case.
    suites: tuple[Suite, ...] = ()
    dependencies: Dependencies = Dependencies()
    sensitive: Mapping[str, str] = {}
    # Whether a test runner may load a file: its path in lower case, the added lines, the content, whether it is new.
    steers_tests: Callable[[str, Added, bytes | None, bool], bool] = nothing
    # Files that configure several programs, by the pattern of what a reviewer should see: a section's name in a group,
    # or a key in JSON.
    sections: Mapping[str, str] = {}
    # What tools leave in a tree, as in .gitignore.
    leftovers: Names = ()

    # Packages in a checkout: names of folders, those beside a manifest (of the empty name: at the root), and folders
    # with programs that a project installed.
    folders: Names = ()
    installed_beside: Mapping[str, Names] = {}
    bins: Names = ()
    # Folders that must be an environment with programs, whether one is, and those of a checkout that are elsewhere.
    environments: Names = ()
    is_environment: Callable[[str], bool] = nothing
    environments_outside: Callable[[Path, Collection[str], Mapping[str, str]], Iterator[str]] = nothing
    # A folder in which tools write these caches, so that it becomes a folder of links; one in which builds write.
    linked: str = ""
    linked_without: Names = ()
    built: str = ""

    # A user's home. Folders of version managers, shown whole, with the variable that names one, if it needs that; one
    # that another needs; patterns of what shows an installation with a folder `bin`.
    tools: Mapping[str, str] = {}
    beside: Mapping[str, str] = {}
    prefixes: Names = ()
    pins: tuple[Pin, ...] = ()
    # Folders of packages in a tool's own folder; folders of the home in which installs leave packages; and those with
    # environments, which contain their own path; an absolute one is that of a runner's image.
    packages: Names = ()
    home_packages: Names = ()
    home_environments: Names = ()
    # Folders of downloads that tools read without writing beside them, as patterns: one with a setting
    # (`VARIABLE=value`) that names the home, `{home}`, is read where it is, any other is linked from the HOME inside.
    # `copied` maps a manifest to a folder that is copied, since its tool writes in it while it reads.
    caches: Mapping[str, str] = {}
    copied: Mapping[str, str] = {}

    # The HOME inside. Caches that the workspaces of a run share, the command after which no test result in them
    # counts, and downloads of what is installed.
    build_caches: Names = ()
    forget: str = ""
    downloads: Names = ()
    # Variables: of the user's environment; of every command, where nobody answers a question or sees progress (`{home}`
    # is the HOME); with network access (`{proxy}` is the proxy's port); without it.
    passed: Names = ()
    settings: Mapping[str, str] = {}
    online: Mapping[str, str] = {}
    offline: Mapping[str, str] = {}
    # The preset of egress, its registries, and the variables for a mirror and for trusted certificates.
    egress: str = ""
    hosts: Names = ()
    mirror: str = ""
    authorities: Names = ()

    def is_in(self, files: Files) -> bool:
        """Whether a manifest of it is at the top."""
        at_top = [path for path in files.paths if "/" not in path]
        return any(fnmatch.filter(at_top, name) for name in self.manifests)
