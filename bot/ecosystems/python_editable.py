"""What Python imports from elsewhere: packages of a repository, and the files by which editable installs lead to
them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bot.contracts.regular_files import read_regular

_MAPPING = re.compile(r"^MAPPING\b[^=\n]*= *(\{[^{}]*\})", re.MULTILINE)
_STRING = r"""('[^'\\\n]*+'|"[^"\\\n]*+")"""
_PAIR = re.compile(rf"\s*+{_STRING}\s*+:\s*+{_STRING}\s*+")
_PAIRS = re.compile(rf"\{{(?:{_PAIR.pattern},)*+(?:{_PAIR.pattern})?+\s*+\}}")
"""A dictionary of strings without escapes, since Python's parser is not for text that a repository's commands wrote."""
_LARGEST = 1 << 20
PACKAGE = re.compile(
    r"(?:(?P<folder>src)/)?(?P<file>(?!(?:tests?|docs|examples|benchmarks)/)[^\W\d]\w*(?:/__init__)?\.py)"
)
"""The file that makes a package or module, at the root or in `src`."""


def hooks(site: Path) -> Iterator[tuple[str, str]]:
    """The files of `site` that add to what Python imports, with their text."""
    try:
        names = os.listdir(site)
    except OSError:
        return
    for name in names:
        of_a_finder = name.startswith("__editable__") and name.endswith(".py")
        if not (of_a_finder or name.endswith((".pth", ".egg-link"))):
            continue
        try:
            # A file that commands made may be a link or a pipe.
            yield name, read_regular(site / name, _LARGEST).decode("utf-8", "surrogateescape")
        except OSError:
            continue


def leads(site: Path, name: str, text: str, tops: Sequence[Path]) -> Iterator[str]:
    """The folders that the file adds, relative to the top that they are in; `..` for one that cannot be added to the
    path."""
    if name.endswith(".py"):
        yield from _mapped(text, tops)
        return
    for line in text.splitlines()[: 1 if name.endswith(".egg-link") else None]:
        if line.strip() and not line.startswith(("#", "import ", "import\t")):
            path = os.path.normpath(os.path.join(site, line.strip()))
            if path != str(site) and not path.startswith(f"{site}/"):
                yield from _relative(path, tops)


def _mapped(text: str, tops: Sequence[Path]) -> Iterator[str]:
    """The folders of the packages that a finder of setuptools maps."""
    for literal in _MAPPING.findall(text):
        if not _PAIRS.fullmatch(literal):
            yield ".."
        for name, path in _PAIR.findall(literal):
            for relative in _relative(path[1:-1], tops):
                end = "/" + name[1:-1].replace(".", "/")
                whole = f"/{relative.removesuffix('.py')}"
                yield (whole[: -len(end)].lstrip("/") or ".") if whole.endswith(end) else ".."


def _relative(path: str, tops: Collection[Path]) -> Iterator[str]:
    for top in tops:
        if path == str(top) or path.startswith(f"{top}/"):
            yield os.path.relpath(path, top)
            return
