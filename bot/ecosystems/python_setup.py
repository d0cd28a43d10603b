"""The checks that Python manifests suggest, and the install that they need."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence

from bot.ecosystems.checker import table
from bot.ecosystems.record import Files, Setup
from bot.ecosystems.suite_files import named_as_test

VENV = ".venv"
_MANAGERS = ("uv", "poetry", "pdm", "pipenv", "hatch", "tox", "nox")
_GROUPS = ("test", "tests", "testing", "dev", "develop")
# A test that is a function at the top of a module; `test_suite` builds the suite of a unittest module.
_PYTEST = re.compile(r"(?m)^(?:import|from) +pytest\b|^(?:async +)?def +test(?!_suite\b)")
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(requirements|dev|test|tests|testing)[\w-]*\.txt")
_VERSION_TOOLS = {
    "setuptools-scm": (
        r"setuptools[_-]scm|use_scm_version|vcs[_-]versioning|setuptools-git-versioning|source\s*=\s*[\"']scm[\"']"
    ),
    "hatch-vcs": r"hatch-vcs|\[tool\.hatch\.version\][^\[]*source\s*=\s*[\"']vcs",
    "versioneer": r"\bversioneer\b",
    "poetry-dynamic-versioning": "poetry-dynamic-versioning",
    **{name: rf"\b{name.replace('-', '[-_]')}\b" for name in ("versioningit", "dunamai", "flit-scm", "pbr")},
}


def checks(files: Files) -> Iterator[str]:
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
        _PYTEST.search(files.text(name) or "") for name in some
    )


def setup(files: Files, checks: Sequence[str]) -> Setup | None:
    """Return the install, in a virtual environment of the tree."""
    lines = _from_manifests(files, checks)
    if not lines:
        return None
    used = " ".join((*lines, *checks))
    managers = [name for name in _MANAGERS if re.search(rf"(^|[\s&]){name} ", used)]
    first = [f"python -m pip install -q {' '.join(managers)}"] if managers else []
    scm = [_NEWEST_TAG] if version_tools(lambda name: files.text(name) or "") else []
    make = [f"python3 -m venv {VENV}", f". {VENV}/bin/activate"]
    return Setup(" && ".join((*scm, *make, *first, *lines)), ("python",), VENV)


def _from_manifests(files: Files, checks: Sequence[str]) -> list[str]:
    content = table(files.parsed("pyproject.toml", tomllib.loads))
    for lock, command in (
        ("uv.lock", "uv sync --frozen"),
        ("poetry.lock", "poetry install --no-interaction"),
        ("pdm.lock", "pdm sync"),
    ):
        if lock in files.paths:
            return [command]
    if table(content, "tool", "poetry") and not content.get("project"):
        return ["poetry install --no-interaction"]
    groups = [f"--group {name}" for name in table(content, "dependency-groups") if name in _GROUPS]
    extras = [name for name in table(content, "project", "optional-dependencies") if name in _GROUPS]
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


_NEWEST_TAG = (
    'export SETUPTOOLS_SCM_PRETEND_VERSION="$(git describe --tags --abbrev=0 2>/dev/null'
    " | sed 's/^[^0-9]*//')\""
)


def version_tools(read: Callable[[str], str]) -> list[str]:
    text = "\n".join(map(read, ("pyproject.toml", "setup.cfg", "setup.py")))
    return [tool for tool, sign in _VERSION_TOOLS.items() if re.search(sign, text)]
