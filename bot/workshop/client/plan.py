"""What a tool host is given: its folders, what it sees of the machine, its environment, the first message."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bot.environment.placing import place
from bot.sandbox.confinement import Confinement, Dependencies, Mounts
from bot.workshop.client import environment, layout
from bot.workshop.client.own_programs import shown
from bot.workshop.client.process import MARK

if TYPE_CHECKING:
    from bot.egress.way_out import WayOut


@dataclass(frozen=True, slots=True)
class Plan:
    """How a tool host is started, and the first that it is told."""

    argv: list[str]
    mounts: Mounts
    own_environment: dict[str, str]
    hello: dict[str, Any]


class Folders(NamedTuple):
    """Those of one workshop, outside the tree."""

    own: Path
    tmp: Path
    spill: Path
    history: Path


def make_folders(own: Path, history: Path | None) -> Folders:
    """In `own`, but for the `history` of a workshop that this one goes on from."""
    own = own.resolve(strict=True)
    folders = Folders(own, own / "tmp", own / "spill", history.resolve() if history else own / "history")
    for made in (folders.tmp, folders.spill, folders.history, folders.tmp / "home"):
        made.mkdir(mode=0o700, exist_ok=True)
    return folders


def plan(
    confinement: Confinement,
    tree: Path,
    folders: Folders,
    mount: str | None,
    source: Mapping[str, str],
    allowed: Sequence[str],
    bring: Sequence[Path],
    skills: Path | None,
    kept: Sequence[Path],
    way_out: WayOut | None,
    dependencies: Dependencies,
) -> Plan:
    """The parameters are those of `Workshop.start`."""
    tree, tmp = tree.resolve(strict=True), folders.tmp
    variables, tools = environment.build(source, tmp / "home", tmp, allowed)
    root = (mount or str(tree)) if confinement.moves else str(tree)
    inside = [folder for folder in dependencies.folders if folder.path]
    inside = list(place(tree, inside, moves=confinement.moves))
    variables |= environment.of_dependencies(dependencies, root, variables["PATH"], moved=confinement.moves)
    toolchains = (*tools.folders, *environment.behind(dependencies.folders))
    own: dict[str, str] = {}
    if not confinement.confines:
        own = {MARK: os.urandom(16).hex()}
        variables |= own
    elif way_out is not None:
        variables |= way_out.variables()
        bring = (*bring, *way_out.files())
    own_programs = shown(layout.PROGRAMS, moved=confinement.moves, writable=(tree, *folders[1:]))
    program = (*layout.host_program(), *own_programs.mounts)
    readable: list[str] = []
    if skills is not None:
        readable.append(skills_place(confinement, skills))
        program = (*program, (skills, readable[0]))
    hidden = [path for path in bring if confinement.moves and path.is_relative_to(root)]
    program = (*program, *((path, f"{layout.BROUGHT}{path}") for path in hidden))
    bring = (*(path for path in bring if path not in hidden), *kept)
    readable += map(str, kept)
    mounts = Mounts(tree, mount or str(tree), folders[1:], tuple(bring), toolchains, program, tuple(inside))
    hello = {
        "type": "hello",
        "root": confinement.root(mounts),
        "tmp": str(tmp),
        "spill": str(folders.spill),
        "history": str(folders.history),
        "readable": readable,
        "programs": own_programs.places,
        "environment": variables,
    }
    return Plan(layout.host_command(moved=confinement.moves), mounts, own, hello)


def skills_place(confinement: Confinement, folder: Path) -> str:
    """Where a folder of skills is for those inside: in every run the same where it can be."""
    return layout.SKILLS if confinement.moves else str(folder)
