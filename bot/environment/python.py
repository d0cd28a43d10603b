"""Python: collect the installs of CI, tox, nox and `pyproject.toml` in one virtual environment `.venv` for the checks.

The project is always installed in editable mode: otherwise checks would test a copy in `site-packages`, not the change.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.contracts.suite_files import named_as_test
from bot.environment.commands import unwrapped
from bot.environment.detection import Read, Step

VENV = ".venv"
_BIN = f"{VENV}/bin"
_TOOLS = f"{VENV}/tools"
_INSTALLERS = frozenset(
    """
    tox tox-uv tox-gh-actions tox-gh nox poetry hatch pdm uv pipenv virtualenv build twine pip
    setuptools wheel pipx tox-pdm nox-uv codecov pre-commit prek
    """.split()  # noqa: SIM905
)
_SYNC_OPTIONS = frozenset(
    """
    --locked --frozen --all-extras --all-groups --no-default-groups --dev --no-dev --all-packages --no-install-project
    """.split()  # noqa: SIM905
)
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(requirements|dev|test|tests|testing)[\w-]*\.txt")
_GROUPS = ("test", "tests", "testing", "dev", "develop")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(slots=True)
class Requirements:
    """What the environment needs: arguments of pip, and commands of project managers."""

    arguments: list[str] = field(default_factory=list)
    manager: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    def add(self, arguments: Iterable[str], source: str) -> None:
        for argument in arguments:
            if argument not in self.arguments:
                self.arguments.append(argument)
        self._note(source)

    def manage(self, command: str, source: str) -> None:
        if command not in self.manager:
            self.manager.append(command)
        self._note(source)

    def _note(self, source: str) -> None:
        if source not in self.sources:
            self.sources.append(source)

    def __bool__(self) -> bool:
        return bool(self.arguments or self.manager)


def is_python(paths: Collection[str]) -> bool:
    return any(
        name in paths
        for name in ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "Pipfile")
    )


def manifest(read: Read) -> dict[str, Any]:
    return table(read.parsed("pyproject.toml", tomllib.loads))


def table(value: Any, *names: str) -> dict[str, Any]:
    """Return the table under `names`, empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else {}


def installed_by(words: Sequence[str], requirements: Requirements, source: str) -> None:
    """Add the installs of one CI command, without runners such as tox, whose environments are read instead."""
    inner = unwrapped(words)
    program, arguments = inner[0], list(inner[1:])
    if program in ("pip", "pip3") or (program == "uv" and arguments[:2] == ["pip", "install"]):
        requirements.add(pip_arguments(arguments[2 if program == "uv" else 1 :]), source)
    elif program == "uv" and arguments[:1] == ["sync"]:
        requirements.manage(_uv_sync(arguments[1:]), source)
    elif program == "poetry" and "install" in arguments:
        requirements.manage(_poetry(arguments[arguments.index("install") + 1 :]), source)
    elif program == "pdm" and arguments[:1] in (["install"], ["sync"]):
        requirements.manage(_pdm(arguments), source)


def pip_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the relevant arguments of `pip install`, each one word or an option with its value."""
    selected: list[str] = []
    remaining = [
        word
        for word in arguments
        if word not in ("-U", "--upgrade", "-q", "--quiet", "-v", "--system", "--user", "--no-cache-dir")
    ]
    if any(
        word in ("--target", "-t", "--prefix", "--root", "--index-url", "-i", "--extra-index-url")
        for word in remaining
    ):
        return []
    while remaining:
        word = remaining.pop(0)
        if (
            word in ("-r", "--requirement", "-c", "--constraint", "-e", "--editable", "--group", "--python")
            and remaining
        ):
            value = remaining.pop(0)
            if word == "--python":
                continue
            selected.append(
                _editable(value) if word in ("-e", "--editable") else f"{word} {shlex.quote(value)}"
            )
        elif (
            word.startswith("-")
            or re.split(r"[\[=<>~! ]", word)[0].lower() in _INSTALLERS
            or word.endswith((".whl", ".tar.gz"))
        ):
            continue
        elif word.startswith("."):
            selected.append(_editable(word))
        else:
            selected.append(shlex.quote(word))
    return selected


def _editable(target: str) -> str:
    return f"-e {shlex.quote(target)}"


def _uv_sync(arguments: Sequence[str]) -> str:
    selected = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word in ("--group", "--extra", "--package", "--no-group", "--only-group") and remaining:
            selected += [word, remaining.pop(0)]
        elif word in ("--python", "-p") and remaining:
            remaining.pop(0)
        elif word in _SYNC_OPTIONS:
            selected.append(word)
    return shlex.join(("uv", "sync", *selected))


def synced_by_run(words: Sequence[str]) -> str | None:
    """Return the `uv sync` that `uv run OPTIONS` implies, which removes nothing that an earlier one has installed;
    `None` for any other command."""
    if list(words[:2]) != ["uv", "run"]:
        return None
    options, remaining = [], list(words[2:])
    while remaining and remaining[0].startswith("-") and remaining[0] != "--":
        options.append(remaining.pop(0))
        if options[-1] in ("--group", "--extra", "--package", "--python", "-p", "--with") and remaining:
            options.append(remaining.pop(0))
    return f"{_uv_sync(options)} --inexact"


def _poetry(arguments: Sequence[str]) -> str:
    selected = [
        word
        for word in arguments
        if re.fullmatch(r"--(with|without|extras|only|all-extras|no-root|all-groups)(=.*)?|-E|[\w,-]+", word)
    ]
    return shlex.join(("poetry", "install", "--no-interaction", *selected))


def _pdm(arguments: Sequence[str]) -> str:
    selected = [
        word
        for word in arguments[1:]
        if re.fullmatch(r"-d|-G.*|--group(=.*)?|--dev|--no-default|--frozen-lockfile|[\w:,-]+", word)
    ]
    return shlex.join(("pdm", arguments[0], *selected))


def from_manifest(paths: Collection[str], read: Read, requirements: Requirements) -> None:
    """Add what the manifests suggest: the manager of the lock file, else groups, extras and requirements."""
    content = manifest(read)
    if "uv.lock" in paths:
        requirements.manage("uv sync --frozen", source="uv.lock")
        return
    if "poetry.lock" in paths or (table(content, "tool", "poetry") and not content.get("project")):
        requirements.manage("poetry install --no-interaction", source="pyproject.toml")
        return
    if "pdm.lock" in paths:
        requirements.manage("pdm sync", source="pdm.lock")
        return
    groups = [name for name in table(content, "dependency-groups") if str(name) in _GROUPS]
    extras = [name for name in table(content, "project", "optional-dependencies") if str(name) in _GROUPS]
    files = sorted(path for path in paths if _REQUIREMENTS.fullmatch(path) and "doc" not in path)
    arguments = [f"--group {name}" for name in groups] + [f"-r {shlex.quote(name)}" for name in files]
    if "setup.py" in paths or content.get("project") or content.get("build-system"):
        arguments.insert(0, _editable(f".[{','.join(extras)}]" if extras else "."))
    if arguments:
        requirements.add(
            arguments, "pyproject.toml" if "pyproject.toml" in paths else files[0] if files else "setup.py"
        )


def setup_of(requirements: Requirements, version_tool: str) -> Step:
    """Return the step that creates the environment. `version_tool` computes the version from git tags."""
    commands = [_NEWEST_TAG] if re.search(r"scm|vcs", version_tool) else []
    commands.append(f"python3 -m venv {VENV}")
    tools = sorted({command.split()[0] for command in requirements.manager})
    if tools:
        commands += [f"python3 -m venv {_TOOLS}", f"{_TOOLS}/bin/python -m pip install -q {' '.join(tools)}"]
        commands += [_manager_command(command) for command in requirements.manager]
    arguments = requirements.arguments
    if requirements.manager:  # the project is installed by its manager
        arguments = [argument for argument in arguments if not argument.startswith(("-e ", "--group"))]
    if arguments:
        if any(argument.startswith("--group") for argument in arguments):
            commands.append(f"{_BIN}/python -m pip install -q --upgrade pip")
        commands.append(f"{_BIN}/python -m pip install -q {' '.join(arguments)}")
    return Step(" && ".join(commands), "; ".join(requirements.sources[:3]), ("python",), VENV)


def _manager_command(command: str) -> str:
    if command.startswith("uv "):
        return f"UV_PYTHON_DOWNLOADS=never {_TOOLS}/bin/{command} --python {_BIN}/python"
    if command.startswith("poetry "):
        return f"POETRY_VIRTUALENVS_IN_PROJECT=true {_TOOLS}/bin/{command}"
    return f"PDM_IGNORE_SAVED_PYTHON=1 {_TOOLS}/bin/{command}"


_NEWEST_TAG = (
    'export SETUPTOOLS_SCM_PRETEND_VERSION="$(git describe --tags --abbrev=0 2>/dev/null'
    " | sed 's/^[^0-9]*//')\""
)
_VERSION_FROM_GIT = re.compile(
    r"setuptools[_-]scm|hatch-vcs|poetry-dynamic-versioning|versioningit|dunamai|flit[_-]scm|setuptools-git-versioning"
    r"|vcs[_-]versioning|\bpbr\b|source\s*=\s*[\"']scm[\"']"
)


def version_tool(read: Read) -> str:
    """Return the tool that computes the version from git tags, or an empty string."""
    texts = (read(name) or "" for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    return next((match[0] for text in texts if (match := _VERSION_FROM_GIT.search(text))), "")


def plain(words: Sequence[str]) -> tuple[str, ...]:
    """Return a check's words for an environment on PATH, without launchers such as `uv run`."""
    inner = unwrapped(words)
    head = words[0].rpartition("/")[2]
    by_module = "-m" in words and not head.startswith(("uv", "poetry", "pdm", "coverage"))
    if inner[0] == "unittest" or by_module:
        return ("python3", "-m", *inner)
    return inner


def prepared(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return a check's words with the programs of the root's `.venv`, as `folder` reaches it."""
    head, *rest = plain(words)
    program = "python" if head in ("python3", "python") else head
    return (posixpath.relpath(f"/{_BIN}/{program}", f"/{folder}"), *rest)


def fallback_test(paths: Collection[str], read: Read) -> tuple[str, ...] | None:
    """Return the test command that the files suggest: pytest or unittest; `None` if there are no tests."""
    tests = sorted(path for path in paths if path.endswith(".py") and named_as_test(path))
    if not tests:
        return None
    if any(path.rpartition("/")[2] in ("pytest.ini", "conftest.py") for path in paths) or _mentions_pytest(
        tests, read
    ):
        return ("python3", "-m", "pytest", "-q")
    for folder in ("tests", "test"):
        if any(path.startswith(f"{folder}/") for path in tests):
            importable = f"{folder}/__init__.py" in paths
            return ("python3", "-m", "unittest", *(() if importable else ("discover", "-s", folder)))
    return ("python3", "-m", "unittest")


def _mentions_pytest(tests: Sequence[str], read: Read) -> bool:
    named = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt")
    some = tests[:: max(1, len(tests) // 8)][:8]  # each read is a process of git's
    return any("pytest" in (read(name) or "") for name in named) or any(
        "import pytest" in (read(name) or "") for name in some
    )
