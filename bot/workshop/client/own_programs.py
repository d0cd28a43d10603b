"""Which programs of our own installation those inside may use, and where they see them: the two checkers of the extra
`checkers`, each one file, and PyYAML. Never the folder that they are installed in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

CHECKERS = ("ruff", "ty")
YAML = "yaml"

_ELF = b"\x7fELF"


class Shown(NamedTuple):
    """`mounts` are pairs of a path and its place inside; `places` are those by name."""

    mounts: tuple[tuple[Path, str], ...]
    places: dict[str, str]


def shown(inside: str, *, moved: bool, writable: tuple[Path, ...]) -> Shown:
    """What there is. `inside` is the folder for what is seen elsewhere than it is, where things are `moved`; else what
    lies in one of the `writable` folders is left out, since commands could change it."""
    mounts: list[tuple[Path, str]] = []
    places: dict[str, str] = {}
    for name, path in _found():
        if not moved and any(path.is_relative_to(folder) for folder in writable):
            continue
        places[name] = f"{inside}/{name}" if moved else str(path)
        mounts.append((path, places[name]))
    return Shown(tuple(mounts), places)


def _found() -> Iterator[tuple[str, Path]]:
    for name in CHECKERS:
        path = Path(os.path.realpath(os.path.join(sys.prefix, "bin", name)))
        if _is_program(path):
            yield name, path
    spec = find_spec(YAML)  # looked for, never imported: a run without a policy file has no use for it here
    if spec is not None and spec.origin:
        yield YAML, Path(os.path.realpath(spec.origin)).parent


def _is_program(path: Path) -> bool:
    """Not a script: one would need the whole environment that it was installed in."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_ELF)) == _ELF and os.access(path, os.X_OK)
    except OSError:
        return False
