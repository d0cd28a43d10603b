"""`Ecosystem`: what one language, or one family of build tools, brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bot.ecosystems.checker import Checker
from bot.ecosystems.checker_output import Form
from bot.ecosystems.command_purpose import Use
from bot.ecosystems.dependencies import Dependencies
from bot.ecosystems.language_server import Server
from bot.ecosystems.suite import Suite
from bot.ecosystems.test_command import CheckCommand, Related, Rerun
from bot.ecosystems.test_results import Runner


class Files(Protocol):
    """The files of one commit."""

    @property
    def paths(self) -> Collection[str]: ...

    def text(self, path: str) -> str | None:
        """Return the text of a file, `None` if there is none."""
        ...

    def parsed(self, path: str, function: Callable[[str], Any]) -> Any:
        """Return what `function` makes of a file, as values of JSON; `None` if there is none or it does not parse."""
        ...


class Setup(NamedTuple):
    """The command that installs what checks need, the registries it reaches (presets of egress), and the folder that
    it creates; if that is there, it need not run."""

    command: str
    egress: tuple[str, ...] = ()
    makes: str = ""

    @property
    def guarded(self) -> str:
        """The command, guarded by a test for `makes`."""
        return f"[ -d {self.makes} ] || ({self.command})" if self.makes else self.command


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


def nothing(*arguments: Any) -> Any:
    """For what an ecosystem does not have."""
    return ()


Added = Sequence[bytes]
"""The lines that a change adds to a file."""


class Action(NamedTuple):
    """`pin` is its commit and version, `inputs` are those that choose a version or an architecture, `off` turns
    off what else it does by default."""

    pin: str
    inputs: str
    off: Mapping[str, str] = {}


Names = tuple[str, ...]
Table = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecosystem:
    """What is known of a language. A comment stands above the fields that it is about; folders in a home are relative
    to it, and names of files are patterns where the comment says so."""

    name: str
    # Names of the files that show it, or suffixes such as `*.sln`; suffixes of its sources; lock files, as patterns.
    manifests: Names = ()
    suffixes: Names = ()
    locks: Names = ()
    # Files that `setup` reads besides manifests and pins.
    also_read: Names = ()

    # Commands. "program" and "program argument" by use, the first match counts; `None` says that it is no check.
    uses: Mapping[str, Use | None] = field(default_factory=dict)
    # Prefixes of commands that run a script or target by its name, as `npm run`.
    scripts: Names = ()
    # What runs the command that follows it, as `uv run`, and the options of these that take a value.
    launchers: Names = ()
    values: frozenset[str] = frozenset()
    # Words by which a test runner only compiles or lists.
    runs_no_test: re.Pattern[str] | None = None

    # Checks and setup. The commands that manifests suggest where CI runs no tests; the one install for given checks.
    # At a terminal `checks` can read the files that a user's builds leave in the checkout as well.
    checks: Callable[[Files], Iterable[str]] = nothing
    builds_leave: Names = ()
    setup: Callable[[Files, Sequence[str]], Setup | None] = nothing
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
    actions: Mapping[str, Action] = field(default_factory=dict)

    # Test runs. JUnit files that its tools write by themselves; how output of its runners is read.
    reports: Names = ()
    runners: tuple[Runner, ...] = ()
    # Lines that say how many tests ran, with groups of `ran`, `passed`, `failed`, `errors` and `skipped`, for runners
    # without a report; the line of a runner that passes without tests, with their number in a group.
    counts: Names = ()
    ran: str = ""
    # Lines by which its tools name a program or package that is not installed.
    absent: Names = ()
    # Of a command and its plain words: the command that reports its tests, and the one that runs some tests only. With
    # the variables `reporting` runners report behind a script.
    report: Callable[[str, list[str], str], CheckCommand | None] = nothing
    reporting: Table = field(default_factory=dict)
    rerun: Callable[[str, list[str], Rerun], CheckCommand | None] = nothing
    # The command for the tests related to a change, empty if it cannot be narrowed. In the sandbox `related` finds them
    # for changed files: paths, or names of packages.
    related_command: Callable[[str, list[str], Related], str] = nothing
    related: Callable[[Path, Sequence[str]], list[str]] | None = None
    # A path at which the pattern matches cannot be used elsewhere, and advice.
    moved: tuple[str, str] = ("(?!)", "")

    # Checkers, and the readers of their output by the name of the format. `checking` are variables with which one
    # downloads nothing, `{tmp}` is a folder outside the tree; `bundled` are programs that came with ours.
    checkers: tuple[Checker, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)
    checking: Table = field(default_factory=dict)
    bundled: Names = ()
    servers: tuple[Server, ...] = ()
    # Suffixes with the pattern at which a definition begins.
    outline: Table = field(default_factory=dict)

    # What a change is judged by. Tests; dependencies; kinds of files by patterns of names in lower case.
    suites: tuple[Suite, ...] = ()
    dependencies: Dependencies = field(default_factory=Dependencies)
    sensitive: Table = field(default_factory=dict)
    # Whether a test runner may load a file: its path in lower case, the added lines, the content, whether it is new.
    steers_tests: Callable[[str, Added, bytes | None, bool], bool] = nothing
    # Files that configure several programs, by the pattern of what a reviewer should see: a section's name in a group,
    # or a key in JSON.
    sections: Table = field(default_factory=dict)
    # What tools leave in a tree, as in .gitignore.
    leftovers: Names = ()

    # Packages in a checkout: names of folders, those beside a manifest (of the empty name: at the root), and folders
    # with programs that a project installed.
    folders: Names = ()
    installed_beside: Mapping[str, Names] = field(default_factory=dict)
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
    tools: Table = field(default_factory=dict)
    beside: Table = field(default_factory=dict)
    prefixes: Names = ()
    pins: tuple[Pin, ...] = ()
    # Folders of packages in a tool's own folder; folders of the home in which installs leave packages; and those with
    # environments, which contain their own path.
    packages: Names = ()
    home_packages: Names = ()
    home_environments: Names = ()
    # Folders of downloads that tools read without writing beside them, as patterns: one with a setting
    # (`VARIABLE=value`) that names the home, `{home}`, is read where it is, any other is linked from the HOME inside.
    # `copied` maps a manifest to a folder that is copied, since its tool writes in it while it reads.
    caches: Table = field(default_factory=dict)
    copied: Table = field(default_factory=dict)

    # The HOME inside. Caches that the workspaces of a run share, the command after which no test result in them
    # counts, and downloads of what is installed.
    build_caches: Names = ()
    forget: str = ""
    downloads: Names = ()
    # Variables: of the user's environment; of every command, where nobody answers a question or sees progress (`{home}`
    # is the HOME); with network access (`{proxy}` is the proxy's port); without it.
    passed: Names = ()
    settings: Table = field(default_factory=dict)
    online: Table = field(default_factory=dict)
    offline: Table = field(default_factory=dict)
    # The preset of egress, its registries, and the variables for a mirror and for trusted certificates.
    egress: str = ""
    hosts: Names = ()
    index: str = ""
    authorities: Names = ()

    def is_in(self, files: Files) -> bool:
        """Whether a manifest of it is at the top."""
        return any(
            name in files.paths if name[0] != "*" else any(path.endswith(name[1:]) for path in files.paths)
            for name in self.manifests
        )
