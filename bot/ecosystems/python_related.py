"""The tests of a work tree that are related to changed Python files: changed test files, test files named after a
changed one, and those that import it, directly or through modules of the repository, the nearest first.

Only the import statements are parsed, which takes a tenth of the time; what is not read within the limits is left out.
"""

from __future__ import annotations

import ast
import configparser
import fnmatch
import functools
import os
import re
import textwrap
import time
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from bot.ecosystems.suite_files import named_as_test

_MOST_FILES = 8_000
_MOST_BYTES = 60_000_000
_LARGEST = 400_000
_SECONDS = 15.0
_NEAR = 2
"""Imports between a test and a changed module."""
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+import\b[ \t]*(?:\([^)]{0,8000}\)|(?:[^\n\\]|\\\n)*)|import[ \t]+[^\n]*)",
    re.MULTILINE,
)
_SETTINGS = (
    ("pytest.ini", ("pytest",)),
    ("pyproject.toml", ("tool", "pytest", "ini_options")),
    ("tox.ini", ("pytest",)),
    ("setup.cfg", ("tool:pytest",)),
)
_LEFT_OUT = frozenset(
    {".git", ".venv", "venv", "node_modules", ".tox", ".nox", "site-packages", "__pycache__"}
)


def related(root: Path, changed: Sequence[str]) -> list[str]:
    sources = {path for path in changed if path.endswith(".py")}
    files = list(_python_files(root))
    is_collected = _is_collected(root)
    tests = [path for path in files if named_as_test(path) and (path in sources or is_collected(path))]
    own = [path for path in tests if path in sources]
    below = [path.rpartition("/")[0] for path in sources if path.endswith("conftest.py")]
    near = _distances(Graph(root, files), sources)
    named = [path for path in tests if any(_is_named_after(path, source) for source in sources)]
    importing = sorted(
        (path for path in tests if near.get(path, _NEAR + 1) <= _NEAR),
        key=lambda path: (near[path], -max(len(os.path.commonpath([path, source])) for source in sources)),
    )
    in_folder = [
        path for path in tests if any(not folder or path.startswith(f"{folder}/") for folder in below)
    ]
    return list(dict.fromkeys([*own, *named, *importing, *in_folder]))


def _is_collected(root: Path) -> Callable[[str], bool]:
    """Whether a path is within pytest's setting `testpaths`; without the setting each is."""
    settings = (_test_paths(root / name, *section) for name, section in _SETTINGS)
    patterns = [os.path.normpath(pattern) for pattern in next(filter(None, settings), ())]

    def is_within(path: str) -> bool:
        places = (path, *map(str, PurePosixPath(path).parents))
        return any(fnmatch.fnmatchcase(path, pattern) for path in places for pattern in patterns)

    return is_within if patterns else lambda path: True


def _test_paths(file: Path, *section: str) -> list[str]:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return []
        text = file.read_text("utf-8")
        if file.suffix == ".toml":
            table = functools.reduce(lambda outer, name: outer[name], section, tomllib.loads(text))
            paths = table["testpaths"]
        else:
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            paths = parser.get(section[0], "testpaths")
    except (OSError, ValueError, LookupError, TypeError, RecursionError, configparser.Error):
        return []
    return paths.split() if isinstance(paths, str) else [str(path) for path in paths]


def _is_named_after(test: str, source: str) -> bool:
    """`tests/test_money.py` and `test_money_rounding.py` of `src/money.py`; of a package's `__init__.py` its name."""
    folder, _, name = source.removesuffix(".py").rpartition("/")
    name = folder.rpartition("/")[2] if name == "__init__" else name
    own = test.rpartition("/")[2].removesuffix(".py")
    name = name.lstrip("_")
    return bool(name) and (own in (f"test_{name}", f"{name}_test") or own.startswith(f"test_{name}_"))


def _python_files(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if name not in _LEFT_OUT and not os.path.islink(f"{folder}/{name}")
        )
        for name in sorted(names):
            if name.endswith(".py") and not os.path.islink(f"{folder}/{name}"):
                count += 1
                if count > _MOST_FILES:
                    return
                yield os.path.relpath(f"{folder}/{name}", root)


class Graph:
    """Who imports which file of the repository."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self._root = root
        self._files = tuple(files)
        self._by_module: dict[str, str] = {}
        packages = {path.rpartition("/")[0] for path in self._files if path.endswith("__init__.py")}
        for path in self._files:
            for module in _module_names(path, packages):
                self._by_module.setdefault(module, path)
        self._packages = packages
        self.importers: dict[str, set[str]] = {}
        self._read()

    def _read(self) -> None:
        """Read the imports of all files, those of tests last: they need the modules between them and the changed
        ones."""
        until, left = time.monotonic() + _SECONDS, _MOST_BYTES
        for path in sorted(self._files, key=named_as_test):
            try:
                size = os.path.getsize(self._root / path)
                is_file = os.path.isfile(self._root / path)  # to open a named pipe would wait for a writer
                if not is_file or size > _LARGEST or size > left or time.monotonic() > until:
                    continue
                left -= size
                content = (self._root / path).read_bytes()
            except OSError:
                continue
            for module in _imports(content, self._package_of(path)):
                if (target := self._resolved(module)) and target != path:
                    self.importers.setdefault(target, set()).add(path)

    def _resolved(self, module: str) -> str:
        """`a.b.c` is the file `a/b/c.py`, or `a/b.py` that has a `c` in it."""
        return self._by_module.get(module) or self._by_module.get(module.rpartition(".")[0], "")

    def _package_of(self, path: str) -> str:
        """Where its relative imports begin."""
        names = _module_names(path, self._packages)
        own = next(iter(names), "")
        return own if path.endswith("__init__.py") else own.rpartition(".")[0]


def _module_names(path: str, packages: set[str]) -> list[str]:
    """Its names relative to the top of its package, to the root (folders without `__init__.py` can be packages), and to
    `src` or `lib`."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    top = len(parts) if path.endswith("__init__.py") else len(parts) - 1
    while top and "/".join(parts[:top]) in packages:
        top -= 1
    names = (
        ".".join(parts[top:]),
        ".".join(parts),
        ".".join(parts[1:]) if parts[:1] in (["src"], ["lib"]) else "",
    )
    return [name for name in dict.fromkeys(names) if name]


def _statements(content: bytes) -> Iterator[ast.AST]:
    """The import statements, including lines of a string that look like one."""
    for match in _IMPORT.finditer(content):
        try:
            yield from ast.parse(textwrap.dedent(match[0].decode("utf-8", "replace")).strip()).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def _imports(content: bytes, package: str) -> Iterator[str]:
    for node in _statements(content):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".") if package else []
            parents = above[: len(above) - node.level + 1] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{name.name}" for name in node.names)


def _distances(graph: Graph, sources: Iterable[str]) -> dict[str, int]:
    """How many imports each file is away from the nearest of `sources`."""
    distances = dict.fromkeys(sources, 0)
    due = deque(distances)
    while due:
        path = due.popleft()
        # A package's `__init__.py` re-exports what it imports, so that it does not count as a step.
        step = 0 if path.endswith("__init__.py") and distances[path] else 1
        for importer in sorted(graph.importers.get(path, ())):
            if importer not in distances and distances[path] + step <= _NEAR:
                distances[importer] = distances[path] + step
                (due.append if step else due.appendleft)(importer)
    return distances
