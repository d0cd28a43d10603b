"""Which language servers there are, as data: for which files, how each is started, what has to be there for it. To add
one, describe it in `SERVERS`, and name it in `bot/contracts/servers.py`."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os.path import isdir, isfile  # those of `Path` raise where a folder may not be entered
from pathlib import Path, PurePosixPath

_NAMED_IN = (
    "pyproject.toml", ".pre-commit-config.yaml", "setup.cfg", "tox.ini", "noxfile.py", "Makefile", "justfile",
    "requirements-dev.txt", "dev-requirements.txt", "package.json",
)  # fmt: skip
"""Files in which a project names the tools that it uses."""

_RUFF_FATAL = ("E9", "F63", "F7", "F82")
"""Syntax errors, misplaced statements, undefined names: the model is told of these in any project."""

_PYTHON = {".py": "python", ".pyi": "python"}
_SCRIPT = {
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
}  # fmt: skip
_C = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
}  # fmt: skip
_GO = {".go": "go"}
_RUST = {".rs": "rust"}

_TSC_SPEAKS = 7
"""From this version on TypeScript's own compiler is a language server."""

_TSSERVER_FILES = ("tsserver", "tsc", "_tsserver", "_tsc", "typescript", "tsserverlibrary")
"""The files of an older one that run: its server, its compiler, and what these load."""

TSSERVER = (
    "--useInferredProjectPerProjectRoot", "--disableAutomaticTypingAcquisition", "--suppressDiagnosticEvents",
    "--locale", "en",
)  # fmt: skip

_CARGO_RUNS = ("build.rs", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
"""What cargo runs, or is told there to run."""

_ENVIRONMENTS = (".venv", "venv")
_SMALL_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is looked for. `programs` are those of ours, by name; `folder` is that of the file in question.
    `chosen` is there in the place of every program, where policy names one."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    programs: Mapping[str, str]
    chosen: str = ""

    def ours(self, name: str) -> str:
        return self.chosen or self.programs.get(name, "")

    def of_project(self, name: str) -> str:
        """In `node_modules/.bin` next to the file or above it, or in the project's virtual environment."""
        if self.chosen:
            return self.chosen
        for folder in self.folders():
            if _runs(path := folder / "node_modules" / ".bin" / name):
                return str(path)
        return self._of_environment(name)

    def anywhere(self, name: str) -> str:
        return self.of_project(name) or self.on_path(name)

    def above(self, *names: str) -> Path | None:
        """The first of these files in the folder of the file or above it, within the tree."""
        return next((f / name for f in self.folders() for name in names if isfile(f / name)), None)

    def topmost(self, *names: str) -> Path | None:
        """The last of them: where the settings of a folder add to those above it."""
        found = [path for folder in self.folders() for name in names if isfile(path := folder / name)]
        return found[-1] if found else None

    def folders(self) -> Iterator[Path]:
        folder = self.folder if self.folder.is_relative_to(self.root) else self.root
        yield folder
        while folder != self.root:
            folder = folder.parent
            yield folder

    def on_path(self, name: str) -> str:
        if self.chosen:
            return self.chosen
        places = (Path(folder, name) for folder in self.environment.get("PATH", "").split(":") if folder)
        return next((str(path) for path in places if _runs(path)), "")

    def environments(self) -> Iterator[Path]:
        """Virtual ones, the nearest first."""
        found = (folder / name for folder in self.folders() for name in _ENVIRONMENTS)
        yield from (folder for folder in found if isdir(folder))
        if named := self.environment.get("VIRTUAL_ENV", ""):
            yield Path(named)

    def _of_environment(self, name: str) -> str:
        places = (str(place / "bin" / name) for place in self.environments())
        return next((place for place in places if _runs(Path(place))), "")


@dataclass(frozen=True, slots=True)
class Start:
    """How one is started here. `asks` is the command line that names its version; `runs` are files of the project whose
    code it runs; `root` is the folder of the project, the repository's where none is said; `variables` are set beside
    those that it always has. `tsserver`: it is TypeScript's own before version 7, which speaks no common language."""

    argv: tuple[str, ...]
    asks: tuple[str, ...]
    options: object = None
    settings: Mapping[str, object] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    root: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    tsserver: bool = False


Find = Callable[[Place], "Start | str"]
"""How it is started at a place; else why not, as a clause for people; empty where it has no business there."""


@dataclass(frozen=True, slots=True)
class Known:
    """`files` maps the ends of names to the protocol's names of languages. `variables` are set for it; in them
    `{tmp}` is a folder outside the tree."""

    name: str
    files: Mapping[str, str]
    find: Find
    variables: Mapping[str, str] = field(default_factory=dict)

    def language(self, path: str) -> str:
        return self.files.get(PurePosixPath(path).suffix.lower(), "")


def _ty(place: Place) -> Start | str:
    """Only where the project uses it: its rules are strict, and others' code breaks them by the hundred."""
    if not (place.chosen or _configures(place, "ty") or uses(place, "ty")):
        return ""
    program = place.ours("ty") or place.anywhere("ty")
    if not program:
        return "it is not installed"
    # It looks for an environment beside the settings alone, and several projects may share the one above them.
    named = place.environment.get("VIRTUAL_ENV", "")
    whole = (str(folder) for folder in place.environments() if isfile(folder / "pyvenv.cfg"))
    found = named or next(whole, "")
    variables = {"VIRTUAL_ENV": found} if found else {}
    root = _folder_of(place.above("ty.toml", "pyproject.toml"))
    return Start((program, "server"), (program, "--version"), root=root, variables=variables)


def _ruff(place: Place) -> Start | str:
    program = place.ours("ruff") or place.anywhere("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration it would enable hundreds of rules that nobody here asked for.
    select = ["E9", "F"] if uses(place, "ruff") else list(_RUFF_FATAL)
    options = None if _configures(place, "ruff") else {"settings": {"lint": {"select": select}}}
    return Start((program, "server"), (program, "--version"), options)


def _configures(place: Place, tool: str) -> bool:
    """They go up by themselves, over a pyproject.toml that says nothing of them."""
    if place.above(f"{tool}.toml", f".{tool}.toml"):
        return True
    return any(f"[tool.{tool}" in _read(folder / "pyproject.toml") for folder in place.folders())


def uses(place: Place, tool: str) -> bool:
    """Whether the project names the tool among those that it works with."""
    files = (folder / name for folder in place.folders() for name in _NAMED_IN)
    word = re.compile(rf"(?<![\w./-]){re.escape(tool)}(?![\w-])")
    return any(word.search(_read(file)) for file in files)


def _typescript(place: Place) -> Start | str:
    own = place.above("node_modules/typescript/package.json")
    version = _version(own) if own else ""
    compiler = place.of_project("tsc") if own else place.anywhere("tsc")
    if compiler and (not version or _major(version) >= _TSC_SPEAKS):
        return Start((compiler, "--lsp", "--stdio"), (compiler, "--version"))
    if own:
        return _tsserver(own.parent / "lib", place.on_path("node"))
    return "there is no TypeScript in node_modules or on PATH"


def _tsserver(library: Path, node: str) -> Start | str:
    """The options are for one that a policy names in its place."""
    if not node:
        return "there is no node on PATH, which the project's TypeScript needs"
    files = [str(library / f"{name}.js") for name in _TSSERVER_FILES]
    return Start(
        (node, files[0], *TSSERVER),
        (node, files[1], "--version"),
        {"tsserver": {"path": str(library)}, "disableAutomaticTypingAcquisition": True},
        runs=tuple(path for path in files if isfile(path)),
        tsserver=True,
    )


def _gopls(place: Place) -> Start | str:
    root = _folder_of(place.above("go.work") or place.above("go.mod"))
    if root is None:
        return "there is no go.mod"
    program = place.on_path("gopls")
    return Start((program,), (program, "version"), root=root) if program else "it is not installed"


def _clangd(place: Place) -> Start | str:
    found = place.above("compile_commands.json", "build/compile_commands.json")
    if found is None:
        return "there is no compile_commands.json"
    program = place.anywhere("clangd")
    argv = (program, "--background-index=false", f"--compile-commands-dir={found.parent}")
    return Start(argv, (program, "--version")) if program else "it is not installed"


def _biome(place: Place) -> Start | str:
    root = _folder_of(place.topmost("biome.json", "biome.jsonc"))
    if root is None:
        return ""
    program = place.anywhere("biome")
    return (
        Start((program, "lsp-proxy"), (program, "--version"), root=root) if program else "it is not installed"
    )


def _oxlint(place: Place) -> Start | str:
    root = _folder_of(place.topmost(".oxlintrc.json", ".oxlintrc.jsonc"))
    if root is None:
        return ""
    program = place.anywhere("oxlint")
    return Start((program, "--lsp"), (program, "--version"), root=root) if program else "it is not installed"


def _cargo(place: Place) -> Start | str:
    if not place.above("Cargo.toml"):
        return "there is no Cargo.toml"
    root = _folder_of(place.above("Cargo.lock"))  # of a workspace it is at the top
    if root is None:
        return "there is no Cargo.lock, and cargo would write one"
    program = place.on_path("cargo")
    runs = tuple(str(found) for name in _CARGO_RUNS if (found := place.above(name)))
    return (
        Start((program,), (program, "--version"), runs=runs, root=root) if program else "it is not installed"
    )


SERVERS: tuple[Known, ...] = (
    Known("ty", _PYTHON, _ty),
    Known("ruff", _PYTHON, _ruff, {"RUFF_CACHE_DIR": "{tmp}/ruff"}),
    Known("typescript", _SCRIPT, _typescript),
    Known(
        "gopls",
        _GO,
        _gopls,
        # Nothing is fetched, no other toolchain chosen by the repository, go.mod and go.sum left as they are.
        {
            "GOFLAGS": "-mod=readonly",
            "GOTOOLCHAIN": "local",
            "GOTELEMETRY": "off",
            "GOPROXY": "off",
            "GOCACHE": "{tmp}/go",
        },
    ),
    Known("clangd", _C, _clangd),
    Known("biome", _SCRIPT, _biome),
    Known("oxlint", _SCRIPT, _oxlint),
    Known("cargo", _RUST, _cargo, {"CARGO_TARGET_DIR": "{tmp}/cargo-target", "CARGO_NET_OFFLINE": "true"}),
)


_SHELL_ENDS = (".sh", ".bash")
_RUN_BY_SHELL = re.compile(r"#![ \t]*\S*/(?:env[ \t]+(?:-S[ \t]+)?)?(?:ba|da)?sh\b")

PARSED: Mapping[str, tuple[str, ...]] = {
    "python": (".py", ".pyi"),
    "json": (".json",),
    "toml": (".toml",),
    "yaml": (".yml", ".yaml"),
    "shellcheck": _SHELL_ENDS,
    "bash": _SHELL_ENDS,
}
"""For which files what is no server is run (`parsers.py`). Of the shell are also those whose first line says so."""

_INTERESTING = frozenset(end for known in SERVERS for end in known.files) | frozenset(
    sum(PARSED.values(), ())
)


def of_interest(path: str) -> bool:
    """Whether anything here looks at a file of this name."""
    return PurePosixPath(path).suffix.lower() in _INTERESTING


def may_be_script(path: str) -> bool:
    """Whether only its text can say whether anything here looks at it."""
    name = PurePosixPath(path).name
    return "." not in name


def is_shell(path: str, text: str) -> bool:
    """By its first line, where that says what runs it; else by its name."""
    if text.startswith("#!"):
        named = may_be_script(path) or PurePosixPath(path).suffix.lower() in _SHELL_ENDS
        return named and _RUN_BY_SHELL.match(text) is not None
    return PurePosixPath(path).suffix.lower() in _SHELL_ENDS


def commanded(command: str, found: Start | str) -> Start | str:
    """The start that a policy names in place of the usual one, whose options it keeps."""
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        return f"its command in the policy is none: {error}"
    if not argv:
        return "its command in the policy is empty"
    usual = found if isinstance(found, Start) else Start((), ())
    return replace(usual, tsserver=False, argv=argv, asks=(argv[0], "--version"))


def _version(package: Path) -> str:
    try:
        found = json.loads(_read(package)).get("version", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdigit() and len(first) < 5 else 0


def _folder_of(path: Path | None) -> Path | None:
    return path.parent if path else None


def _read(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_SMALL_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


def _runs(path: Path) -> bool:
    return os.access(path, os.X_OK) and isfile(path)
