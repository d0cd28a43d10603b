"""The tests of a work tree that are related to changed Python files: changed test files, test files named after a
changed one, and those that import it, also through the `__init__.py` of its packages.

Only the import statements are parsed, which takes a tenth of the time; what is not read within the limits is left out.
"""

import ast
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from posixpath import basename, dirname

from bot.contracts.regular_files import read_regular
from bot.ecosystems.checker import is_in
from bot.ecosystems.test_files import named_as_test

_MOST_FILES = 8_000
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+import\b[ \t]*(?:\([^)]{0,8000}\)|(?:[^\n\\]|\\\n)*)|import[ \t]+[^\n]*)",
    re.MULTILINE,
)
_LEFT_OUT = frozenset(
    {".git", ".venv", "venv", "node_modules", ".tox", ".nox", "site-packages", "__pycache__"}
)


def related(root: Path, changed: Sequence[str]) -> list[str]:
    sources = {path for path in changed if path.endswith(".py")}
    files = list(islice(_python_files(root), _MOST_FILES))
    tests = [path for path in files if named_as_test(path)]
    own = [path for path in tests if path in sources]
    below = [dirname(path) for path in sources if path.endswith("conftest.py")]
    named = [path for path in tests if any(_is_named_after(path, source) for source in sources)]
    importing = sorted(
        _importing(root, files, tests, sources),
        key=lambda path: -max(len(os.path.commonpath([path, source])) for source in sources),
    )
    in_folder = [path for path in tests if any(is_in(path, folder) for folder in below)]
    return list(dict.fromkeys([*own, *named, *importing, *in_folder]))


def _is_named_after(test: str, source: str) -> bool:
    """`tests/test_money.py` and `test_money_rounding.py` of `src/money.py`; of a package's `__init__.py` its name."""
    folder, _, name = source.removesuffix(".py").rpartition("/")
    name = basename(folder) if name == "__init__" else name
    own = basename(test).removesuffix(".py")
    name = name.lstrip("_")
    return bool(name) and (own in (f"test_{name}", f"{name}_test") or own.startswith(f"test_{name}_"))


def _python_files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            if name.endswith(".py") and not os.path.islink(f"{folder}/{name}"):
                yield os.path.relpath(f"{folder}/{name}", root)


def _importing(
    root: Path, files: Iterable[str], tests: Iterable[str], sources: Collection[str]
) -> Iterator[str]:
    """Yield the tests that import one of `sources`, or a package whose `__init__.py` imports it."""
    packages = {dirname(path) for path in files if path.endswith("__init__.py")}
    wanted = {name for path in sources for name in _module_names(path, packages)}
    above = {str(folder) for path in sources for folder in PurePosixPath(path).parents}
    for folder in sorted(above & packages, key=len, reverse=True):
        if wanted.intersection(_imports(root, f"{folder}/__init__.py", packages)):
            wanted.update(_module_names(f"{folder}/__init__.py", packages))
    until = time.monotonic() + 15
    for path in tests:
        if time.monotonic() < until and wanted.intersection(_imports(root, path, packages)):
            yield path


def _module_names(path: str, packages: set[str]) -> list[str]:
    """Its names relative to the top of its package, to the root (a folder without `__init__.py` can be one), `src` or
    `lib`."""
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


def _imports(root: Path, path: str, packages: set[str]) -> Iterator[str]:
    """Yield the modules that a file imports; of `from a import b` both `a` and `a.b`. Lines of a string that look like
    an import count."""
    try:
        content = read_regular(root / path, 400_000)
    except OSError:
        return
    own = next(iter(_module_names(path, packages)), "").split(".")
    package = own if path.endswith("__init__.py") else own[:-1]
    nodes: list[ast.stmt] = []
    for match in _IMPORT.finditer(content):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes += ast.parse(match[0].decode("utf-8", "replace").strip()).body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{name.name}" for name in node.names)
