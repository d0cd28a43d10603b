"""`Checker`: a program that checks a whole project, and how the projects of a commit are found. Pure; texts of files
are read only if needed."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname, join
from typing import Any, NamedTuple

Read = Callable[[str], str | None]
"""Returns the text of a file at the commit, or `None` if there is none."""

CONSIDERED = 60
"""The most folders of each kind whose settings are read. A repository may have thousands."""

_VENDORED = frozenset(["node_modules", "vendor", "testdata", ".venv", "venv", "site-packages", ".git"])
_SECONDARY = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|fixtures?|mocks?|examples?|samples?|templates?|e2e|bench\w*|docs?)(?:$|[/_.-])"
)
# Folders are excluded by patterns or comma-separated lists: other characters could exclude more.
_PLAIN = re.compile(r"[\w./@+ -]+")
_MOST_FILES = 2_000
_MOST_BYTES = 500_000
ANY = ".*"
"""For compilers, whose errors depend on how far they get."""

OURS = ("ours", "project", "path")
PROJECT = ("project",)
PATH = ("path",)
IGNORED = "**/.gitignore **/.ignore"


Table = Mapping[str, Any]
Names = tuple[str, ...]


def table(data: Any, *keys: str) -> dict[str, Any]:
    """Return the table at `keys`, an empty one if the value is no table."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return dict(data) if isinstance(data, Mapping) else {}


class Files(NamedTuple):
    """The files of one commit. `text` returns the text of a file, `parsed` what a function makes of it, as values of
    JSON: the repository's, which may be anything. Both return `None` if there is none, or if it cannot be parsed."""

    paths: Collection[str]
    text: Read
    parsed: Callable[[str, Callable[[str], Any]], Any]


def folders_with(files: Files, names: str) -> list[str]:
    """Return the folders with one of these files that are not vendored, the most important first; the root is empty."""
    wanted = names.split()
    folders = {dirname(path) for path in files.paths if basename(path) in wanted}
    return ranked(folder for folder in folders if not _VENDORED & set(folder.split("/")))


def ranked(folders: Iterable[str]) -> list[str]:
    return sorted(folders, key=lambda folder: (bool(_SECONDARY.search(folder)), len(above(folder)), folder))


def is_in(path: str, folder: str) -> bool:
    """Whether `path` is in `folder` or is that folder."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def above(path: str) -> list[str]:
    """Return the parent folders of a path, the nearest first and the root last."""
    parents = []
    while path:
        path = dirname(path)
        parents.append(path)
    return parents


def topmost(folders: Iterable[str]) -> list[str]:
    """Return the folders that are in no other."""
    all_folders = list(folders)
    others = set(all_folders)
    return [folder for folder in all_folders if not others.intersection(above(folder))]


def own_files(paths: Iterable[str], folder: str, apart: Collection[str]) -> list[str]:
    """Return the files of a project, relative to its folder."""
    others = set(apart)
    return [
        path.removeprefix(f"{folder}/")
        for path in paths
        if is_in(path, folder) and not (others and others.intersection(above(path)))
    ]


def everywhere(checker: Checker, files: Files) -> Iterator[Checker]:
    """Yield the checker once, if there is a file for it."""
    if any(path.endswith(checker.suffixes) for path in files.paths):
        yield checker


def beside(checker: Checker, folders: Sequence[str]) -> Iterator[Checker]:
    """Yield the checker for each of `folders`, without the topmost of those inside."""
    for number, folder in enumerate(folders):
        inside = [other for other in folders if other != folder and is_in(other, folder)]
        excluded = sorted(topmost(inside)) if number < CONSIDERED else ()
        yield checker._replace(folder=folder, excluded_folders=tuple(excluded))


Projects = Callable[["Checker", Files], Iterator["Checker"]]


def topmost_with(names: str) -> Projects:
    """For a checker that finds the settings of nested folders by itself."""
    return lambda checker, files: beside(checker, topmost(folders_with(files, names)))


def each_with(names: str) -> Projects:
    return lambda checker, files: beside(checker, folders_with(files, names))


class Checker(NamedTuple):
    """A program that checks a project, and how to run it.

    `arguments` are as in a shell. `program` is searched in the order of `where` by
    `bot/toolhost/tools/problems_of.py`, `form` names the format of its output; both are its name by default.
    `exits` are the exit codes of a complete run, `unit` is the unit of its columns if not code points. With
    `suffixes` it receives the files that end so. `settings` are the files that configure it, or say what it
    excludes; with `**/` in every folder. An error whose code matches `hides` hides others. `display_command` is the
    command for people.

    `projects` yields its projects of a commit, the most important first, which are defined by a `manifest` if it has
    one. `known_as` are the names in settings, its own if there are none. It runs `always`, or only where the project
    uses it.

    `folder` is the project, empty for the repository. `file` is its configuration if that is not the usual one, and
    replaces the last argument. `excluded_folders` are nested projects, which the option `exclude_option` excludes."""

    name: str
    arguments: str
    where: Names = ("project", "path")
    program: str = ""
    form: str = ""
    version: Names = ("--version",)
    exits: tuple[int, ...] = (0, 1)
    unit: str = ""
    suffixes: Names = ()
    settings: str = ""
    together: bool = False
    hides: str = ""
    display_command: str = ""
    exclude_option: str = ""
    projects: Projects = everywhere
    manifest: str = ""
    known_as: Names = ()
    always: bool = False
    folder: str = ""
    file: str = ""
    excluded_folders: Names = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.name, self.project)

    @property
    def project(self) -> str:
        """The project, relative to the repository: its folder, or the file in it that makes it one."""
        return join(self.folder, self.file) if self.file else self.folder

    @property
    def full_arguments(self) -> Names:
        """All arguments: with the configuration file and the excluded folders."""
        arguments = shlex.split(self.arguments)
        if self.file:
            arguments[-1] = self.file
        excluded = filter(_PLAIN.fullmatch, self.excluded_folders if self.exclude_option else ())
        return (
            *arguments,
            *(self.exclude_option.format(folder.removeprefix(f"{self.folder}/")) for folder in excluded),
        )

    @property
    def command(self) -> str:
        """The command for people."""
        words = self.display_command or f"{self.program or self.name} {self.arguments}"
        return " ".join([words, *(f"*{suffix}" for suffix in self.suffixes)])

    def files_of(self, paths: Iterable[str]) -> tuple[Names, bool]:
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


SETTINGS = {
    "ruff": "ruff.toml .ruff.toml pyproject.toml",
    "ty": "ty.toml pyproject.toml",
    "basedpyright": "pyproject.toml",
    "pyright": "pyrightconfig.json pyproject.toml",
    "mypy": "mypy.ini .mypy.ini pyproject.toml setup.cfg",
}
_SECTIONS = {"pyproject.toml": "tool.{}", "setup.cfg": "{}"}
"""The checker's section, in files that configure other programs too."""

_TOOL_LISTS = """
    pyproject.toml .pre-commit-config.yaml setup.cfg tox.ini noxfile.py Makefile justfile requirements-dev.txt
    dev-requirements.txt package.json""".split()  # noqa: SIM905


def uses_checker(checker: str, folders: Iterable[str], read: Read) -> bool:
    """Whether one of `folders` (those from a file up to the root) has settings for `checker` or names it as a tool."""
    word = re.compile(rf"(?<![\w./-]){re.escape(checker)}(?![\w-])")
    return any(
        has_settings(checker, folder, read)
        or any(word.search(read(join(folder, file)) or "") for file in _TOOL_LISTS)
        for folder in folders
    )


def has_settings(checker: str, folder: str, read: Read) -> bool:
    """Whether `folder` itself has settings for `checker`."""
    for file in SETTINGS.get(checker, "").split():
        text, section = read(join(folder, file)), _SECTIONS.get(file, "").format(checker)
        begin = rf"(?m)^\s*\[+\s*{re.escape(section)}[\].-]" if section else ""
        if text is not None and re.search(begin, text):
            return True
    return False


def sets_up(checker: Checker, path: str, texts: Iterable[str]) -> bool:
    """Whether a change of `path` configures `checker`. `texts` are the file's contents before and after. A shared file
    counts if it mentions the checker, `pyproject.toml` if the checker's settings differ."""
    if not any(_is_setting(path, setting, checker.folder) for setting in checker.settings.split()):
        return False
    name = basename(path)
    if name == "pyproject.toml":
        before, after = (_pyproject_settings(text, checker.name) for text in texts)
        return before != after
    names = checker.known_as or (checker.name,)
    is_own = name not in ("setup.cfg", "package.json")
    return is_own or any(word in text for text in texts for word in names)


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
    if not is_in(folder, parent) and not (setting.startswith("**/") and is_in(path, folder)):
        return False
    if setting.startswith("**/"):
        return fnmatchcase(f"/{path}", setting[1:])
    return fnmatchcase(path, f"*/{setting}") or path == setting if folder else path == setting


ERROR, WARNING = "error", "warning"


class FormError(ValueError):
    """The output does not have the checker's format."""


class Find(NamedTuple):
    """One entry of a checker's output, not validated yet. Lines and columns begin at 1."""

    path: object
    line: object
    column: object
    severity: str
    code: object
    message: object


Form = Callable[[str], Iterator[Find]]


def parsed(text: str) -> object:
    """Raises `FormError`, also for an empty output: it is not an empty list."""
    try:
        return json.loads(text)
    except RecursionError:
        raise FormError("its output is nested too deeply") from None
    except ValueError:
        raise FormError("its output is not JSON") from None


def entries(value: object) -> list[Table]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise FormError("its output is no list of problems")
    return value


def number_of(value: object) -> int:
    return value if type(value) is int else 0


def by_key(entries_at: str, keys: str, prefix: str = "", first: int = 1) -> Form:
    """Return the reader of JSON with a list of problems at a key. In each of them `keys` lead to path, line, column,
    severity, code and message: names and numbers with dots. The code gets a `prefix`; numbers count from `first`."""

    def read(output: str) -> Iterator[Find]:
        for entry in entries(table(parsed(output)).get(entries_at)):
            path, line, column, severity, code, message = (_value_at(entry, key) for key in keys.split())
            level = str(severity or ERROR).lower()
            # A message without a path is about the run: a file that is too large to check.
            if level in (ERROR, WARNING) and path is not None:
                line, column = (one + 1 - first if type(one) is int else 0 for one in (line, column))
                yield Find(path, line, column, level, f"{prefix}{code or ''}"[:80], message)

    return read


def _value_at(value: object, key: str) -> object:
    for name in key.split("."):
        if isinstance(value, list):
            value = value[int(name)] if name.isdecimal() and len(value) > int(name) else None
        else:
            value = table(value).get(name)
    return value


def by_line(pattern: str) -> Form:
    """Return the reader of an output with one problem a line. `pattern` has the groups `path`, `line` and `message`,
    and may have `column`, `severity` and `code`."""
    expression = re.compile(pattern)

    def read(output: str) -> Iterator[Find]:
        for match in filter(None, map(expression.match, output.splitlines())):
            one = {"column": None, "severity": ERROR, "code": "", **match.groupdict(default="")}
            line, column = int(one["line"] or 0), int(one["column"] or 0)
            yield Find(one["path"], line, column, str(one["severity"]), one["code"], one["message"])

    return read
