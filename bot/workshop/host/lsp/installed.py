"""Which packages are not installed where the agent works: that an import does not find them is no news, and not the
fault of a change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from bot.workshop.host.context import Context
from bot.workshop.host.lsp.baseline import missing_modules
from bot.workshop.host.lsp.lane import Watched

_LOOK_FOR = ("", ".py", ".pyi", ".ts", ".tsx", ".js")


class Missing(Collection[str]):
    """For one tool: the packages that some file missed before it was changed, and, where there is no place at all that
    packages are installed in, each that is not of the tree."""

    def __init__(self, tool: str, context: Context, files: Iterable[Watched]) -> None:
        files = list(files)
        self._known = {name for file in files for name in missing_modules(file.base.get(tool, ()))}
        parents = {str(folder) for file in files for folder in PurePosixPath(file.name).parents}
        self._any = tool in ("ty", "typescript") and not _has_environment(tool, context, parents)
        self._folders = [context.root / name for name in {"src", "lib", *parents}]

    def __contains__(self, module: object) -> bool:
        return module in self._known or (self._any and isinstance(module, str) and not self._is_here(module))

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _is_here(self, module: str) -> bool:
        return any(os.path.exists(folder / f"{module}{end}") for folder in self._folders for end in _LOOK_FOR)


def _has_environment(tool: str, context: Context, folders: Iterable[str]) -> bool:
    if tool == "typescript":
        return any(os.path.isdir(context.root / folder / "node_modules") for folder in folders)
    if context.environment.get("VIRTUAL_ENV"):
        return True
    places = (context.root / folder / name for folder in folders for name in (".venv", "venv"))
    return any(os.path.isfile(place / "pyvenv.cfg") for place in places)
