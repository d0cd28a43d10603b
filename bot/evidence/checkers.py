"""Which programs check a whole project, how each is called, and which of them are for the repository at hand: data, and
the choice by what its base commit has. Nothing here runs anything, and nothing is ever installed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

ReadBase = Callable[[str], str | None]
"""The text of a file at the base commit, or `None` where there is none."""

_OURS = ("ours", "project", "path")
_THEIRS = ("project", "path")
_PROJECT = ("project",)
_SHARED_SETTINGS = frozenset({"pyproject.toml", "setup.cfg", "package.json"})
"""Files that set up other things as well."""

_ANYWHERE = "**/"
_IGNORED = ("**/.gitignore", "**/.ignore")

_ANY = ".*"
"""Of compilers: what one finds hangs on how far it comes."""

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
    keeps it from finding some of the others; `shown` is what people read for its words."""

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

    @property
    def command(self) -> str:
        """For people."""
        words = self.shown or (self.program, *self.arguments)
        return " ".join([*words, *(f"*{suffix}" for suffix in self.suffixes)])

    def files_of(self, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """Those of `paths` that it is given by name, and whether these are all."""
        wanted = sorted(path for path in paths if self.suffixes and path.endswith(self.suffixes))
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
    ),
    Checker(
        "ty", "ty", ("check", "--output-format", "gitlab", "--exit-zero"), "gitlab", _OURS,
        settings=("ty.toml", "pyproject.toml", *_IGNORED),
    ),
    Checker(
        "basedpyright", "basedpyright", ("--outputjson",), "pyright", unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"),
    ),
    Checker(
        "pyright", "pyright", ("--outputjson",), "pyright", unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"),
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
    ),
    Checker(
        "biome", "biome", ("lint", "--reporter=rdjson"), "rdjson", _PROJECT,
        settings=("**/biome.json", "**/biome.jsonc", *_IGNORED),
    ),
    Checker("oxlint", "oxlint", ("-f", "json"), "oxlint", _PROJECT,
            settings=("**/.oxlintrc.json", ".eslintignore", *_IGNORED)),
    Checker(
        "cargo", "cargo", ("check", "--message-format", "json", "--offline", "--all-targets"), "cargo", ("path",),
        exits=(0, 101), settings=(
            "**/Cargo.toml", "Cargo.lock", "**/build.rs", "**/.cargo/*", "rust-toolchain", "rust-toolchain.toml",
        ), hides=_ANY,
    ),
    Checker(
        "gopls", "gopls", ("check",), "placed", ("path",), ("version",), unit="utf-8", suffixes=(".go",),
        settings=("**/go.mod", "go.sum", "go.work"), hides=_ANY,
    ),
    Checker(
        "go-vet", "go", ("vet", "./..."), "placed", ("path",), ("version",), exits=(0, 1, 2), unit="utf-8",
        settings=("**/go.mod", "go.sum", "go.work"), instead_of=("gopls",), together=True,
        hides=_ANY,
    ),
    Checker("shellcheck", "shellcheck", ("-f", "json1"), "shellcheck", suffixes=(".sh", ".bash"),
            settings=("**/.shellcheckrc", "**/shellcheckrc"), hides=r"SC1\d{3}"),
    Checker(
        "bash", "bash", ("-c", 'for file; do bash -n "$file"; done; exit 0', "bash"), "bash", ("path",),
        suffixes=(".sh", ".bash"), together=True, shown=("bash", "-n"),
    ),
)  # fmt: skip
"""In the order in which they are run and told of."""


def sets_up(checker: Checker, path: str, texts: Iterable[str]) -> bool:
    """Whether a change of `path` changes what `checker` looks for; `texts` are what the file holds on either side. One
    that many share counts where it speaks of the checker."""
    if not any(_is_named(path, setting) for setting in checker.settings):
        return False
    words = (checker.name, "typescript") if checker.name == "tsc" else (checker.name,)
    shared = PurePosixPath(path).name in _SHARED_SETTINGS
    return not shared or any(word in text for text in texts for word in words)


def _is_named(path: str, setting: str) -> bool:
    if setting.startswith(_ANYWHERE):
        return fnmatchcase(f"/{path}", f"*/{setting.removeprefix(_ANYWHERE)}")
    return path == setting


def choose(
    paths: Collection[str], read: ReadBase, named: Collection[str] | None = None
) -> tuple[Checker, ...]:
    """Those for a repository whose base commit holds `paths`; of them only the ones `named`, where policy names any."""
    wanted = set(_wanted(set(paths), read))
    found = tuple(checker for checker in CHECKERS if checker.name in wanted)
    if named is not None:
        found = tuple(checker for checker in found if checker.name in named)
    return tuple(_as_configured(checker, set(paths), read) for checker in found)


def _wanted(paths: set[str], read: ReadBase) -> Iterator[str]:
    suffixes = {PurePosixPath(path).suffix for path in paths}
    if suffixes & {".py", ".pyi"}:
        yield from ("ruff", "ty", "python-syntax")
        yield from _configured_types(paths, read)
    if "tsconfig.json" in paths:
        yield "tsc"
    if paths & {"biome.json", "biome.jsonc"}:
        yield "biome"
    if ".oxlintrc.json" in paths:
        yield "oxlint"
    if "Cargo.toml" in paths:
        yield "cargo"
    if "go.mod" in paths:
        yield from ("gopls", "go-vet")
    if suffixes & {".sh", ".bash"}:
        yield from ("shellcheck", "bash")


def _configured_types(paths: set[str], read: ReadBase) -> Iterator[str]:
    project = (read("pyproject.toml") or "") if "pyproject.toml" in paths else ""
    if _section(project, "tool.basedpyright"):
        yield "basedpyright"
    elif "pyrightconfig.json" in paths or _section(project, "tool.pyright"):
        yield "pyright"
    if (
        paths & {"mypy.ini", ".mypy.ini"}
        or _section(project, "tool.mypy")
        or _section(_setup(paths, read), "mypy")
    ):
        yield "mypy"


def _as_configured(checker: Checker, paths: set[str], read: ReadBase) -> Checker:
    if checker.name == "ruff" and not _configures_ruff(paths, read):
        # Without a configuration it finds hundreds of matters of taste: only what cannot run.
        return replace(checker, arguments=(*checker.arguments, "--select", "E9,F"))
    if checker.name == "mypy" and not _names_files(paths, read):
        return replace(checker, arguments=(*checker.arguments, "."))
    if checker.name == "tsc" and _only_refers(read("tsconfig.json") or ""):
        return replace(checker, arguments=("--build", "--pretty", "false", "--noEmit"))
    return checker


def _configures_ruff(paths: set[str], read: ReadBase) -> bool:
    if paths & {"ruff.toml", ".ruff.toml"}:
        return True
    return "pyproject.toml" in paths and _section(read("pyproject.toml") or "", "tool.ruff")


def _names_files(paths: set[str], read: ReadBase) -> bool:
    texts = [read(name) or "" for name in ("mypy.ini", ".mypy.ini", "pyproject.toml") if name in paths]
    return any(
        re.search(r"(?m)^\s*(?:files|packages|modules)\s*=", text) for text in (*texts, _setup(paths, read))
    )


def _only_refers(config: str) -> bool:
    """A tsconfig.json that has no files of its own, only projects that it refers to."""
    try:
        value = json.loads(config)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("files") == [] and bool(value.get("references"))


def _setup(paths: set[str], read: ReadBase) -> str:
    return (read("setup.cfg") or "") if "setup.cfg" in paths else ""


def _section(text: str, name: str) -> bool:
    return re.search(rf"(?m)^\s*\[+\s*{re.escape(name)}[\].-]", text) is not None
