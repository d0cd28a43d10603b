"""Landlock and seccomp: a list of the paths that may be opened, no sockets, no capabilities.

Used if bubblewrap cannot make namespaces, as in most containers; needs no root. The program confines itself
(`bot/toolhost/confine.py`) by a plan made here, before it reads anything. Every path is the same inside.
"""

import ctypes
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from bot.contracts.errors import NoSandboxError
from bot.toolhost.system_calls import libc
from bot.workspace.sandbox import seccomp
from bot.workspace.sandbox.confinement import Confinement, InheritedFiles, Mounts
from bot.workspace.sandbox.hidden_paths import ROOTS, credentials_in, hidden_system_paths, is_below

OLDEST = 3
"""From this version on a file that may not be written cannot be truncated either."""

SIGNALS = 6
"""From this version on processes outside cannot be signalled."""

_CREATE_RULESET = 444
_ASK_VERSION = 1

_CONFINE = "import sys; sys.path.insert(0, sys.argv[1]); from bot.toolhost.confine import main; main()"

_MACHINE = ("/proc", "/sys/devices/system/cpu")
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))


def version() -> int:
    """The kernel's version of Landlock, 0 for none."""
    abi = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return max(int(abi), 0)


@dataclass(frozen=True)
class Landlock(Confinement):
    """`abi` is the kernel's version of it, `hidden` what commands must not see of the system's folders.
    `kept_capabilities`, by number, are for tests."""

    abi: int
    hidden: tuple[str, ...] = field(default_factory=hidden_system_paths)
    kept_capabilities: tuple[int, ...] = ()

    tier: ClassVar[str] = "T2"
    confines: ClassVar[bool] = True
    severs: ClassVar[bool] = False  # no socket can be made, but a FIFO can be read
    supports_egress: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"Landlock ABI {self.abi}"

    @property
    def lets_through(self) -> frozenset[str]:
        return frozenset() if self.abi >= SIGNALS else frozenset({"signal to another process"})

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        """Raises `NoSandboxError` if commands could change the program that confines them."""
        package, python = Path(__file__).resolve().parents[3], os.path.realpath(sys.executable)
        for part in (package / "bot", Path(python)):
            if any(part.is_relative_to(path) for path in (mounts.tree, *mounts.writable)):
                raise NoSandboxError(
                    f"{part} lies in what commands may change, and Landlock cannot take it out of that. Install "
                    "Slash Agent outside of the repository, or use bubblewrap."
                )
        # What commands may have written and now only read.
        of_run = (*mounts.read_only, *(path for path, _ in mounts.moved))
        created = (folder.source for folder in mounts.environment if folder.created)
        plan = {
            "abi": self.abi,
            "run": list(_seen(_granted(map(os.path.realpath, ROOTS), self.hidden), mounts)),
            "shown": [str(path) for path in (*of_run, *created)],
            "read": list(_MACHINE),
            "write": [str(path) for path in (mounts.tree, *mounts.writable)],
            "devices": list(_DEVICES),
            "seccomp": seccomp.filter_for(seccomp.here(), sockets=False).hex(),
            "kept_capabilities": list(self.kept_capabilities),
        }
        file = inherited.add_file(json.dumps(plan).encode())
        return [python, "-I", "-S", "-c", _CONFINE, str(package), file, *argv]


def _seen(granted: Iterable[str], mounts: Mounts) -> Iterator[str]:
    """The system, toolchains and our own program, without the folder that the tree replaces: paths into it would lead
    to the unchanged code and its `.git`. Tools in that folder are granted by their own paths."""
    origin = os.path.realpath(mounts.mount)
    on_the_way = {str(parent) for parent in Path(origin).parents}
    # The tree lies in it where a tool is called on a checkout itself.
    holes = () if is_below(mounts.tree, (origin,)) else (origin,)
    for path in (*granted, *_tools(mounts, origin), *_program(mounts)):
        if holes and (path == origin or path in on_the_way):
            yield from _beside(path, holes, on_the_way)
        else:
            yield path
    for folder in mounts.environment:
        if not folder.created:
            hidden = (str(folder.source / name) for name in folder.credentials())
            yield from _granted([str(folder.source)], hidden)


def _tools(mounts: Mounts, origin: str) -> Iterator[str]:
    """Toolchains without credentials, except those in the granted system."""
    folders = [
        os.path.realpath(folder)
        for folder in mounts.toolchains
        if not is_below(folder, ROOTS) or is_below(folder, (origin,))
    ]
    # One may lie in another one, which knows where its credentials are.
    yield from _granted(folders, (str(path) for folder in folders for path in credentials_in(Path(folder))))


def _program(mounts: Mounts) -> Iterator[str]:
    """Our own program, without credentials in the folder of its interpreter, which others may use too."""
    for path, _ in mounts.program:
        if path.is_file():
            yield str(path)
        elif not is_below(path, ROOTS):
            yield from _granted([str(path)], map(str, credentials_in(path)))


def _granted(folders: Iterable[str], hidden: Iterable[str]) -> Iterator[str]:
    """`folders` without `hidden`, as paths that are granted with all that is beneath them: Landlock cannot exclude a
    path, so its siblings are listed."""
    holes = {os.path.realpath(path) for path in hidden}
    on_the_way = {str(parent) for hole in holes for parent in Path(hole).parents}
    for folder in folders:
        if os.path.exists(folder):
            yield from _beside(folder, holes, on_the_way)


def _beside(path: str, holes: Collection[str], on_the_way: Collection[str]) -> Iterator[str]:
    if path in holes:
        return
    if path not in on_the_way:
        yield path
        return
    # In a folder that may be passed but not listed the siblings of the hidden path are unknown.
    with suppress(PermissionError), os.scandir(path) as entries:
        for entry in entries:
            # Links are not granted: their targets are, or are not, by their own paths.
            if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
                yield from _beside(entry.path, holes, on_the_way)
