"""Select the checkers for a commit, and the projects that each checks. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from posixpath import join

from bot.ecosystems.checkers import SETTINGS, has_settings
from bot.evidence.checkers import CHECKERS, Checker
from bot.evidence.projects import (
    CONSIDERED,
    Read,
    above,
    cargo_workspaces,
    folders_with,
    is_in,
    nested,
    own_files,
    topmost,
    typescript_projects,
)

MOST = 8
"""The most projects of one checker. Further ones are listed as skipped."""

_PYTHON = (".py", ".pyi")
_SHELL = (".sh", ".bash")


def choose_checkers(
    paths: Collection[str], read: Read, named: Collection[str] | None = None
) -> tuple[Checker, ...]:
    """Return a checker for each project of a commit with the files `paths`: the first project of each tool, then the
    second of each. `named` are the only tools to use, if the policy names any."""
    selection = _Selection(paths, cache(read))
    numbered = [
        (number, checker)
        for checker_kind in CHECKERS
        if named is None or checker_kind.name in named
        for number, checker in enumerate(selection.projects(checker_kind))
    ]
    return tuple(checker for _, checker in sorted(numbered, key=lambda each: each[0]))


class _Selection:
    def __init__(self, paths: Collection[str], read: Read) -> None:
        self._paths = sorted(paths)
        self._names = set(paths)
        self._read = read

    def projects(self, checker: Checker) -> Iterator[Checker]:
        """Yield the projects of a tool, the most important first."""
        match checker.name:
            case "ruff":
                yield from self._ruff(checker)
            case "ty":
                yield from self._of_python(checker, folders_with(self._paths, *SETTINGS["ty"]))
            case "python-syntax":
                yield from self._of_files(checker, _PYTHON)
            case "basedpyright" | "pyright":
                yield from self._of(checker, self._configured(checker.name))
            case "mypy":
                for project in self._of(checker, self._configured("mypy")):
                    names = self._names_files(project.folder)
                    yield project if names else replace(project, arguments=(*project.arguments, "."))
            case "tsc":
                for folder, file in typescript_projects(self._paths, self._read):
                    own = file == "tsconfig.json"
                    yield replace(checker, folder=folder, file="" if own else file)
            case "biome":
                yield from self._of(checker, topmost(folders_with(self._paths, "biome.json", "biome.jsonc")))
            case "oxlint":
                yield from self._of(checker, topmost(folders_with(self._paths, ".oxlintrc.json")))
            case "eslint":
                yield from self._eslint(checker)
            case "cargo":
                yield from self._of(checker, cargo_workspaces(self._paths, self._read))
            case "gopls" | "go-vet":
                yield from self._of(checker, folders_with(self._paths, "go.mod"))
            case _:
                yield from self._of_files(checker, _SHELL)

    def _ruff(self, checker: Checker) -> Iterator[Checker]:
        """ruff reads settings of nested folders itself, but not with `--select`."""
        configured = self._configured("ruff")
        for project in self._of_python(checker, topmost(configured)):
            if project.folder in configured:
                yield replace(project, excluded_folders=())
            else:
                # Without a configuration, report only errors that keep code from running.
                arguments = (*project.arguments, "--select", "E9,F")
                yield replace(project, arguments=arguments)

    def _eslint(self, checker: Checker) -> Iterator[Checker]:
        projects = {variant.folder: variant for variant in eslint_projects(self._paths, self._read)}
        for variant in self._of(checker, list(projects)):
            project = projects[variant.folder]
            # Each version takes one kind of settings for granted, and most know the other where they are told.
            environment = (("ESLINT_USE_FLAT_CONFIG", "true" if project.flat else "false"),)
            yield replace(
                variant, arguments=(*variant.arguments, *project.arguments), environment=environment
            )

    def _of_python(self, checker: Checker, folders: Collection[str]) -> Iterator[Checker]:
        """Yield the folders with Python files of their own, and the root for the other files."""
        known = {"", *folders}
        python = (path for path in self._paths if path.endswith(_PYTHON))
        owners = {next(folder for folder in above(path) if folder in known) for path in python}
        for project in self._of(checker, folders if "" in folders else ["", *folders]):
            if project.folder in owners:
                yield project

    def _of_files(self, checker: Checker, suffixes: tuple[str, ...]) -> Iterator[Checker]:
        if any(path.endswith(suffixes) for path in self._paths):
            yield checker

    def _of(self, checker: Checker, folders: Collection[str]) -> Iterator[Checker]:
        for number, folder in enumerate(folders):
            yield replace(
                checker,
                folder=folder,
                excluded_folders=nested(folder, folders) if number < CONSIDERED else (),
            )

    def _configured(self, name: str) -> list[str]:
        """Return the folders with settings of the tool."""
        folders = folders_with(self._paths, *SETTINGS[name])[:CONSIDERED]
        return [folder for folder in folders if self._is_configured(name, folder)]

    def _is_configured(self, name: str, folder: str) -> bool:
        if name == "pyright" and has_settings("basedpyright", folder, self._text):
            return False
        return has_settings(name, folder, self._text)

    def _text(self, path: str) -> str | None:
        return self._read(path) if path in self._names else None

    def _names_files(self, folder: str) -> bool:
        files = (join(folder, file) for file in SETTINGS["mypy"])
        texts = [self._read(file) or "" for file in files if file in self._names]
        return any(re.search(r"(?m)^\s*(?:files|packages|modules)\s*=", text) for text in texts)


def limit_projects(
    checkers: Iterable[Checker], changed: Collection[str] = (), most: int = MOST
) -> tuple[Checker, ...]:
    """Return at most `most` projects of each tool, those with changed files first."""
    counts: dict[str, int] = {}
    taken = []
    changed_keys = changed_projects(checkers, changed)
    for checker in sorted(checkers, key=lambda one: one.key not in changed_keys):
        number = counts[checker.name] = counts.get(checker.name, 0) + 1
        if number <= most:
            taken.append(checker)
    return tuple(taken)


def changed_projects(checkers: Iterable[Checker], changed: Collection[str]) -> set[tuple[str, str]]:
    """Return the keys of projects with changed files of their own, without those of nested projects."""
    return {
        checker.key
        for checker in checkers
        if any(is_in(path, checker.folder) for path in changed)
        and own_files(changed, checker.folder, checker.excluded_folders)
    }


FLAT = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))
LEGACY = (".eslintrc", *(f".eslintrc.{ending}" for ending in ("js", "cjs", "yaml", "yml", "json")))

_TYPESCRIPT = ("--ext", ".js,.jsx,.mjs,.cjs,.ts,.tsx,.mts,.cts")
_LAUNCHERS = frozenset({"npx", "cross-env", "yarn", "pnpm", "bunx", "exec", "run"})
_ASSIGNMENT = re.compile(r"\w+=\S*")
_SEPARATOR = re.compile(r"[;&|<>()]+")
_USUAL_SCRIPTS = ("lint", "eslint", "lint:js", "lint:ts", "lint:eslint")
_LONGEST_SCRIPT = 2_000
_LONGEST_WORD = 300

# Options that decide which files and rules apply are kept, those that decide about output are dropped.
_KEPT_OPTIONS = frozenset(
    """
    --no-eslintrc --no-ignore --no-inline-config --no-config-lookup --quiet --report-unused-disable-directives
    """.split()  # noqa: SIM905
)
_KEPT_OPTIONS_WITH_VALUE = frozenset(
    """
    -c --config --ext --ignore-path --ignore-pattern --rulesdir --parser --parser-options --rule --env --global --plugin
    --flag --resolve-plugins-relative-to --report-unused-disable-directives-severity
    """.split()  # noqa: SIM905
)
_DROPPED_OPTIONS = frozenset(
    """
    --fix --fix-dry-run --cache --color --no-color --debug --stats --no-error-on-unmatched-pattern
    --exit-on-fatal-error --no-warn-ignored
    """.split()  # noqa: SIM905
)
_DROPPED_OPTIONS_WITH_VALUE = frozenset(
    """
    --fix-type --cache-location --cache-file --cache-strategy --max-warnings -f --format -o --output-file --concurrency
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class EslintProject:
    """A folder that eslint checks on its own, and the arguments. `flat` tells which of its two configuration systems
    applies."""

    folder: str
    arguments: tuple[str, ...]
    flat: bool


def eslint_projects(paths: Collection[str], read: Read) -> Iterator[EslintProject]:
    """Yield the projects, the most important first. eslint finds legacy settings in nested folders itself."""
    flat = set(folders_with(paths, *FLAT))
    own = set(folders_with(paths, *LEGACY))
    packages = [
        folder
        for folder in folders_with(paths, "package.json")
        if not (flat | own).intersection(_folder_and_parents(folder))
    ]
    own.update(folder for folder in packages[:CONSIDERED] if "eslintConfig" in _manifest(folder, read))
    legacy = set(topmost(folder for folder in own if not flat.intersection(_folder_and_parents(folder))))
    for number, folder in enumerate(folders_with((join(each, "x") for each in flat | legacy), "x")):
        package = _manifest(folder, read) if number < CONSIDERED else {}
        arguments = script_arguments(package)
        if arguments is None and folder in legacy and _reads_typescript(folder, package, paths, read):
            arguments = (*_TYPESCRIPT, ".")
        yield EslintProject(folder, arguments or (".",), folder in flat)


def script_arguments(package: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the arguments of eslint in the scripts of `package.json`, without options that write files; `None` if they
    cannot be determined."""
    scripts = package.get("scripts")
    if not isinstance(scripts, dict):
        return None
    names = [
        *(name for name in _USUAL_SCRIPTS if name in scripts),
        *(name for name in scripts if name not in _USUAL_SCRIPTS),
    ]
    calls = (_eslint_call(scripts[name]) for name in names if isinstance(scripts[name], str))
    return next(filter(None, calls), None)


def _eslint_call(script: str) -> tuple[str, ...] | None:
    """Return the arguments of the calls in a script: the files of all calls with the options of the first."""
    if "eslint" not in script or len(script) > _LONGEST_SCRIPT:
        return None
    commands = _commands(script)
    calls = [_call(words) for words in map(_arguments, commands) if words is not None]
    known = [call for call in calls if call is not None]
    if not known or len(known) < len(calls) or any(command[:1] == ["cd"] for command in commands):
        return None
    options, _ = known[0]
    files = [file for others, paths in known if others == options for file in paths]
    return (*options, *(dict.fromkeys(files) or (".",)))


def _commands(script: str) -> list[list[str]]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if _SEPARATOR.fullmatch(word):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return commands


def _arguments(command: Sequence[str]) -> Sequence[str] | None:
    """Return what follows `eslint` in a command that runs it."""
    for number, word in enumerate(command, 1):
        if word.removeprefix("./").removeprefix("node_modules/.bin/") == "eslint":
            return command[number:]
        if word not in _LAUNCHERS and not _ASSIGNMENT.fullmatch(word):
            return None
    return None


def _call(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return options and files; `None` if one leads out of the folder or needs a shell."""
    words = iter(arguments)
    options: list[str] = []
    files: list[str] = []
    for word in words:
        name, _, value = word.partition("=")
        if len(word) > _LONGEST_WORD or not word.isprintable() or "$" in word or "`" in word:
            return None
        if not word.startswith("-"):
            files.append(word)
        elif name in _KEPT_OPTIONS_WITH_VALUE or name in _DROPPED_OPTIONS_WITH_VALUE:
            option = [word] if value else [word, next(words, "")]
            options += option if name in _KEPT_OPTIONS_WITH_VALUE else []
        elif name in _KEPT_OPTIONS:
            options.append(word)
        elif name not in _DROPPED_OPTIONS:
            return None
    return None if any(_leads_out(word) for word in files) else (tuple(options), tuple(files))


def _leads_out(path: str) -> bool:
    return path.startswith(("/", "~")) or ".." in path.split("/")


def _reads_typescript(folder: str, package: Mapping[str, object], paths: Collection[str], read: Read) -> bool:
    """Whether legacy settings name the parser of TypeScript: by default eslint checks `.js` alone."""
    names = set(paths)
    texts = (read(path) or "" for name in LEGACY if (path := join(folder, name)) in names)
    return any("@typescript-eslint" in text for text in (*texts, str(package.get("eslintConfig"))))


def _manifest(folder: str, read: Read) -> Mapping[str, object]:
    try:
        value = json.loads(read(join(folder, "package.json")) or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _folder_and_parents(folder: str) -> set[str]:
    return {folder, *above(folder)}
