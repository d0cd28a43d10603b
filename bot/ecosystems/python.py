"""Python."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.contracts.suite_files import named_as_test
from bot.ecosystems.python_checkers import FORMS
from bot.ecosystems.python_outline import definitions
from bot.ecosystems.python_related import related
from bot.ecosystems.python_tests import RUNNERS
from bot.ecosystems.record import Ecosystem, Files, Launch, Pin, Place, Server, Setup, uses

VENV = ".venv"
_MANAGERS = ("uv", "poetry", "pdm", "pipenv", "hatch", "tox", "nox")
_GROUPS = ("test", "tests", "testing", "dev", "develop")
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(requirements|dev|test|tests|testing)[\w-]*\.txt")
_VERSION_FROM_GIT = re.compile(
    r"setuptools[_-]scm|hatch-vcs|poetry-dynamic-versioning|versioningit|dunamai|flit[_-]scm|setuptools-git-versioning"
    r"|vcs[_-]versioning|\bpbr\b|source\s*=\s*[\"']scm[\"']"
)


def _checks(files: Files) -> Iterator[str]:
    tests = sorted(path for path in files.paths if path.endswith(".py") and named_as_test(path))
    if not tests:
        return
    if any(path.rpartition("/")[2] in ("pytest.ini", "conftest.py") for path in files.paths) or _uses_pytest(
        tests, files
    ):
        yield "python3 -m pytest -q"
        return
    folder = next((one for one in ("tests", "test") if any(path.startswith(f"{one}/") for path in tests)), "")
    start = "" if not folder or f"{folder}/__init__.py" in files.paths else f" discover -s {folder}"
    yield f"python3 -m unittest{start}"


def _uses_pytest(tests: Sequence[str], files: Files) -> bool:
    named = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt")
    some = tests[:: max(1, len(tests) // 8)][:8]  # each read is a process of git's
    return any("pytest" in (files.text(name) or "") for name in named) or any(
        "import pytest" in (files.text(name) or "") for name in some
    )


def _setup(files: Files, checks: Sequence[str]) -> Setup | None:
    """Return the install, in a virtual environment of the tree."""
    lines = _from_manifests(files, checks)
    if not lines:
        return None
    used = " ".join((*lines, *checks))
    managers = [name for name in _MANAGERS if re.search(rf"(^|[\s&]){name} ", used)]
    first = [f"python -m pip install -q {' '.join(managers)}"] if managers else []
    scm = [_NEWEST_TAG] if version_tool(files) else []
    make = [f"python3 -m venv {VENV}", f". {VENV}/bin/activate"]
    return Setup(" && ".join((*scm, *make, *first, *lines)), ("python",), VENV)


def _from_manifests(files: Files, checks: Sequence[str]) -> list[str]:
    content = _table(files.parsed("pyproject.toml", tomllib.loads))
    for lock, command in (
        ("uv.lock", "uv sync --frozen"),
        ("poetry.lock", "poetry install --no-interaction"),
        ("pdm.lock", "pdm sync"),
    ):
        if lock in files.paths:
            return [command]
    if _table(content, "tool", "poetry") and not content.get("project"):
        return ["poetry install --no-interaction"]
    groups = [f"--group {name}" for name in _table(content, "dependency-groups") if name in _GROUPS]
    extras = [name for name in _table(content, "project", "optional-dependencies") if name in _GROUPS]
    wanted = [
        f"-r {shlex.quote(path)}"
        for path in sorted(files.paths)
        if _REQUIREMENTS.fullmatch(path) and "doc" not in path
    ]
    if "setup.py" in files.paths or content.get("project") or content.get("build-system"):
        project = f".[{','.join(extras)}]" if extras else "."
        wanted.insert(0, f"-e {shlex.quote(project)}")
    texts = (
        files.text(name) or "" for name in ("pyproject.toml", "setup.cfg", "setup.py", *_read_by(wanted))
    )
    if any("pytest" in check for check in checks) and not any(
        re.search(r"\bpytest\b", text) for text in texts
    ):
        wanted.append("pytest")
    return [f"python -m pip install -q {' '.join((*wanted, *groups))}"] if wanted or groups else []


def _read_by(wanted: Sequence[str]) -> list[str]:
    return [shlex.split(one)[1] for one in wanted if one.startswith("-r ")]


def _table(value: Any, *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else {}


_NEWEST_TAG = (
    'export SETUPTOOLS_SCM_PRETEND_VERSION="$(git describe --tags --abbrev=0 2>/dev/null'
    " | sed 's/^[^0-9]*//')\""
)


def version_tool(files: Files) -> str:
    """Return the tool that computes the version from git tags, or an empty string."""
    texts = (files.text(name) or "" for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    return next((match[0] for text in texts if (match := _VERSION_FROM_GIT.search(text))), "")


_FILES = {".py": "python", ".pyi": "python"}
# Syntax errors, misplaced statements, undefined names: reported in any project.
_RUFF_FATAL = ("E9", "F63", "F7", "F82")


def _ty(place: Place) -> Launch | str:
    """Only if the project uses it: other projects break its strict rules by the hundred."""
    if not (place.configured or place.uses("ty")):
        return ""
    program = place.bundled("ty") or place.in_project("ty") or place.on_path("ty")
    if not program:
        return "it is not installed"
    # ty looks for an environment only beside the settings; several projects may share one above them.
    in_the_project = next((str(folder) for folder in place.environments()), "")
    environment = place.environment.get("VIRTUAL_ENV", "") or in_the_project
    marker = place.above("ty.toml", "pyproject.toml")
    variables = {"VIRTUAL_ENV": environment} if environment else {}
    return Launch((program, "server"), root=marker and marker.parent, variables=variables)


def _ruff(place: Place) -> Launch | str:
    program = place.bundled("ruff") or place.in_project("ruff") or place.on_path("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration ruff would enable hundreds of rules that the project does not use.
    select = ["E9", "F"] if place.uses("ruff") else list(_RUFF_FATAL)
    options = None if place.has_settings("ruff") else {"settings": {"lint": {"select": select}}}
    return Launch((program, "server"), options)


ECOSYSTEM = Ecosystem(
    name="python",
    manifests=(
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "noxfile.py",
        "Pipfile",
        "requirements.txt",
    ),
    uses=uses(
        NONE="""
            ruff format; pip; black; isort; poetry publish; hatch version; hatch publish; pdm publish;
            uv publish; uv build; coverage report""",
        INSTALL="""
            pip install; uv sync; uv venv; uv tool; uv python; uv pip; uv lock; poetry install; poetry sync;
            poetry config; poetry self; poetry env; poetry lock; pdm install; pdm sync; pdm use; pipenv install;
            pipenv sync; hatch env; rye sync; conda; pipx install; pipx; virtualenv; venv; pip-sync; ensurepip""",
        BUILD="python setup.py; maturin develop; meson-python",
        LINT="""
            black --check; black --diff; isort --check; isort --check-only; isort -c; ruff format --check;
            ruff check; ruff; flake8; pylint; pydocstyle; bandit; vulture; rstcheck; interrogate; ty;
            pycodestyle; pyflakes; djlint""",
        TYPES="mypy; pyright; basedpyright; stubtest; pyrefly; dmypy",
        TESTS="""
            pytest; py.test; unittest; nose2; nbdev-test; nbdev_test; behave; trial; coverage run; tox; nox;
            hatch test; hatch run; molecule test; molecule""",
    ),
    scripts=("tox -e", "tox run -e", "nox -s", "hatch run", "invoke", "poe", "pdm run", "pixi run"),
    launchers=(
        "python -m",
        "uv run",
        "poetry run",
        "pdm run",
        "pipenv run",
        "rye run",
        "uvx",
        "pipx run",
        "coverage run -m",
    ),
    values=frozenset(
        [
            "--with",
            "--group",
            "--extra",
            "--python",
            "-p",
            "--from",
            "--package",
            "--only-group",
            "--directory",
            "--no-group",
            "--env-file",
            "-w",
            "-e",
            "--environment",
            "--source",
        ]
    ),
    runs_no_test=re.compile(
        r"--(collect-only|co|setup-plan|fixtures|notest|listenvs?|list|version|help|install-only|markers)\b"
    ),
    checks=_checks,
    setup=_setup,
    locks=("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "*requirements*.txt", "environment.y*ml"),
    kept=(".local/lib", ".cache/pre-commit"),
    installed=(
        ".cache/pypoetry/virtualenvs",
        ".local/share/virtualenvs",
        ".local/share/pipx",
        ".local/share/uv",
        ".local/bin",
    ),
    packages=("bin", "lib/python3.*/site-packages"),
    suffixes=(".py", ".pyi"),
    test="python3 -m pytest",
    install="python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest",
    egress="python",
    counts=(
        r"(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped.*",
        r"(PASSED|FAILED) \((failures=(?P<failed>\d+), )?(errors=(?P<errors>\d+), )?successes=(?P<passed>\d+)\)",
    ),
    # The caches of pip and uv are written while they are read.
    tools={".pyenv": "PYENV_ROOT", ".local/share/uv/python": "UV_PYTHON_INSTALL_DIR"},
    pins=(
        Pin(
            "pyenv",
            ".python-version",
            ".pyenv/shims",
            ".pyenv/versions",
            "PYENV_VERSION",
            "pyenv install {version}",
        ),
    ),
    offline={"PIP_RETRIES": "0", "UV_OFFLINE": "1"},
    folders=(".venv", "venv", "env", ".conda", ".tox", ".nox"),
    copies="An installed package is not the tree: install it with `pip install -e .`",
    servers=(
        Server("ty", _FILES, _ty, commands=("ty server",), missing=frozenset({"import-not-found"})),
        Server("ruff", _FILES, _ruff, {"RUFF_CACHE_DIR": "{tmp}/ruff"}, ("ruff server",)),
    ),
    runners=RUNNERS,
    forms=FORMS,
    related=related,
    bins=(".venv/bin", "venv/bin"),
    formats={
        "poetry.lock": "TOML",
        "uv.lock": "TOML",
        "pdm.lock": "TOML",
        "pipfile": "TOML",
        "pipfile.lock": "JSON",
    },
    outline=dict.fromkeys((".py", ".pyi"), r"\s*(?:class|def|async\s+def)\s+\w"),
    definitions=definitions,
)
