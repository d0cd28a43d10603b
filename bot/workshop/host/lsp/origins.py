"""Whether a program may be started to look on: whose it is, and whether this run changed it. A language server runs
what its project says, so one that is not ours is as much as a command of the agent, and may do no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.workshop.host.context import Context

_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Terms:
    """What the supervisor says of it. `only_ours` is why no program but ours may run, a clause; empty where others may.
    `refused` has the same for single ones by name. `since` is when the agent began, in nanoseconds."""

    only_ours: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    since: int = 1 << 63


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that the run began with. `content(path)` is a file of it, a link's being where it leads to; `None`
    where it is not in it. `export(folder)` writes all of it there, and says whether that went well."""

    content: Callable[[str], bytes | None] = lambda path: None
    export: Callable[[Path], bool] = lambda folder: False


@dataclass(frozen=True, slots=True)
class Origins:
    context: Context
    terms: Terms
    base: Base

    def why_not(self, name: str, argv: Sequence[str], runs: Sequence[str] = ()) -> str:
        """Why `argv` may not be started as what is called `name`; empty where it may. `runs` are files of the tree
        whose code it runs."""
        if argv[0] in self.context.programs.values():
            return ""
        if why := self.terms.only_ours or self.terms.refused.get(name, ""):
            return why
        program = argv[0] if "/" in argv[0] else shutil.which(argv[0], path=self._path) or argv[0]
        root = Path(self.context.real_root)
        for word in (program, *argv[1:], *runs):
            if changed := next(filter(self._is_changed, _way(root / word, root)), None):
                return f"{changed.relative_to(root)} was changed in this run, and would be run"
        return ""

    @property
    def _path(self) -> str:
        return self.context.environment.get("PATH", "")

    def _is_changed(self, path: Path) -> bool:
        name = str(path.relative_to(self.context.real_root))
        if self.context.history.versions(name):
            return True
        base = self.base.content(name)
        try:
            if base is None:  # git does not have it: what setup left is older
                return os.lstat(path).st_mtime_ns >= self.terms.since
            return base != (os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes())
        except OSError:
            return True


def _way(path: Path, root: Path) -> Iterator[Path]:
    """The links below `root` that a path leads over, and the file below it that it ends at."""
    left, here, links = list(reversed(path.parts)), Path("/"), 0
    while left and links < _MOST_LINKS:
        part = left.pop()
        here = here.parent if part == ".." else here / part
        if os.path.islink(here):
            links += 1
            if here.is_relative_to(root):
                yield here
            left.extend(reversed(Path(os.readlink(here)).parts))
            here = here.parent
    if here.is_relative_to(root) and os.path.isfile(here):
        yield here
