"""The supported language servers as data: their files, their commands, and what each needs. To add one, describe it in
`SERVERS` and name it in `bot/contracts/checkers.py`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os.path import isdir, isfile  # those of `Path` raise where a folder may not be entered
from pathlib import Path, PurePosixPath

from bot.contracts.checkers import has_settings, uses_checker
from bot.toolhost import syntax

_RUFF_FATAL = ("E9", "F63", "F7", "F82")
"""Syntax errors, misplaced statements, undefined names: reported in any project."""

_PYTHON = {".py": "python", ".pyi": "python"}
_SCRIPT = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
}
_C = {".c": "c", ".h": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp")}
_GO = {".go": "go"}
_RUST = {".rs": "rust"}

_FIRST_TSC_WITH_LSP = 7
"""From this major version on the compiler of TypeScript is a language server."""

_TSSERVER_FILES = ("tsserver", "_tsserver", "typescript", "tsserverlibrary")
"""What `typescript-language-server` executes of an older one."""

_CARGO_RUNS = (".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
"""Where cargo reads what to execute."""

_RUST_OPTIONS = {
    "checkOnSave": False,
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
}
"""No code of the project is run."""

_ENVIRONMENTS = (".venv", "venv")
_SMALL_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Location:
    """Where programs and settings of a file are searched. `programs` are bundled ones, by name; `folder` is that of
    the file. `configured` replaces every program where the policy names one."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    programs: Mapping[str, str]
    configured: str = ""

    def bundled(self, name: str) -> str:
        return self.configured or self.programs.get(name, "")

    def in_project(self, name: str) -> str:
        """In the nearest `node_modules/.bin` at or above the folder, or in the project's virtual environment."""
        if self.configured:
            return self.configured
        for folder in self.folders():
            if _is_executable(path := folder / "node_modules" / ".bin" / name):
                return str(path)
        paths = (folder / "bin" / name for folder in self.environments())
        return next((str(path) for path in paths if _is_executable(path)), "")

    def anywhere(self, name: str) -> str:
        return self.in_project(name) or self.on_path(name)

    def above(self, *names: str) -> Path | None:
        """The nearest of these files in the folder or above it, within the tree."""
        return next((f / name for f in self.folders() for name in names if isfile(f / name)), None)

    def topmost(self, *names: str) -> Path | None:
        """The topmost of them, for settings that add to those above."""
        paths = [path for folder in self.folders() for name in names if isfile(path := folder / name)]
        return paths[-1] if paths else None

    def folders(self) -> Iterator[Path]:
        folder = self.folder if self.folder.is_relative_to(self.root) else self.root
        yield folder
        while folder != self.root:
            folder = folder.parent
            yield folder

    def uses(self, checker: str) -> bool:
        """Whether the project uses it, by the same rule as at the end of the run."""
        return uses_checker(checker, self._folder_names(), self._text)

    def has_settings(self, checker: str) -> bool:
        """The search skips a pyproject.toml without settings of the checker."""
        return any(has_settings(checker, folder, self._text) for folder in self._folder_names())

    def _folder_names(self) -> Iterator[str]:
        return (str(folder.relative_to(self.root)) for folder in self.folders())

    def _text(self, path: str) -> str | None:
        file = self.root / path
        return _read(file) if isfile(file) else None

    def on_path(self, name: str) -> str:
        if self.configured:
            return self.configured
        paths = (Path(folder, name) for folder in self.environment.get("PATH", "").split(":") if folder)
        return next((str(path) for path in paths if _is_executable(path)), "")

    def environments(self) -> Iterator[Path]:
        """Folders of virtual environments, the nearest first."""
        folders = (folder / name for folder in self.folders() for name in _ENVIRONMENTS)
        yield from (folder for folder in folders if isdir(folder))
        if active := self.environment.get("VIRTUAL_ENV", ""):
            yield Path(active)


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """The command line of a server. `options` go with `initialize`; `runs` are files of the project that it executes;
    `root` is the project's folder, the repository's where it is None; `variables` are added to its environment."""

    argv: tuple[str, ...]
    options: object = None
    runs: tuple[str, ...] = ()
    root: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


Find = Callable[[Location], "LaunchCommand | str"]
"""The command at a location; else a clause that says why there is none; empty if the project does not use it."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """`files` maps suffixes to language ids of the protocol. In `variables` of its environment `{tmp}` is a folder
    outside the tree."""

    name: str
    files: Mapping[str, str]
    find: Find
    variables: Mapping[str, str] = field(default_factory=dict)

    def language(self, path: str) -> str:
        return self.files.get(PurePosixPath(path).suffix.lower(), "")


def _ty(location: Location) -> LaunchCommand | str:
    """Only if the project uses it: other projects break its strict rules by the hundred."""
    if not (location.configured or location.uses("ty")):
        return ""
    program = location.bundled("ty") or location.anywhere("ty")
    if not program:
        return "it is not installed"
    # ty looks for an environment only beside the settings; several projects may share one above them.
    active = location.environment.get("VIRTUAL_ENV", "")
    environments = (str(folder) for folder in location.environments() if isfile(folder / "pyvenv.cfg"))
    environment = active or next(environments, "")
    variables = {"VIRTUAL_ENV": environment} if environment else {}
    marker = location.above("ty.toml", "pyproject.toml")
    return LaunchCommand((program, "server"), root=marker and marker.parent, variables=variables)


def _ruff(location: Location) -> LaunchCommand | str:
    program = location.bundled("ruff") or location.anywhere("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration ruff would enable hundreds of rules that the project does not use.
    select = ["E9", "F"] if location.uses("ruff") else list(_RUFF_FATAL)
    options = None if location.has_settings("ruff") else {"settings": {"lint": {"select": select}}}
    return LaunchCommand((program, "server"), options)


def _typescript(location: Location) -> LaunchCommand | str:
    own = location.above("node_modules/typescript/package.json")
    version = _version(own) if own else ""
    compiler = location.in_project("tsc") if own else ""
    if compiler and _major(version) >= _FIRST_TSC_WITH_LSP:
        return LaunchCommand((compiler, "--lsp", "--stdio"))
    program = location.anywhere("typescript-language-server")
    if not program:
        return "there is neither TypeScript 7 in node_modules nor typescript-language-server"
    library = own.parent / "lib" if own else None
    files = [str(library / f"{name}.js") for name in _TSSERVER_FILES] if library else []
    options = {"tsserver": {"path": str(library)}} if library else {}
    return LaunchCommand(
        (program, "--stdio"),
        {**options, "disableAutomaticTypingAcquisition": True},
        runs=tuple(filter(isfile, files)),
    )


def _with(
    marker: Callable[[Location], Path | None],
    missing: str,
    name: str,
    *arguments: str,
    on_path: bool = False,
    options: object = None,
    runs: Iterable[str] = (),
) -> Find:
    """A server for projects with a file, its root the folder of that file, `{root}` in its arguments. `missing` is why
    there is none without. `on_path`: it is never the project's own."""

    def find(location: Location) -> LaunchCommand | str:
        path = marker(location)
        if path is None:
            return missing
        program = location.on_path(name) if on_path else location.anywhere(name)
        if not program:
            return "it is not installed"
        words = (argument.replace("{root}", str(path.parent)) for argument in arguments)
        executed = tuple(str(found) for own in runs if (found := location.above(own)))
        return LaunchCommand((program, *words), options, executed, path.parent)

    return find


SERVERS: tuple[ServerSpec, ...] = (
    ServerSpec("ty", _PYTHON, _ty),
    ServerSpec("ruff", _PYTHON, _ruff, {"RUFF_CACHE_DIR": "{tmp}/ruff"}),
    ServerSpec("typescript", _SCRIPT, _typescript),
    ServerSpec(
        "gopls",
        _GO,
        _with(
            lambda location: location.above("go.work") or location.above("go.mod"),
            "there is no go.mod",
            "gopls",
            on_path=True,
        ),
        # No download, no toolchain chosen by the repository, no change of go.mod and go.sum.
        {
            "GOFLAGS": "-mod=readonly",
            "GOTOOLCHAIN": "local",
            "GOTELEMETRY": "off",
            "GOPROXY": "off",
            "GOCACHE": "{tmp}/go",
        },
    ),
    ServerSpec(
        "clangd",
        _C,
        _with(
            lambda location: location.above("compile_commands.json", "build/compile_commands.json"),
            "there is no compile_commands.json",
            "clangd",
            "--background-index=false",
            "--compile-commands-dir={root}",
        ),
    ),
    ServerSpec(
        "biome",
        _SCRIPT,
        _with(lambda location: location.topmost("biome.json", "biome.jsonc"), "", "biome", "lsp-proxy"),
    ),
    ServerSpec(
        "oxlint",
        _SCRIPT,
        _with(lambda location: location.topmost(".oxlintrc.json", ".oxlintrc.jsonc"), "", "oxlint", "--lsp"),
    ),
    ServerSpec(
        "rust-analyzer",
        _RUST,
        _with(
            lambda location: location.above("Cargo.lock"),  # of a workspace it is at the top
            "there is no Cargo.lock, and cargo would write one",
            "rust-analyzer",
            on_path=True,
            options=_RUST_OPTIONS,
            runs=_CARGO_RUNS,
        ),
        {"CARGO_TARGET_DIR": "{tmp}/cargo-target", "CARGO_NET_OFFLINE": "true"},
    ),
)


_SUFFIXES = frozenset(suffix for known in SERVERS for suffix in known.files)


def is_checked(path: str) -> bool:
    """Whether a server or parser takes a file of this name."""
    name = PurePosixPath(path)
    return name.suffix.lower() in _SUFFIXES or syntax.language(name) != ""


def replace_command(command: str, usual: LaunchCommand | str) -> LaunchCommand | str:
    """The command of the policy with the options of the usual one."""
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        return f"its command in the policy is none: {error}"
    if not argv:
        return "its command in the policy is empty"
    return replace(usual if isinstance(usual, LaunchCommand) else LaunchCommand(()), argv=argv)


def _version(package: Path) -> str:
    try:
        version = json.loads(_read(package)).get("version", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return version if isinstance(version, str) else ""


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdigit() and len(first) < 5 else 0


def _read(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_SMALL_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


def _is_executable(path: Path) -> bool:
    return os.access(path, os.X_OK) and isfile(path)
