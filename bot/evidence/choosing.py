"""Which checkers are for the repository at hand, and for which folders of it, by what a commit of it has. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from posixpath import join

from bot.evidence.checkers import CHECKERS, Checker
from bot.evidence.eslint import linted
from bot.evidence.projects import (
    CONSIDERED,
    Read,
    above,
    folders_with,
    is_in,
    nested,
    own_files,
    topmost,
    typescripts,
    workspaces,
)

MOST = 8
"""Projects that one checker looks at; those beyond are named."""

_PYTHON = (".py", ".pyi")
_SHELL = (".sh", ".bash")
_SETTINGS = {
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "ty": ("ty.toml", "pyproject.toml"),
    "pyright": ("pyrightconfig.json", "pyproject.toml"),
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
}


def choose(paths: Collection[str], read: Read, named: Collection[str] | None = None) -> tuple[Checker, ...]:
    """Those for a commit that holds `paths`, one for each project that is looked at by itself: the first of each tool
    first, then the second of each. Of them only the ones `named`, where policy names any."""
    wanted = _Wanted(paths, cache(read))
    found = [
        (number, checker)
        for place in CHECKERS
        if named is None or place.name in named
        for number, checker in enumerate(wanted.projects(place))
    ]
    return tuple(checker for _, checker in sorted(found, key=lambda each: each[0]))


class _Wanted:
    def __init__(self, paths: Collection[str], read: Read) -> None:
        self._paths = sorted(paths)
        self._names = set(paths)
        self._read = read

    def projects(self, checker: Checker) -> Iterator[Checker]:
        """The most telling first."""
        match checker.name:
            case "ruff":
                yield from self._ruff(checker)
            case "ty":
                configured = self._configured("ty")
                for one in self._of_python(checker, folders_with(self._paths, *_SETTINGS["ty"])):
                    yield replace(one, configured=one.folder in configured)
            case "python-syntax":
                yield from self._of_files(checker, _PYTHON)
            case "basedpyright" | "pyright":
                yield from self._of(checker, self._configured(checker.name))
            case "mypy":
                for one in self._of(checker, self._configured("mypy")):
                    names = self._names_files(one.folder)
                    yield one if names else replace(one, arguments=(*one.arguments, "."))
            case "tsc":
                for folder, file in typescripts(self._paths, self._read):
                    own = file == "tsconfig.json"
                    yield replace(checker, folder=folder, file="" if own else file)
            case "biome":
                yield from self._of(checker, topmost(folders_with(self._paths, "biome.json", "biome.jsonc")))
            case "oxlint":
                yield from self._of(checker, topmost(folders_with(self._paths, ".oxlintrc.json")))
            case "eslint":
                yield from self._eslint(checker)
            case "cargo":
                yield from self._of(checker, workspaces(self._paths, self._read))
            case "gopls" | "go-vet":
                yield from self._of(checker, folders_with(self._paths, "go.mod"))
            case _:
                yield from self._of_files(checker, _SHELL)

    def _ruff(self, checker: Checker) -> Iterator[Checker]:
        """It finds settings within folders by itself, but not where we say what to look for."""
        configured = self._configured("ruff")
        for one in self._of_python(checker, topmost(configured)):
            if one.folder in configured:
                yield replace(one, apart=())
            else:
                # Without a configuration it finds hundreds of matters of taste: only what cannot run.
                arguments = (*one.arguments, "--select", "E9,F")
                yield replace(one, arguments=arguments, configured=False)

    def _eslint(self, checker: Checker) -> Iterator[Checker]:
        found = {one.folder: one for one in linted(self._paths, self._read)}
        for one in self._of(checker, list(found)):
            its = found[one.folder]
            # Each version takes one kind of settings for granted, and most know the other where they are told.
            told = (("ESLINT_USE_FLAT_CONFIG", "true" if its.flat else "false"),)
            yield replace(one, arguments=(*one.arguments, *its.arguments), environment=told)

    def _of_python(self, checker: Checker, folders: Collection[str]) -> Iterator[Checker]:
        """The folders that have Python of their own, and the top for what is in none of them."""
        known = {"", *folders}
        python = (path for path in self._paths if path.endswith(_PYTHON))
        owners = {next(folder for folder in above(path) if folder in known) for path in python}
        for one in self._of(checker, folders if "" in folders else ["", *folders]):
            if one.folder in owners:
                yield one

    def _of_files(self, checker: Checker, suffixes: tuple[str, ...]) -> Iterator[Checker]:
        if any(path.endswith(suffixes) for path in self._paths):
            yield checker

    def _of(self, checker: Checker, folders: Collection[str]) -> Iterator[Checker]:
        for number, folder in enumerate(folders):
            yield replace(
                checker, folder=folder, apart=nested(folder, folders) if number < CONSIDERED else ()
            )

    def _configured(self, name: str) -> list[str]:
        """The folders in which there are settings of it."""
        files = _SETTINGS["pyright" if name == "basedpyright" else name]
        found = folders_with(self._paths, *files)[:CONSIDERED]
        return [folder for folder in found if self._is_configured(name, folder)]

    def _is_configured(self, name: str, folder: str) -> bool:
        def has(*files: str) -> bool:
            return any(join(folder, file) in self._names for file in files)

        def section(file: str, title: str) -> bool:
            return has(file) and _section(self._read(join(folder, file)) or "", title)

        if name == "ty":
            return has("ty.toml") or section("pyproject.toml", "tool.ty")
        if name == "ruff":
            return has("ruff.toml", ".ruff.toml") or section("pyproject.toml", "tool.ruff")
        if name == "mypy":
            own = has("mypy.ini", ".mypy.ini") or section("pyproject.toml", "tool.mypy")
            return own or section("setup.cfg", "mypy")
        based = section("pyproject.toml", "tool.basedpyright")
        if name == "basedpyright":
            return based
        return not based and (has("pyrightconfig.json") or section("pyproject.toml", "tool.pyright"))

    def _names_files(self, folder: str) -> bool:
        files = (join(folder, file) for file in _SETTINGS["mypy"])
        texts = [self._read(file) or "" for file in files if file in self._names]
        return any(re.search(r"(?m)^\s*(?:files|packages|modules)\s*=", text) for text in texts)


def _section(text: str, name: str) -> bool:
    return re.search(rf"(?m)^\s*\[+\s*{re.escape(name)}[\].-]", text) is not None


def first_of_each(
    checkers: Iterable[Checker], changed: Collection[str] = (), most: int = MOST
) -> tuple[Checker, ...]:
    """At most so many projects of each tool, those that hold a changed file first."""
    found: dict[str, int] = {}
    taken = []
    holding = holders(checkers, changed)
    for checker in sorted(checkers, key=lambda one: one.key not in holding):
        number = found[checker.name] = found.get(checker.name, 0) + 1
        if number <= most:
            taken.append(checker)
    return tuple(taken)


def holders(checkers: Iterable[Checker], changed: Collection[str]) -> set[tuple[str, str]]:
    """By their keys, the ones whose projects hold a changed file. One in a folder within belongs to that one."""
    return {
        one.key
        for one in checkers
        if any(is_in(path, one.folder) for path in changed) and own_files(changed, one.folder, one.apart)
    }
