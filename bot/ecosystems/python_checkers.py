"""The checkers for Python, and their output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import join

from bot.ecosystems.checker import CONSIDERED, IGNORED, OURS, Checker, Tree, above, beside, everywhere
from bot.ecosystems.checker_output import (
    ERROR,
    WARNING,
    Find,
    Form,
    FormError,
    by_line,
    entries,
    from_one,
    mapping,
    parsed,
)
from bot.ecosystems.checkers import SETTINGS, has_settings


def _ruff(output: str) -> Iterator[Find]:
    for entry in entries(parsed(output)):
        start = mapping(entry.get("location"))
        # What has no rule's name, or the one for it, is a syntax error: code that cannot be run.
        severity = WARNING if _is_style(entry.get("code")) else ERROR
        yield Find(
            entry.get("filename"), start.get("row"), start.get("column"), severity,
            entry.get("code") or "invalid-syntax", entry.get("message"),
        )  # fmt: skip


def _is_style(code: object) -> bool:
    """Whether the rule is about style. Errors of pycodestyle and pyflakes are not, except those about unused names."""
    if not isinstance(code, str) or code in ("invalid-syntax", "syntax-error"):
        return False
    return not re.match(r"E9|F(?![A-Z])", code) or code in (
        "F401",
        "F403",
        "F405",
        "F541",
        "F811",
        "F841",
        "F842",
    )


def _pyright(output: str) -> Iterator[Find]:
    for entry in entries(mapping(parsed(output)).get("generalDiagnostics")):
        start = mapping(mapping(entry.get("range")).get("start"))
        severity = entry.get("severity")
        if severity in (ERROR, WARNING):
            yield Find(
                entry.get("file"), from_one(start.get("line")), from_one(start.get("character")), str(severity),
                entry.get("rule") or "", entry.get("message"),
            )  # fmt: skip


_mypy = by_line(
    r"(?P<path>[^\s:][^:\n]*):(?P<line>\d{1,9}):(?:(?P<column>\d{1,9}):)? (?P<severity>error|warning): "
    r"(?P<message>.*?)(?:  \[(?P<code>[\w-]{1,60})\])?$"
)
_ty_lines = by_line(
    r"(?P<path>[^\s:][^:\n]*):(?P<line>\d{1,9}):(?P<column>\d{1,9}): (?P<severity>error|warning)"
    r"\[(?P<code>[\w-]{1,60})\] (?P<message>.*)$"
)


def _ty(output: str) -> Iterator[Find]:
    """Without its last line it did not end."""
    if not re.search(r"^(?:All checks passed!|Found \d+ diagnostics?)$", output, re.MULTILINE):
        raise FormError("its output has no end")
    return _ty_lines(output)


FORMS: Mapping[str, Form] = {"mypy": _mypy, "pyright": _pyright, "ruff": _ruff, "ty": _ty}


_SUFFIXES = (".py", ".pyi")


def _of_python(checker: Checker, tree: Tree, folders: Sequence[str]) -> Iterator[Checker]:
    """Yield the folders with Python files of their own, and the root for the other files."""
    known = {"", *folders}
    python = (path for path in tree.paths if path.endswith(_SUFFIXES))
    owners = {next(folder for folder in above(path) if folder in known) for path in python}
    for project in beside(checker, folders if "" in folders else ["", *folders]):
        if project.folder in owners:
            yield project


def _ruff_projects(checker: Checker, tree: Tree) -> Iterator[Checker]:
    """ruff reads settings of nested folders itself. Without any it reports only errors that keep code from running."""
    select = () if _configured(checker.name, tree) else ("--select", "E9,F")
    for project in everywhere(replace(checker, suffixes=_SUFFIXES), tree):
        yield replace(project, suffixes=(), arguments=(*checker.arguments, *select))


def _ty_projects(checker: Checker, tree: Tree) -> Iterator[Checker]:
    return _of_python(checker, tree, tree.folders_with(*SETTINGS["ty"]))


def _configured_projects(checker: Checker, tree: Tree) -> Iterator[Checker]:
    return beside(checker, _configured(checker.name, tree))


def _mypy_projects(checker: Checker, tree: Tree) -> Iterator[Checker]:
    for project in _configured_projects(checker, tree):
        texts = [tree.text(join(project.folder, file)) or "" for file in SETTINGS["mypy"]]
        named = any(re.search(r"(?m)^\s*(?:files|packages|modules)\s*=", text) for text in texts)
        yield project if named else replace(project, arguments=(*project.arguments, "."))


def _configured(name: str, tree: Tree) -> list[str]:
    """Return the folders with settings of the tool; basedpyright's are also pyright's."""
    folders = tree.folders_with(*SETTINGS[name])[:CONSIDERED]
    other = "basedpyright" if name == "pyright" else ""
    return [
        folder
        for folder in folders
        if has_settings(name, folder, tree.text) and not has_settings(other, folder, tree.text)
    ]


def _pyright_checker(program: str) -> Checker:
    return Checker(
        program,
        program,
        ("--outputjson",),
        "pyright",
        unit="utf-16",
        settings=("pyrightconfig.json", "pyproject.toml"),
        projects=_configured_projects,
    )


CHECKERS: tuple[Checker, ...] = (
    Checker(
        "ruff",
        "ruff",
        ("check", "--no-cache", "--output-format", "json"),
        "ruff",
        OURS,
        settings=("**/ruff.toml", "**/.ruff.toml", "**/pyproject.toml", *IGNORED),
        hides="invalid-syntax",
        projects=_ruff_projects,
        always=True,
    ),
    Checker(
        "ty",
        "ty",
        ("check", "--output-format", "concise", "--exit-zero"),
        "ty",
        OURS,
        settings=("ty.toml", "pyproject.toml", *IGNORED),
        exclude_option="--exclude=./{}",
        projects=_ty_projects,
        always=True,
    ),
    *map(_pyright_checker, ("basedpyright", "pyright")),
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
        projects=_mypy_projects,
    ),
)
