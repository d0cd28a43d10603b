"""The table of checkers and their commands. `checker_selection.py` selects among them. Nothing is ever installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import join

from bot.evidence.projects import above, is_in, own_files

_OURS = ("ours", "project", "path")
_THEIRS = ("project", "path")
_PROJECT = ("project",)
_SHARED_SETTINGS = frozenset({"pyproject.toml", "setup.cfg", "package.json"})
"""Files with settings of other tools as well."""

ALWAYS_RUN = frozenset({"ruff", "ty"})
"""Checkers that also run in projects that do not use them."""

_ANYWHERE = "**/"
_IGNORED = ("**/.gitignore", "**/.ignore")

_ANY = ".*"
"""For compilers, whose errors depend on how far they get."""

# Folders are excluded by patterns or comma-separated lists: other characters could exclude more.
_PLAIN = re.compile(r"[\w./@+ -]+")

_NO_CODE = ": "
_NOT_PARSED = "parsing-error"
_GO_SYNTAX = (
    r": (?:syntax error\b|expected |missing |unexpected |illegal |invalid character|non-declaration|imports must|"
    r"(?:string|rune|raw string|char) literal |(?:newline|EOF) in |comment not terminated)"
)

_MOST_FILES = 2_000
_MOST_BYTES = 500_000

_SYNTAX = """
import ast, sys, warnings
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    try:
        with open(path, "rb") as file:
            ast.parse(file.read())
    except SyntaxError as error:
        print(f"{path}:{error.lineno or 1}:{error.offset or 0}: {error.msg}")
    except (OSError, ValueError, RecursionError, MemoryError):
        pass
"""


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that checks a project, and how to run it.

    `program` is searched in the order of `where` by `bot/toolhost/tools/problems_of.py`. `form` names the format of its
    output, `exits` the exit codes of a complete run, `unit` the unit of its columns if not code points. With `suffixes`
    it receives the files that end so. `settings` are the files that configure it, or say what it excludes; with `**/`
    in every folder. It runs only if none of `instead_of` could. It stops after a problem whose code matches `stops_at`;
    an error whose code matches `hides` hides others. `display_command` is the command for people.

    `folder` is the project, empty for the repository. `file` is its configuration if that is not the usual one, and
    replaces the last argument. `excluded_folders` are nested projects, which the option `exclude_option` excludes.
    `environment` are extra variables. An error whose `code: message` matches `unread` means that a file could not be
    read, or, if `blinded`, that the whole project could not be checked. The code `unbuilt` means that another project
    must be built first."""

    name: str
    program: str
    arguments: tuple[str, ...]
    form: str
    where: tuple[str, ...] = _THEIRS
    version: tuple[str, ...] = ("--version",)
    exits: tuple[int, ...] = (0, 1)
    unit: str = ""
    suffixes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    instead_of: tuple[str, ...] = ()
    together: bool = False
    stops_at: str = ""
    hides: str = ""
    display_command: tuple[str, ...] = ()
    exclude_option: str = ""
    unread: str = ""
    blinded: bool = False
    unbuilt: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    file: str = ""
    excluded_folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.name, self.project)

    @property
    def project(self) -> str:
        """The project, relative to the repository: its folder, or the file in it that makes it one."""
        return join(self.folder, self.file) if self.file else self.folder

    @property
    def full_arguments(self) -> tuple[str, ...]:
        """All arguments: with the configuration file and the excluded folders."""
        start = len(self.folder) + 1 if self.folder else 0
        excluded = [
            folder for folder in self.excluded_folders if self.exclude_option and _PLAIN.fullmatch(folder)
        ]
        exclude_options = (self.exclude_option.format(folder[start:]) for folder in excluded)
        file_argument = (self.file,) if self.file else ()
        return (
            *(self.arguments[: -len(file_argument)] if file_argument else self.arguments),
            *file_argument,
            *exclude_options,
        )

    @property
    def command(self) -> str:
        """The command for people."""
        words = self.display_command or (self.program, *self.arguments)
        return " ".join([*words, *(f"*{suffix}" for suffix in self.suffixes)])

    def files_of(self, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """Return those of `paths` that it receives as arguments, relative to its folder, and whether these are all."""
        named = [path for path in paths if self.suffixes and path.endswith(self.suffixes)]
        wanted = sorted(own_files(named, self.folder, self.excluded_folders))
        taken: list[str] = []
        size = 0
        for path in wanted:
            size += len(path.encode("utf-8", "surrogateescape")) + 3
            if len(taken) == _MOST_FILES or size > _MOST_BYTES:
                return tuple(taken), False
            taken.append(path)
        return tuple(taken), True


CHECKERS: tuple[Checker, ...] = (
    Checker(
        "ruff",
        "ruff",
        ("check", "--no-cache", "--output-format", "json"),
        "ruff",
        _OURS,
        settings=("**/ruff.toml", "**/.ruff.toml", "**/pyproject.toml", *_IGNORED),
        hides="invalid-syntax",
        exclude_option="--extend-exclude=./{}",
        unread="invalid-syntax:",
    ),
    Checker(
        "ty",
        "ty",
        ("check", "--output-format", "gitlab", "--exit-zero"),
        "gitlab",
        _OURS,
        settings=("ty.toml", "pyproject.toml", *_IGNORED),
        exclude_option="--exclude=./{}",
        unread="invalid-syntax:",
    ),
    Checker(
        "basedpyright",
        "basedpyright",
        ("--outputjson",),
        "pyright",
        unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"),
        unread=_NO_CODE,
    ),
    Checker(
        "pyright",
        "pyright",
        ("--outputjson",),
        "pyright",
        unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"),
        unread=_NO_CODE,
    ),
    Checker(
        "mypy",
        "mypy",
        (
            "--cache-dir",
            "{tmp}/home/.cache/mypy",
            "--show-column-numbers",
            "--show-error-codes",
            "--no-pretty",
            "--hide-error-context",
            "--no-color-output",
            "--no-error-summary",
        ),
        "mypy",
        unit="utf-8",
        settings=("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"),
    ),
    Checker(
        "python-syntax",
        "python-of-the-host",
        ("-I", "-S", "-c", _SYNTAX),
        "placed",
        ("ours",),
        suffixes=(".py",),
        instead_of=("ruff", "ty"),
        display_command=("python", "-c", "ast.parse"),
    ),
    Checker(
        "tsc",
        "tsc",
        ("--noEmit", "--pretty", "false", "-p", "."),
        "tsc",
        _PROJECT,
        exits=(0, 1, 2),
        unit="utf-16",
        settings=("**/tsconfig*.json", "package.json"),
        stops_at=r"TS1\d{3}",
        unread=r"TS1\d{3}:",
        blinded=True,
        unbuilt="TS6305",
    ),
    Checker(
        "biome",
        "biome",
        ("lint", "--reporter=rdjson"),
        "rdjson",
        _PROJECT,
        settings=("**/biome.json", "**/biome.jsonc", *_IGNORED),
    ),
    Checker(
        "oxlint",
        "oxlint",
        ("-f", "json"),
        "oxlint",
        _PROJECT,
        settings=("**/.oxlintrc.json", ".eslintignore", *_IGNORED),
    ),
    Checker(
        "eslint",
        "eslint",
        ("--format", "json", "--no-error-on-unmatched-pattern"),
        "eslint",
        _PROJECT,
        unit="utf-16",
        settings=(
            "**/eslint.config.*",
            "**/.eslintrc*",
            "**/.eslintignore",
            "package.json",
            "**/tsconfig*.json",
            "**/.prettierrc*",
        ),
        hides=_NOT_PARSED,
        exclude_option="--ignore-pattern={}/**",
        unread=f"{_NOT_PARSED}:",
    ),
    Checker(
        "cargo",
        "cargo",
        ("check", "--message-format", "json", "--offline", "--workspace", "--all-targets", "--keep-going"),
        "cargo",
        ("path",),
        exits=(0, 101),
        settings=("**/Cargo.toml", "**/build.rs", "**/.cargo/*", "rust-toolchain", "rust-toolchain.toml"),
        hides=_ANY,
        unread=_NO_CODE,
        blinded=True,
    ),
    Checker(
        "gopls",
        "gopls",
        ("check",),
        "placed",
        ("path",),
        ("version",),
        unit="utf-8",
        suffixes=(".go",),
        settings=("**/go.mod", "go.work"),
        hides=_ANY,
        unread=_GO_SYNTAX,
    ),
    Checker(
        "go-vet",
        "go",
        ("vet", "./..."),
        "placed",
        ("path",),
        ("version",),
        exits=(0, 1, 2),
        unit="utf-8",
        settings=("**/go.mod", "go.work"),
        instead_of=("gopls",),
        together=True,
        hides=_ANY,
        unread=_GO_SYNTAX,
        blinded=True,
    ),
    Checker(
        "shellcheck",
        "shellcheck",
        ("-f", "json1"),
        "shellcheck",
        suffixes=(".sh", ".bash"),
        settings=("**/.shellcheckrc", "**/shellcheckrc"),
        hides=r"SC1\d{3}",
        unread=r"SC1\d{3}:",
    ),
    Checker(
        "bash",
        "bash",
        ("-c", 'for file; do bash -n "$file"; done; exit 0', "bash"),
        "bash",
        ("path",),
        suffixes=(".sh", ".bash"),
        together=True,
        display_command=("bash", "-n"),
    ),
)
"""In the order of execution and display."""


def sets_up(checker: Checker, path: str, texts: Iterable[str]) -> bool:
    """Whether a change of `path` configures `checker`. `texts` are the file's contents before and after. A shared file
    counts if it mentions the checker, `pyproject.toml` if the checker's settings differ."""
    if not any(_is_setting(path, setting, checker.folder) for setting in checker.settings):
        return False
    names = (checker.name, "typescript") if checker.name == "tsc" else (checker.name,)
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        before, after = (_pyproject_settings(text, checker.name) for text in texts)
        return before != after
    return name not in _SHARED_SETTINGS or any(word in text for text in texts for word in names)


def _pyproject_settings(text: str, name: str) -> object:
    """Return the settings of a checker in pyproject.toml; the whole text if it cannot be parsed."""
    try:
        settings = tomllib.loads(text)
        return settings.get("tool", {}).get(name), settings.get("project", {}).get("requires-python")
    except (ValueError, RecursionError, AttributeError):
        return text


def _is_setting(path: str, setting: str, folder: str) -> bool:
    """Whether `path` is the settings file `setting` in the project folder or above it, or, with `**/`, also below."""
    parent = above(path)[0]
    if parent.endswith(".cargo"):
        parent = above(parent)[0]
    if not is_in(folder, parent) and not (setting.startswith(_ANYWHERE) and is_in(path, folder)):
        return False
    if setting.startswith(_ANYWHERE):
        return fnmatchcase(f"/{path}", f"*/{setting.removeprefix(_ANYWHERE)}")
    return fnmatchcase(path, f"*/{setting}") or path == setting if folder else path == setting
