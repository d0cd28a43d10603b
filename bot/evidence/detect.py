"""The obvious checks of a repository whose policy names none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

DEFAULT_TIMEOUT = 600.0
_NPM_PLACEHOLDER = "no test specified"
# Each read is a process of git's before the first request, and a repository may hold thousands of tests.
_TESTS_READ = 8

ReadBase = Callable[[str], str | None]
"""The text of a file at the base commit, or `None` where there is none (or it is not text)."""


@dataclass(frozen=True, slots=True)
class Check:
    """A command whose exit code is evidence. `timeout` is in seconds. `junit` and `coverage` are where it leaves its
    reports, paths or patterns in the tree, where policy says so."""

    name: str
    command: str
    timeout: float = DEFAULT_TIMEOUT
    detected: bool = False
    junit: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()


def detect_checks(paths: Iterable[str], read: ReadBase) -> tuple[Check, ...]:
    """Checks that the files at the base commit suggest, in a fixed order; empty where nothing is obvious."""
    names = set(paths)
    found = [
        _python(names, read),
        _npm(names, read),
        Check("go test", "go test ./...", detected=True) if "go.mod" in names else None,
        Check("cargo test", "cargo test", detected=True) if "Cargo.toml" in names else None,
    ]
    checks = tuple(check for check in found if check is not None)
    return checks or tuple(check for check in [_make(names, read)] if check is not None)


def _python(names: set[str], read: ReadBase) -> Check | None:
    if not any(_is_python_test(name) for name in names):
        return None
    if _mentions_pytest(names, read):
        return Check("pytest", "python3 -m pytest -q", detected=True)
    return Check("unittest", _unittest(names), detected=True)


def _unittest(names: set[str]) -> str:
    """Discovery looks into packages only: a folder of tests that is none must be named."""
    for folder in ("tests", "test"):
        if any(name.startswith(f"{folder}/") and _is_python_test(name) for name in names):
            importable = f"{folder}/__init__.py" in names
            return "python3 -m unittest" if importable else f"python3 -m unittest discover -s {folder}"
    return "python3 -m unittest"


def _is_python_test(name: str) -> bool:
    file = name.rpartition("/")[2]
    return file.endswith(".py") and (file.startswith("test_") or file.endswith("_test.py"))


def _mentions_pytest(names: set[str], read: ReadBase) -> bool:
    if any(name.rpartition("/")[2] in ("pytest.ini", "conftest.py") for name in names):
        return True
    for name in ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt"):
        if name in names and "pytest" in (read(name) or ""):
            return True
    tests = sorted(name for name in names if _is_python_test(name))
    some = tests[:: max(1, len(tests) // _TESTS_READ)][:_TESTS_READ]
    return any("import pytest" in (read(name) or "") for name in some)


def _npm(names: set[str], read: ReadBase) -> Check | None:
    if "package.json" not in names:
        return None
    try:
        manifest = json.loads(read("package.json") or "")
    except (ValueError, RecursionError):
        return None
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or _NPM_PLACEHOLDER in script:
        return None
    return Check("npm test", "npm test --silent", detected=True)


def _make(names: set[str], read: ReadBase) -> Check | None:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        if name in names and any(line.startswith("test:") for line in (read(name) or "").splitlines()):
            return Check("make test", "make test", detected=True)
    return None
