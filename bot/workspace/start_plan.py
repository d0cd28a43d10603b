"""Plan the start of a tool host: its folders, its mounts, its environment, the start message, and the programs of our
installation that it may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bot.workspace import environment, layout
from bot.workspace.dependencies.placement import place_folders
from bot.workspace.process import MARK
from bot.workspace.sandbox.confinement import Confinement, Dependencies, Mounts

if TYPE_CHECKING:
    from bot.workspace.egress.access import EgressAccess


@dataclass(frozen=True, slots=True)
class StartPlan:
    """How a tool host is started, and its start message."""

    argv: list[str]
    mounts: Mounts
    own_environment: dict[str, str]
    start_message: dict[str, Any]


class Folders(NamedTuple):
    """The folders of one workspace, outside the tree."""

    own: Path
    tmp: Path
    spill: Path
    history: Path


def make_folders(own: Path, history: Path | None) -> Folders:
    """Make the folders in `own`, except the `history` of a workspace that is continued."""
    own = own.resolve(strict=True)
    folders = Folders(own, own / "tmp", own / "spill", history.resolve() if history else own / "history")
    for folder in (folders.tmp, folders.spill, folders.history, folders.tmp / "home"):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folders


def plan_start(
    confinement: Confinement,
    tree: Path,
    folders: Folders,
    *,
    mount: str | None,
    source: Mapping[str, str],
    allowed: Sequence[str],
    bring: Sequence[Path],
    skills: Path | None,
    archives: Sequence[Path],
    egress: EgressAccess | None,
    dependencies: Dependencies,
    own_git: bool,
) -> StartPlan:
    """The parameters are those of `Workspace.start`."""
    tree, tmp = tree.resolve(strict=True), folders.tmp
    seen_tmp = Path(layout.TMP) if confinement.moves else tmp
    variables, tools = environment.build(source, seen_tmp / "home", seen_tmp, allowed)
    root = (mount or str(tree)) if confinement.moves else str(tree)
    inside = [folder for folder in dependencies.folders if folder.path]
    inside = list(place_folders(tree, inside, moves=confinement.moves))
    variables |= environment.of_dependencies(dependencies, root, variables["PATH"], moved=confinement.moves)
    variables |= environment.of_tree(tree, root, variables["PATH"])
    toolchains = (*tools.folders, *environment.behind(dependencies.folders))
    own: dict[str, str] = {}
    if not confinement.confines:
        own = {MARK: os.urandom(16).hex()}
        variables |= own
    elif egress is not None:
        variables |= egress.variables()
        bring = (*bring, *egress.files())
    own_programs = find_own_programs(layout.PROGRAMS, moved=confinement.moves, writable=(tree, *folders[1:]))
    program = (*layout.host_program(), *own_programs.mounts)
    readable: list[str] = []
    if skills is not None:
        readable.append(skills_place(confinement, skills))
        program = (*program, (skills, readable[0]))
    hidden = [path for path in bring if confinement.moves and path.is_relative_to(root)]
    program = (*program, *((path, f"{layout.BROUGHT}{path}") for path in hidden))
    bring = (*(path for path in bring if path not in hidden), *archives)
    readable += map(str, archives)
    mounts = Mounts(
        tree,
        mount or str(tree),
        folders[1:],
        tuple(bring),
        toolchains,
        program,
        tuple(inside),
        own_git,
        (tmp, layout.TMP) if confinement.moves else None,
    )
    start_message = {
        "type": "hello",
        "root": confinement.root(mounts),
        "tmp": str(seen_tmp),
        "spill": str(folders.spill),
        "history": str(folders.history),
        "readable": readable,
        "programs": own_programs.places,
        "environment": variables,
    }
    return StartPlan(layout.host_command(moved=confinement.moves), mounts, own, start_message)


def skills_place(confinement: Confinement, folder: Path) -> str:
    """Where a folder of skills is for those inside: in every run the same where it can be."""
    return layout.SKILLS if confinement.moves else str(folder)


CHECKERS = ("ruff", "ty")
YAML = "yaml"

_ELF = b"\x7fELF"


class OwnPrograms(NamedTuple):
    """`mounts` are pairs of a path and its path inside; `places` are the paths inside by name."""

    mounts: tuple[tuple[Path, str], ...]
    places: dict[str, str]


def find_own_programs(inside: str, *, moved: bool, writable: tuple[Path, ...]) -> OwnPrograms:
    """Find the programs. Where paths are `moved`, they are in the folder `inside`; else those in one of the `writable`
    folders are left out, since commands could change them."""
    mounts: list[tuple[Path, str]] = []
    places: dict[str, str] = {}
    for name, path in _installed():
        if not moved and any(path.is_relative_to(folder) for folder in writable):
            continue
        places[name] = f"{inside}/{name}" if moved else str(path)
        mounts.append((path, places[name]))
    return OwnPrograms(tuple(mounts), places)


def _installed() -> Iterator[tuple[str, Path]]:
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
