"""Which files can change what tests report: plug-ins and setup of a test runner, and modules found in its place. Data,
and what reads it; what is named is shown to a reviewer, and nothing is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase

from bot.gate.weakened import Line

CAN_CHANGE = "can change what tests report"

_NAMES = """
    conftest.py sitecustomize.py usercustomize.py *.pth unittest*.py pytest*.py coverage.py _pytest.py
    pytest.ini pytest.toml
    jest.config.* jest.setup.* vitest.config.* vitest.setup.* vitest.workspace.* setuptests.* globalsetup.*
    .mocharc* .taprc ava.config.* karma.conf.* playwright.config.* cypress.config.*
"""
_IN_TESTS = "__init__.py setup.* setup-*.*"
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})
_FOLDERS = frozenset({"_pytest", "node_modules", "site-packages"})
# What a module at the top of the import path must not be called, the standard library apart.
_FRAMEWORKS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "nose", "nose2", "mock", "hypothesis", "xdist"}
)
_TOP = frozenset({"", "src", "lib", *_TEST_FOLDERS})
_LINES = (
    ("cargo.toml", rb"\s*+harness\s*+=\s*+false\b"),
    (
        "package.json",
        rb'\s*+"(?:setupFiles(?:AfterEnv)?|globalSetup|testRunner|testEnvironment|moduleNameMapper|jest|mocha|ava|vitest)"\s*:',
    ),
)
_TEST_MAIN = re.compile(rb"^func\s+TestMain\s*\(", re.MULTILINE)


def runs_tests(path: str, added: Iterable[Line], content: bytes | None, *, is_new: bool) -> str:
    """`CAN_CHANGE` for such a file, "" for any other. `path` is folded to lower case, `content` the new file."""
    *folders, name = path.split("/")
    named = any(fnmatchcase(name, pattern) for pattern in _NAMES.split())
    empty = content is not None and not content.strip()
    in_tests = (
        not empty
        and not _TEST_FOLDERS.isdisjoint(folders)
        and any(fnmatchcase(name, pattern) for pattern in _IN_TESTS.split())
    )
    told = any(
        re.match(pattern, line.text[:300]) for kind, pattern in _LINES if name == kind for line in added
    )
    main = name.endswith("_test.go") and _TEST_MAIN.search(content or b"")
    if (
        named
        or in_tests
        or told
        or main
        or not _FOLDERS.isdisjoint(folders)
        or (is_new and _shadows(folders, name))
    ):
        return CAN_CHANGE
    return ""


def _shadows(folders: list[str], name: str) -> bool:
    """Whether an import of a framework or of the standard library may find this file first."""
    if name == "__init__.py" and folders:
        *folders, module = folders
    else:
        module, _, suffix = name.partition(".")
        if suffix not in ("py", "so", "pyc"):
            return False
    at_top = len(folders) < 2 and (folders[0] if folders else "") in _TOP
    return at_top and module in (sys.stdlib_module_names | _FRAMEWORKS) - _TEST_FOLDERS
