"""The checkers for Python, and their output."""

import re
from collections.abc import Iterator, Mapping
from posixpath import join

from bot.ecosystems.checker import (
    CONSIDERED,
    ERROR,
    IGNORED,
    OURS,
    SETTINGS,
    WARNING,
    Checker,
    Files,
    Find,
    Form,
    FormError,
    above,
    beside,
    by_key,
    by_line,
    entries,
    everywhere,
    folders_with,
    has_settings,
    parsed,
    table,
)
from bot.ecosystems.language_server import Launch, Server
from bot.ecosystems.program_search import Place


def _ruff(output: str) -> Iterator[Find]:
    for entry in entries(parsed(output)):
        start = table(entry, "location")
        code = str(entry.get("code") or "invalid-syntax")
        # What has no rule's name, or the one for it, is a syntax error: code that cannot be run. Errors of pycodestyle
        # and pyflakes are no matter of style, except those about unused names.
        grave = re.match(r"(?:invalid|syntax)-|E9|F(?![A-Z])(?!40[135]$|541$|811$|84[12]$)", code)
        yield Find(
            entry.get("filename"), start.get("row"), start.get("column"), ERROR if grave else WARNING, code,
            entry.get("message"),
        )  # fmt: skip


_pyright = by_key(
    "generalDiagnostics", "file range.start.line range.start.character severity rule message", first=0
)
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


def _ty_projects(checker: Checker, files: Files) -> Iterator[Checker]:
    """Yield the folders with Python files of their own, and the root for the other files."""
    folders = folders_with(files, SETTINGS["ty"])
    known = {"", *folders}
    python = (path for path in files.paths if path.endswith(_SUFFIXES))
    owners = {next(folder for folder in above(path) if folder in known) for path in python}
    for project in beside(checker, folders if "" in folders else ["", *folders]):
        if project.folder in owners:
            yield project


def _ruff_projects(checker: Checker, files: Files) -> Iterator[Checker]:
    """ruff reads settings of nested folders itself. Without any it reports only errors that keep code from running."""
    select = "" if _configured(checker.name, files) else " --select E9,F"
    for project in everywhere(checker._replace(suffixes=_SUFFIXES), files):
        yield project._replace(suffixes=(), arguments=checker.arguments + select)


def _configured_projects(checker: Checker, files: Files) -> Iterator[Checker]:
    return beside(checker, _configured(checker.name, files))


def _mypy_projects(checker: Checker, files: Files) -> Iterator[Checker]:
    for project in _configured_projects(checker, files):
        texts = [files.text(join(project.folder, file)) or "" for file in SETTINGS["mypy"].split()]
        named = any(re.search(r"(?m)^\s*(?:files|packages|modules)\s*=", text) for text in texts)
        yield project if named else project._replace(arguments=f"{project.arguments} .")


def _configured(name: str, files: Files) -> list[str]:
    """Return the folders with settings of the tool; basedpyright's are also pyright's."""
    folders = folders_with(files, SETTINGS[name])[:CONSIDERED]
    other = "basedpyright" if name == "pyright" else ""
    return [
        folder
        for folder in folders
        if has_settings(name, folder, files.text) and not has_settings(other, folder, files.text)
    ]


_PYRIGHT = Checker(
    "pyright",
    "--outputjson",
    form="pyright",
    unit="utf-16",
    settings=SETTINGS["pyright"],
    projects=_configured_projects,
)
CHECKERS: tuple[Checker, ...] = (
    Checker(
        "ruff",
        "check --no-cache --output-format json",
        OURS,
        settings=f"**/ruff.toml **/.ruff.toml **/pyproject.toml {IGNORED}",
        hides="invalid-syntax",
        projects=_ruff_projects,
        always=True,
    ),
    Checker(
        "ty",
        "check --output-format concise --exit-zero",
        OURS,
        settings=f"{SETTINGS['ty']} {IGNORED}",
        exclude_option="--exclude=./{}",
        projects=_ty_projects,
        always=True,
    ),
    _PYRIGHT._replace(name="basedpyright"),
    _PYRIGHT,
    Checker(
        "mypy",
        "--cache-dir {tmp}/home/.cache/mypy --show-column-numbers --show-error-codes --no-pretty --hide-error-context "
        "--no-color-output --no-error-summary",
        unit="utf-8",
        settings=SETTINGS["mypy"],
        projects=_mypy_projects,
    ),
)


_FILES = {".py": "python", ".pyi": "python"}
# Syntax errors, misplaced statements, undefined names: reported in any project.
_RUFF_FATAL = ("E9", "F63", "F7", "F82")


def _ty_server(place: Place) -> Launch | str:
    """Only if the project uses it: other projects break its strict rules by the hundred."""
    if not (place.configured or place.uses("ty")):
        return ""
    program = place.program("ty")
    if not program:
        return "it is not installed"
    # ty looks for an environment only beside the settings; several projects may share one above them.
    in_the_project = next((str(folder) for folder in place.environments()), "")
    environment = place.environment.get("VIRTUAL_ENV", "") or in_the_project
    marker = place.above("ty.toml", "pyproject.toml")
    variables = {"VIRTUAL_ENV": environment} if environment else {}
    return Launch((program, "server"), root=marker and marker.parent, variables=variables)


def _ruff_server(place: Place) -> Launch | str:
    program = place.program("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration ruff would enable hundreds of rules that the project does not use.
    select = ["E9", "F"] if place.uses("ruff") else list(_RUFF_FATAL)
    options = None if place.has_settings("ruff") else {"settings": {"lint": {"select": select}}}
    return Launch((program, "server"), options)


SERVERS = (
    Server("ty", _FILES, _ty_server, commands=("ty server",), missing=frozenset({"import-not-found"})),
    Server("ruff", _FILES, _ruff_server, {"RUFF_CACHE_DIR": "{tmp}/ruff"}, ("ruff server",)),
)
