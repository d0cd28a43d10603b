"""Which programs check a whole project, and how each is called: data. Which of them are for a repository is in
`choosing.py`. Nothing here runs anything, and nothing is ever installed."""

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
"""Files that set up other things as well."""

_ANYWHERE = "**/"
_IGNORED = ("**/.gitignore", "**/.ignore")

_ANY = ".*"
"""Of compilers: what one finds hangs on how far it comes."""

# A folder is left out by a pattern, or by one of several between commas: another name could hide more than itself.
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
    """`program` is looked for in the order of `where` by `bot/workshop/host/checkers/locate.py`; `form` names how its
    output is read, `exits` the exit codes of a run that came to its end; `unit` is what its columns count where that
    is not code points. With `suffixes` it is given the files that end so. `settings` are the files that configure it,
    or say what it leaves out; those that begin with `**/` do in every folder. It runs only where none of `instead_of`
    could. A problem whose code matches `stops_at` is the last that it looks for, an error whose code matches `hides`
    keeps it from finding some of the others; `shown` is what people read for its words.

    `folder` is the project that it looks at, empty for the repository; `file` sets that up where it is not the usual
    one, and is named in the place of the last argument. `apart` are the folders in it that are looked at by themselves,
    which the option `leaves_out` tells it where it has one. `environment` are variables of its own. An error whose
    `code: message` begins like `unread` says that it could not read a file: what else is wrong there, or in the whole
    project where it is `blinded` by that, it cannot have said. The code `unbuilt` says that another project is to be
    built first. `configured` is false for a checker that is run though the project has no settings for it."""

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
    shown: tuple[str, ...] = ()
    leaves_out: str = ""
    unread: str = ""
    blinded: bool = False
    unbuilt: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    file: str = ""
    apart: tuple[str, ...] = ()
    configured: bool = True

    @property
    def key(self) -> tuple[str, str]:
        return (self.name, self.place)

    @property
    def place(self) -> str:
        """The project, relative to the repository: its folder, or the file in it that makes it one."""
        return join(self.folder, self.file) if self.file else self.folder

    @property
    def called(self) -> tuple[str, ...]:
        """Its arguments."""
        start = len(self.folder) + 1 if self.folder else 0
        apart = [folder for folder in self.apart if self.leaves_out and _PLAIN.fullmatch(folder)]
        left = (self.leaves_out.format(folder[start:]) for folder in apart)
        named = (self.file,) if self.file else ()
        return (*(self.arguments[: -len(named)] if named else self.arguments), *named, *left)

    @property
    def command(self) -> str:
        """For people."""
        words = self.shown or (self.program, *self.arguments)
        return " ".join([*words, *(f"*{suffix}" for suffix in self.suffixes)])

    def files_of(self, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """Those of `paths` that it is given by name, relative to its folder, and whether these are all."""
        named = [path for path in paths if self.suffixes and path.endswith(self.suffixes)]
        wanted = sorted(own_files(named, self.folder, self.apart))
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
        "ruff", "ruff", ("check", "--no-cache", "--output-format", "json"), "ruff", _OURS,
        settings=("**/ruff.toml", "**/.ruff.toml", "**/pyproject.toml", *_IGNORED), hides="invalid-syntax",
        leaves_out="--extend-exclude=./{}", unread="invalid-syntax:",
    ),
    Checker(
        "ty", "ty", ("check", "--output-format", "gitlab", "--exit-zero"), "gitlab", _OURS,
        settings=("ty.toml", "pyproject.toml", *_IGNORED), leaves_out="--exclude=./{}", unread="invalid-syntax:",
    ),
    Checker(
        "basedpyright", "basedpyright", ("--outputjson",), "pyright", unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"), unread=_NO_CODE,
    ),
    Checker(
        "pyright", "pyright", ("--outputjson",), "pyright", unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"), unread=_NO_CODE,
    ),
    Checker(
        "mypy", "mypy",
        ("--cache-dir", "{tmp}/mypy-cache", "--show-column-numbers", "--show-error-codes", "--no-pretty",
         "--hide-error-context", "--no-color-output", "--no-error-summary"),
        "mypy", unit="utf-8", settings=("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"),
    ),
    Checker(
        "python-syntax", "python-of-the-host", ("-I", "-S", "-c", _SYNTAX), "placed", ("ours",),
        suffixes=(".py",), instead_of=("ruff", "ty"), shown=("python", "-c", "ast.parse"),
    ),
    Checker(
        "tsc", "tsc", ("--noEmit", "--pretty", "false", "-p", "."), "tsc", _PROJECT, exits=(0, 1, 2), unit="utf-16",
        settings=("**/tsconfig*.json", "package.json"), stops_at=r"TS1\d{3}",
        unread=r"TS1\d{3}:", blinded=True, unbuilt="TS6305",
    ),
    Checker(
        "biome", "biome", ("lint", "--reporter=rdjson"), "rdjson", _PROJECT,
        settings=("**/biome.json", "**/biome.jsonc", *_IGNORED),
    ),
    Checker("oxlint", "oxlint", ("-f", "json"), "oxlint", _PROJECT,
            settings=("**/.oxlintrc.json", ".eslintignore", *_IGNORED)),
    Checker(
        "eslint", "eslint", ("--format", "json", "--no-error-on-unmatched-pattern"), "eslint", _PROJECT, unit="utf-16",
        settings=("**/eslint.config.*", "**/.eslintrc*", "**/.eslintignore", "package.json", "**/tsconfig*.json",
                  "**/.prettierrc*"),
        hides=_NOT_PARSED, leaves_out="--ignore-pattern={}/**", unread=f"{_NOT_PARSED}:",
    ),
    Checker(
        "cargo", "cargo", ("check", "--message-format", "json", "--offline", "--workspace", "--all-targets",
         "--keep-going"), "cargo",
        ("path",), exits=(0, 101), settings=(
            "**/Cargo.toml", "**/build.rs", "**/.cargo/*", "rust-toolchain", "rust-toolchain.toml",
        ), hides=_ANY, unread=_NO_CODE, blinded=True,
    ),
    Checker(
        "gopls", "gopls", ("check",), "placed", ("path",), ("version",), unit="utf-8", suffixes=(".go",),
        settings=("**/go.mod", "go.work"), hides=_ANY, unread=_GO_SYNTAX,
    ),
    Checker(
        "go-vet", "go", ("vet", "./..."), "placed", ("path",), ("version",), exits=(0, 1, 2), unit="utf-8",
        settings=("**/go.mod", "go.work"), instead_of=("gopls",), together=True,
        hides=_ANY, unread=_GO_SYNTAX, blinded=True,
    ),
    Checker("shellcheck", "shellcheck", ("-f", "json1"), "shellcheck", suffixes=(".sh", ".bash"),
            settings=("**/.shellcheckrc", "**/shellcheckrc"), hides=r"SC1\d{3}", unread=r"SC1\d{3}:"),
    Checker(
        "bash", "bash", ("-c", 'for file; do bash -n "$file"; done; exit 0', "bash"), "bash", ("path",),
        suffixes=(".sh", ".bash"), together=True, shown=("bash", "-n"),
    ),
)  # fmt: skip
"""In the order in which they are run and told of."""


def sets_up(checker: Checker, path: str, texts: Iterable[str]) -> bool:
    """Whether a change of `path` changes what `checker` looks for; `texts` are what the file holds on either side. One
    that many share counts if it speaks of the checker, `pyproject.toml` if what it says to it differs."""
    if not any(_is_named(path, setting, checker.folder) for setting in checker.settings):
        return False
    words = (checker.name, "typescript") if checker.name == "tsc" else (checker.name,)
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        old, new = (_of_pyproject(text, checker.name) for text in texts)
        return old != new
    return name not in _SHARED_SETTINGS or any(word in text for text in texts for word in words)


def _of_pyproject(text: str, name: str) -> object:
    """What such a file says to a checker; all of it if it cannot be read."""
    try:
        settings = tomllib.loads(text)
        return settings.get("tool", {}).get(name), settings.get("project", {}).get("requires-python")
    except (ValueError, RecursionError, AttributeError):
        return text


def _is_named(path: str, setting: str, folder: str) -> bool:
    """Settings count from the top down to a project's folder, and those that count everywhere also within it."""
    holds = above(path)[0]
    if holds.endswith(".cargo"):
        holds = above(holds)[0]
    if not is_in(folder, holds) and not (setting.startswith(_ANYWHERE) and is_in(path, folder)):
        return False
    if setting.startswith(_ANYWHERE):
        return fnmatchcase(f"/{path}", f"*/{setting.removeprefix(_ANYWHERE)}")
    return fnmatchcase(path, f"*/{setting}") or path == setting if folder else path == setting
