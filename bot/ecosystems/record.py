"""`Ecosystem`: what one language, or one family of build tools, brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bot.ecosystems.checker import Checker
from bot.ecosystems.checker_output import Form
from bot.ecosystems.outline import Definition
from bot.ecosystems.place import Place
from bot.ecosystems.test_command import CheckCommand, Related, Rerun
from bot.ecosystems.test_results import Runner

Words = Sequence[str]


class Use(IntEnum):
    """What a command is for. Of several commands, the highest decides."""

    SYSTEM = 1
    INSTALL = 2
    BUILD = 3
    LINT = 4
    TYPES = 5
    TESTS = 6


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


def no_report(command: str, words: list[str], report: str) -> CheckCommand | None:
    return None


def no_rerun(command: str, words: list[str], wanted: Rerun) -> CheckCommand | None:
    return None


def selects_nothing(words: list[str], read: Callable[[str], str | None]) -> bool:
    return False


def no_related(command: str, words: list[str], related: Related) -> str:
    return ""


def is_none(folder: str) -> bool:
    return False


def no_environments(top: Path, tracked: Collection[str], source: Mapping[str, str]) -> Iterator[str]:
    return iter(())


def no_version_tools(read: Callable[[str], str]) -> list[str]:
    return []


def no_checks(files: Files) -> Iterator[str]:
    return iter(())


def no_setup(files: Files, checks: Sequence[str]) -> Setup | None:
    return None


def no_definitions(lines: Sequence[str]) -> list[Definition] | None:
    return None


@dataclass(frozen=True, slots=True)
class Launch:
    """The command line of a language server. `options` go with `initialize`; `runs` are files of the project that it
    executes; `root` is the project's folder, the repository's where it is None; `variables` are added to its
    environment."""

    argv: tuple[str, ...]
    options: object = None
    runs: tuple[str, ...] = ()
    root: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


Find = Callable[[Place], "Launch | str"]
"""Return how the server is started at a place, else a clause why not; empty if the project does not use it."""


@dataclass(frozen=True, slots=True)
class Server:
    """A language server. `files` maps suffixes to language ids of the protocol. In `variables` of its environment
    `{tmp}` is a folder outside the tree. It is refused where a rule denies one of `commands`, its own if there are
    none. Problems with one of the codes `missing` may only mean that a package is not installed: they are not news."""

    name: str
    files: Mapping[str, str]
    find: Find
    variables: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()


def server_beside(
    markers: Sequence[str],
    missing: str,
    name: str,
    *arguments: str,
    own: bool = True,
    top: bool = False,
    runs: Sequence[str] = (),
    options: object = None,
) -> Find:
    """Return the `find` of a server for projects with one of the files `markers`, the best first; `missing` says why
    there is none without. Its root is the folder of the nearest such file, or the topmost, `{root}` in its arguments.
    `own`: it may be the project's own program. `runs` are files that it executes."""

    def find(place: Place) -> Launch | str:
        marker = next((path for one in markers if (path := place.above(one, top=top))), None)
        if marker is None:
            return missing
        program = (place.in_project(name) if own else "") or place.on_path(name)
        if not program:
            return "it is not installed"
        words = (argument.replace("{root}", str(marker.parent)) for argument in arguments)
        executed = tuple(str(path) for one in runs if (path := place.above(one)))
        return Launch((program, *words), options, executed, marker.parent)

    return find


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
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


Added = Sequence[bytes]
"""The lines that a change adds to a file."""


def steers_nothing(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """How dependencies look in files, by patterns of names in lower case. `manifests` are read as data: the parser, and
    the function that yields the names. In `lines` and `locks` a pattern matches the line that declares or pins one, in
    `sources` the line that names where packages come from, of which `usual` are the registries' own. `settings` are
    files with settings of package managers. `lists` has a pattern of paths, and those of lines of both kinds."""

    manifests: Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Iterator[str]]]] = field(
        default_factory=dict
    )
    lines: Mapping[str, str] = field(default_factory=dict)
    locks: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    usual: str = ""
    lists: tuple[str, str, str] = ("(?!)", "", "")


class Action(NamedTuple):
    """`pin` is its commit and version, `inputs` are those that choose a version or an architecture, `off` turns
    off what else it does by default."""

    pin: str
    inputs: str
    off: Mapping[str, str] = {}


HOST = r"[^'\"]{0,8}['\"]?(?:[a-z]+\+)?https?://(?:[^/@\s'\"]*@)?([^/'\"\s?#]+)"
"""Matches an address in a lock file, and the host in it."""


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
    checks: Callable[[Files], Iterable[str]] = no_checks
    setup: Callable[[Files, Sequence[str]], Setup | None] = no_setup
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
    report: Callable[[str, list[str], str], CheckCommand | None] = no_report
    reporting: Mapping[str, str] = field(default_factory=dict)
    rerun: Callable[[str, list[str], Rerun], CheckCommand | None] = no_rerun
    selects: Callable[[list[str], Callable[[str], str | None]], bool] = selects_nothing
    related_command: Callable[[str, list[str], Related], str] = no_related
    absent: tuple[str, ...] = ()
    ran: str = ""
    importers: str = ""
    moved: tuple[str, str] = ("(?!)", "")
    measures: str = ""
    measured: Mapping[str, str] = field(default_factory=dict)
    installed_beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environments_outside: Callable[[Path, Collection[str], Mapping[str, str]], Iterator[str]] = (
        no_environments
    )
    environments: tuple[str, ...] = ()
    is_environment: Callable[[str], bool] = is_none
    linked: str = ""
    linked_without: tuple[str, ...] = ()
    built: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    suites: tuple[Suite, ...] = ()
    steers_tests: Callable[[str, Added, bytes | None, bool], bool] = steers_nothing
    dependencies: Dependencies = Dependencies()
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
    version_tools: Callable[[Callable[[str], str]], list[str]] = no_version_tools
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


def uses(**groups: str) -> dict[str, Use | None]:
    """Return a table for `Ecosystem.uses`: `uses(TESTS="pytest; coverage run", NONE="ruff format")`."""
    return {
        command.strip(): Use[name] if name != "NONE" else None
        for name, commands in groups.items()
        for command in commands.split(";")
        if command.strip()
    }


_BY_NAME = tuple(
    (use, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for use, pattern in (
        (
            Use.TYPES,
            r"""mypy | pyright | typing | (vue-)?tsc | typescript | types | check-?types?
            | ((ts|check|test|lint|validate)[-:_]?)?(type-?check|types?|ts|tsc|dts) | ts[-:]check""",
        ),
        (
            Use.LINT,
            r"""lint([-:_]\w+)? | eslint | prettier | standard | xo | oxlint | biome | style | vet | ruff | flake8
            | clippy | pre-commit | (fmt|format|style)[-:_]?check
            | (check|test)[-:_]?(fmt|format|lint|style|eslint|prettier)""",
        ),
        (
            Use.TESTS,
            r"""(run[-_])?tests? | (run[-_])?unit([-:_]?tests?)? | tests?[\w:.-]+ | specs? | check | verify
            | ci([-:_]tests?)? | cov(erage)? | richtest | py[\d.]*([-:_].*)? | pytest | vitest | jest | mocha""",
        ),
        (Use.BUILD, r"all | (build|compile|prepare|generate|configure)([-:_].*)?"),
    )
)
_OTHER = re.compile(
    r"(?i)docs?\b|site\b|publish|release|deploy|bench|e2e|playwright|cypress|browser|perf\b|fuzz|watch|storybook|preview|"
    r"serve|start\b|fix\b|docker|integration|nightly|audit|upload|dist\b|wasm|deno|update"
)


def use_of_name(name: str) -> Use | None:
    """Classify a script, target or session by its name."""
    return (
        next((use for use, pattern in _BY_NAME if pattern.fullmatch(name)), None)
        if not is_other_name(name)
        else None
    )


def is_other_name(name: str) -> bool:
    """Whether a script of this name checks no change, or needs more than a sandbox has."""
    return bool(_OTHER.search(name))
