"""What every back end offers: a command line that runs a program behind the wall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.sandbox.handed import Give


@dataclass(frozen=True, slots=True)
class Mounts:
    """What exists inside besides the system. All host paths absolute and resolved.

    `tree` is the work tree, writable, seen at `mount`; the others are seen at their own paths. `toolchains` are
    read-only as well, less what in them looks like somebody's credentials. `program` is what the tool host is
    made of, each part with where it is seen; the tree never hides it.
    """

    tree: Path
    mount: str
    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    toolchains: tuple[Path, ...] = ()
    program: tuple[tuple[Path, str], ...] = ()


class Confinement(Protocol):
    """One way to run the tool host. It starts nothing; who does gives the command a clean environment."""

    @property
    def name(self) -> str:
        """For people and the outcome: "bubblewrap 0.8.0", "Landlock ABI 7", "off"."""
        ...

    @property
    def tier(self) -> str:
        """T1: namespaces. T2: a list of what may be opened. Else "none"."""
        ...

    @property
    def confines(self) -> bool:
        """Whether there is a wall: canaries must stay unreachable, and no process outlives the first one."""
        ...

    @property
    def moves(self) -> bool:
        """Whether things can be seen elsewhere than they are: the tree at the repository's own path."""
        ...

    @property
    def gives_way_out(self) -> bool:
        """Whether the supervisor's proxy can be put inside, so that egress presets work."""
        ...

    @property
    def lets_through(self) -> frozenset[str]:
        """The canaries, by name, that it is known not to stop; people are told of each."""
        ...

    def root(self, mounts: Mounts) -> str:
        """Where the work tree is for those inside."""
        ...

    def command(self, argv: Sequence[str], mounts: Mounts, give: Give) -> list[str]:
        """The command line that runs `argv` with nothing but `mounts` and the system within reach. `give` hands
        contents to whoever runs it. Raises `NoSandboxError` where this machine or these mounts cannot be."""
        ...
