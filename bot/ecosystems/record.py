"""`Ecosystem`: what one language, or one family of build tools, brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bot.ecosystems.checker import Checker
from bot.ecosystems.checker_output import Form
from bot.ecosystems.dependencies import Dependencies
from bot.ecosystems.language_server import Server
from bot.ecosystems.outline import Definition
from bot.ecosystems.suite import Suite
from bot.ecosystems.test_command import CheckCommand, Related, Rerun
from bot.ecosystems.test_results import Runner
from bot.ecosystems.uses import Use


class Files(Protocol):
    """The files of one commit, below one folder."""

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


def no_definitions(lines: Sequence[str]) -> list[Definition] | None:
    return None


Added = Sequence[bytes]
"""The lines that a change adds to a file."""


class Action(NamedTuple):
    """`pin` is its commit and version, `inputs` are those that choose a version or an architecture, `off` turns
    off what else it does by default."""

    pin: str
    inputs: str
    off: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecosystem:
    """`manifests` are the files that show it, names or suffixes such as `*.sln`. `uses` maps "program" and "program
    argument" to a use, the first match counts; `None` says that it is no check. `scripts` are the prefixes of commands
    that run a script or target by its name, as `npm run`. `launchers` run the command that follows them, as `uv run`;
    `values` are their options that take a value. `runs_no_test` matches words by which a test runner only compiles or
    lists. `checks` yields the commands that manifests suggest where CI runs no tests. `setup` takes the checks, and
    returns the one install from the lock file, or else from the manifests, where no environment is there. `locks` are
    the files, as patterns of names, that say what an install installs. `kept` are the folders in a home where installs
    leave packages, `installed` those of them that hold their own path, and `packages` the folders of packages in a
    tool's own folder. `compiles`: its test command builds what it needs. `suffixes` are those of its sources. `test`,
    `install` and `egress` are for advice to people. `reports` are the JUnit files that its tools write by themselves.
    `counts` are lines by which its test runners say how many tests ran, with groups of `ran`, `passed`, `failed`,
    `errors` and `skipped`, for those without a report.

    `tools` are the folders of version managers in a home, shown whole, each with the variable by which it is found, if
    it needs one. `caches` are the folders of downloads there, as patterns: one with a setting (`VARIABLE=value`) that
    names the home, `{home}`, is read where it is, any other is linked from the HOME inside. Named are only those that
    their tools read without writing beside them. `pins` tell where a shim has no version. `folders` are the names of
    the folders of installed packages in a checkout. `offline` are variables that make its tools use what is installed,
    or fail at once, where there is no network. `runners` read the output of its test runners, `forms` that of its
    checkers, by the name of the format. `related` finds the tests in a work tree that are related to changed files:
    paths, or names of packages. `absent` are patterns of lines by which its tools name a program or package that is not
    installed, `ran` is that of a runner that passes without tests, with their number in a group, `importers` that of
    programs that import installed packages; a path at which `moved` matches cannot be used elsewhere, with advice.
    `measures` matches commands that measure coverage, `measured` maps settings to a pattern of it. `installed_beside`
    are the folders of packages beside a manifest, those beside the empty name at the root. `environments` are those
    that must be one with programs, which `is_environment` tells; `environments_outside` yields those of a checkout that
    are elsewhere. In the folder `linked` tools write caches (`linked_without`), so it becomes a folder of links; in
    `built` builds write, so each tree gets a copy. `beside` maps a folder of `tools` to one that it needs, `prefixes`
    are patterns of what shows an installation with a folder `bin`. `bins` are the folders of a checkout in which a
    project has installed programs. `checking` are variables with which a checker downloads nothing; `{tmp}` is a folder
    outside the tree. `formats` maps names of files whose suffix does not say so to JSON or TOML. `outline` maps
    suffixes to the pattern with which a definition begins; `definitions` parses them where that is better, `None` if
    the file does not parse. `steers_tests` takes a file's path in lower case, the lines that a change adds to it, its
    content, and whether it is new, and returns whether a test runner may load it. `sensitive` maps kinds of files to
    patterns of names in lower case. `sections` maps files that configure several programs to the pattern of those whose
    settings a reviewer should see: of a section's name in a group, of a key in JSON. `leftovers` are what tools leave
    in a tree, as in .gitignore. `interpreters` are its programs whose version matters to what is installed. `also_read`
    are files besides manifests and pins that `setup` reads. `actions` are those of GitHub Actions that install its
    toolchain. `bundled` are programs that came with ours and are shown inside. `passed` are variables of the user's
    environment that it needs. `settings` are those of every command, where nobody answers a question or sees progress;
    `{home}` is the HOME inside. `online` are those with network access, added to a variable with options; `{proxy}` is
    the proxy's port. `authorities` are the names for files of trusted certificates, `index` for the address of a
    mirror. `version_tools` takes a function that reads a file, and returns the tools that compute a version from git's
    history. `build_caches` are folders in the HOME that the workspaces of a run share, `forget` is the command after
    which no test result in them counts, `downloads` are folders of what is installed. `copied` maps a manifest to the
    folder in the HOME that its tool writes in while it reads: it is copied. `hosts` are the registries of the preset
    `egress`. `runs` maps programs to the subcommands and options that run other commands. `copies` is advice for tests
    that do not use the tree's code: where its copies are, and how they are avoided."""

    name: str
    manifests: tuple[str, ...] = ()
    uses: Mapping[str, Use | None] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    runs_no_test: re.Pattern[str] | None = None
    checks: Callable[[Files], Iterable[str]] = nothing
    setup: Callable[[Files, Sequence[str]], Setup | None] = nothing
    locks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    compiles: bool = False
    suffixes: tuple[str, ...] = ()
    test: str = ""
    install: str = ""
    egress: str = ""
    reports: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    caches: Mapping[str, str] = field(default_factory=dict)
    pins: tuple[Pin, ...] = ()
    folders: tuple[str, ...] = ()
    offline: Mapping[str, str] = field(default_factory=dict)
    copies: str = ""
    servers: tuple[Server, ...] = ()
    bins: tuple[str, ...] = ()
    checking: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    outline: Mapping[str, str] = field(default_factory=dict)
    definitions: Callable[[Sequence[str]], list[Definition] | None] = no_definitions
    runners: tuple[Runner, ...] = ()
    checkers: tuple[Checker, ...] = ()
    forms: Mapping[str, Form] = field(default_factory=dict)
    related: Callable[[Path, Sequence[str]], list[str]] | None = None
    report: Callable[[str, list[str], str], CheckCommand | None] = nothing
    reporting: Mapping[str, str] = field(default_factory=dict)
    rerun: Callable[[str, list[str], Rerun], CheckCommand | None] = nothing
    selects: Callable[[list[str], Callable[[str], str | None]], bool] = nothing
    related_command: Callable[[str, list[str], Related], str] = nothing
    absent: tuple[str, ...] = ()
    ran: str = ""
    importers: str = ""
    moved: tuple[str, str] = ("(?!)", "")
    measures: str = ""
    measured: Mapping[str, str] = field(default_factory=dict)
    installed_beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environments_outside: Callable[[Path, Collection[str], Mapping[str, str]], Iterator[str]] = nothing
    environments: tuple[str, ...] = ()
    is_environment: Callable[[str], bool] = nothing
    linked: str = ""
    linked_without: tuple[str, ...] = ()
    built: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    suites: tuple[Suite, ...] = ()
    steers_tests: Callable[[str, Added, bytes | None, bool], bool] = nothing
    dependencies: Dependencies = field(default_factory=Dependencies)
    sensitive: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    leftovers: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    also_read: tuple[str, ...] = ()
    actions: Mapping[str, Action] = field(default_factory=dict)
    bundled: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    online: Mapping[str, str] = field(default_factory=dict)
    authorities: tuple[str, ...] = ()
    index: str = ""
    version_tools: Callable[[Callable[[str], str]], list[str]] = nothing
    build_caches: tuple[str, ...] = ()
    forget: str = ""
    downloads: tuple[str, ...] = ()
    copied: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)

    def is_in(self, files: Files) -> bool:
        """Whether a manifest of it is at the top."""
        return any(
            name in files.paths if name[0] != "*" else any(path.endswith(name[1:]) for path in files.paths)
            for name in self.manifests
        )
