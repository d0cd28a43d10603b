"""Bubblewrap: new namespaces of every kind, a root built from nothing, no capability, no network.

The first process inside is PID 1 of its namespace: no signal from inside reaches it, the kernel ends every
other process when it ends, and there is no process of bubblewrap's own whose environment could be read.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from bot.workspace.sandbox import seccomp
from bot.workspace.sandbox.confinement import Confinement, InheritedFiles, Mounts
from bot.workspace.sandbox.hidden_paths import ROOTS, credentials_in, hidden_system_paths, is_below

_MIB = 1024 * 1024
_SIZES = {
    "/tmp": 2048 * _MIB,  # noqa: S108 - inside, of its own
    "/var/tmp": 256 * _MIB,  # noqa: S108
    "/run": 64 * _MIB,
    "/home": 256 * _MIB,
    "/root": 256 * _MIB,
}
"""Folders in memory, and how many bytes each may take."""

_NEWER = (0, 8)
"""From this version on it knows `--size` and `--disable-userns`."""


@dataclass(frozen=True)
class Bubblewrap(Confinement):
    """`program` is the absolute path of bwrap, `version` its version, `hidden` what commands must not see of the
    system's folders. `overlays`: it can mount an overlay."""

    program: str
    version: tuple[int, ...]
    hidden: tuple[str, ...] = field(default_factory=hidden_system_paths)
    overlays: bool = False

    tier: ClassVar[str] = "T1"
    confines: ClassVar[bool] = True
    moves: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "bubblewrap " + ".".join(map(str, self.version))

    @property
    def severs(self) -> bool:
        return self.overlays

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        host = _Host(inherited, _mount_points() if self.overlays else None)
        return [
            self.program,
            *("--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"),
            # A host name that /etc/hosts knows: Java's tools and many tests look up the address of their own host.
            *("--cap-drop", "ALL", "--clearenv", "--hostname", "localhost"),
            *(("--disable-userns",) if self.version >= _NEWER else ()),
            *("--seccomp", inherited.add_file(seccomp.filter_for(seccomp.here(), sockets=True))),
            *_system(host, self.hidden),
            *self._scratch(),
            *_folders(mounts, inherited, host),
            # Last, since mount points are made in it: else it would be memory without a limit.
            *("--remount-ro", "/"),
            *("--chdir", mounts.mount),
            "--",
            *argv,
        ]

    def _scratch(self) -> Iterator[str]:
        # Read-only: the root of the host still owns the files of /proc/sys, inside as well, and a core_pattern
        # written here would run on the host. Bubblewrap covers them only where it finds the folder writable.
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")
        home = os.path.expanduser("~")
        extra = {home: 64 * _MIB} if is_below(home, ROOTS) else {}
        for folder, size in ({"/dev/shm": 512 * _MIB} | _SIZES | extra).items():  # noqa: S108
            yield from (*(("--size", str(size)) if self.version >= _NEWER else ()), "--tmpfs", folder)
        yield from ("--remount-ro", "/dev")


class _Host(NamedTuple):
    """Mounts what no command wrote. Commands see overlays of folders, if `mount_points` is not `None`: the kernel finds
    a socket or a FIFO by its inode, which in an overlay is another one. So none leads to a program outside, one that
    appears later included."""

    inherited: InheritedFiles
    mount_points: tuple[str, ...] | None

    def mount(self, path: Path, target: str, *, severed: bool = True) -> tuple[str, ...]:
        """Links in `path` are the user's own."""
        real = os.path.realpath(path)
        opened = self.inherited.open_source(real, of_run=False)
        # The kernel refuses an overlay of a folder that has other mounts in it.
        whole = self.mount_points is not None and not any(
            point.startswith(f"{real}/") for point in self.mount_points
        )
        if severed and whole and os.path.isdir(real):
            return "--overlay-src", real, "--tmp-overlay", target, "--remount-ro", target
        return "--ro-bind-fd", opened, target


def _mount_points() -> tuple[str, ...]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return tuple(line.split(" ")[4].replace("\\040", " ") for line in file)


def _system(host: _Host, hidden: Sequence[str]) -> Iterator[str]:
    """Mount the system's programs and settings read-only, without secret ones."""
    for folder in ROOTS:
        if os.path.islink(folder):
            yield from ("--symlink", os.readlink(folder), folder)
        elif os.path.isdir(folder):
            yield from host.mount(Path(folder), folder, severed=folder == "/opt")
    for path in hidden:
        yield from _mask(path)


def _folders(mounts: Mounts, inherited: InheritedFiles, host: _Host) -> Iterator[str]:
    def of_run(path: Path, target: str, option: str = "--ro-bind-fd") -> tuple[str, ...]:
        return option, inherited.open_source(str(path), of_run=True), target

    mounted = dict.fromkeys((*mounts.read_only, *mounts.toolchains))
    for path in mounted:
        if is_below(path, ROOTS) or any(other in path.parents for other in mounted):
            continue
        if path in mounts.read_only:
            yield from of_run(path, str(path))
        elif path.exists():  # else the user removed it since the run began
            yield from host.mount(path, str(path))
    for path in mounts.toolchains:
        if not is_below(path, ROOTS):
            for secret in credentials_in(path):
                yield from _mask(os.path.realpath(secret))
    under, over = _by_place(mounts, host)
    yield from under
    yield from of_run(mounts.tree, mounts.mount, "--bind-fd")
    git = mounts.tree / ".git"
    if mounts.own_git and git.exists() and not git.is_symlink():
        yield from of_run(git, f"{mounts.mount}/.git")
    for folder in mounts.environment:
        target = folder.path_in(mounts.mount)
        yield from of_run(folder.source, target) if folder.created else host.mount(folder.source, target)
        for name in folder.credentials():
            if name == ".git":  # as a device it would disturb what reads every file
                yield from ("--ro-bind-data", inherited.add_file(b""), f"{target}/{name}")
            else:
                yield from _mask(f"{target}/{name}", os.path.isdir(folder.source / name))
    yield from over
    for path, target in mounts.moved:
        yield from of_run(path, target)
    for path in mounts.writable:
        yield from of_run(path, str(path), "--bind-fd")
    if mounts.tmp:
        yield from of_run(mounts.tmp[0], mounts.tmp[1], "--bind-fd")


def _by_place(mounts: Mounts, host: _Host) -> tuple[list[str], list[str]]:
    """The mounts of our own program: parents of the tree before the tree, all others after it, so that the tree hides
    none."""
    under: list[str] = []
    over: list[str] = []
    for path, target in mounts.program:
        if not (str(path) == target and is_below(target, ROOTS)):
            side = under if is_below(mounts.mount, (target,)) else over
            side.extend(host.mount(path, target))
            if str(path) == target:  # the interpreter, which others may use too
                side.extend(
                    word for secret in credentials_in(path) for word in _mask(os.path.realpath(secret))
                )
    return under, over


def _mask(path: str, folder: bool | None = None) -> tuple[str, ...]:
    """Cover `path` with an empty folder or file. `folder` says which, if `path` does not exist outside."""
    if os.path.isdir(path) if folder is None else folder:
        return ("--tmpfs", path, "--remount-ro", path)
    return ("--ro-bind", "/dev/null", path)
