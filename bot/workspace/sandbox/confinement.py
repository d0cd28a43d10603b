"""The interface of a sandbox back end: a command line that runs a program confined."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from bot.contracts.errors import NoSandboxError
from bot.ecosystems.registry import ecosystems
from bot.toolhost.mount_sources import MountSourceError, open_source
from bot.workspace.sandbox.hidden_paths import credentials_in

LINKED = next(one.linked for one in ecosystems() if one.linked)
_BUILT = frozenset(one.built for one in ecosystems() if one.built)
STORE = f".slash-agent/{LINKED}"  # packages find themselves by the last such name in their path
"""The folder in a folder of links that contains their targets."""


@dataclass(frozen=True)
class EnvironmentFolder:
    """A folder of installed packages and tools, shown read-only and never copied.

    `source` is its path on this machine, `path` that in the work tree, empty for one outside of the checkout.
    `programs` is the folder in it that is added to PATH, empty for none. `created`: commands of the run made it, so we
    open no file in it. `unshown` is the reason, as a clause, why it is not shown after all. `at` is where it is shown,
    if neither in the tree nor at `source`.
    """

    source: Path
    path: str
    programs: str = ""
    created: bool = False
    unshown: str = ""
    at: str = ""

    @property
    def is_node(self) -> bool:
        """Whether it is a `node_modules`. Tools write caches in it, so a new folder of links replaces it."""
        return os.path.basename(self.path) == LINKED

    @property
    def is_build_output(self) -> bool:
        """Whether it is cargo's `target`. Builds write in it, so each tree gets a copy."""
        return os.path.basename(self.path) in _BUILT

    def path_in(self, root: str) -> str:
        """Its mount point; `root` is the path of the work tree."""
        return self.at or (f"{root}/{self.path}/{STORE}" if self.is_node else f"{root}/{self.path}")

    def credentials(self) -> Iterator[str]:
        """The paths in it, relative and without links, that are or contain credentials."""
        if self.created:
            return
        if (self.source / ".git").exists():
            yield ".git"  # of a submodule, whose git folder is not shown
        for secret in credentials_in(self.source, versions=False):
            real = os.path.realpath(secret)
            if real.startswith(f"{self.source}/"):
                yield os.path.relpath(real, self.source)


class Dependencies(NamedTuple):
    """What a work tree needs besides the files of its commit. `import_from` are folders of the tree that Python must
    import from instead of the path of an editable install.
    `before_copies` are those with code of which a copy is installed. `left_out` are environments that cannot be
    shown."""

    folders: tuple[EnvironmentFolder, ...] = ()
    import_from: tuple[str, ...] = ()
    before_copies: tuple[str, ...] = ()
    left_out: tuple[EnvironmentFolder, ...] = ()


NO_DEPENDENCIES = Dependencies()


class Mounts(NamedTuple):
    """What exists inside besides the system. All host paths are absolute.

    `tree` is the work tree, writable, at `mount`; the others are at their own paths, and `tmp`, one of the `writable`,
    at a second one as well. `moved` are read-only, at other paths. Commands may have written in all of these, so a path
    that contains a link is refused. Commands wrote none of `toolchains` and `program`, which may be links. `toolchains`
    are read-only, without credentials in them, and so is `environment`, which is in the tree. `program` are the parts
    of the tool host with their paths inside; the tree never hides them. `own_git`: the tree's `.git` belongs to a
    person and is not disposable; it is read-only if the sandbox can mount.
    """

    tree: Path
    mount: str
    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    toolchains: tuple[Path, ...] = ()
    program: tuple[tuple[Path, str], ...] = ()
    environment: tuple[EnvironmentFolder, ...] = ()
    own_git: bool = False
    tmp: tuple[Path, str] | None = None
    moved: tuple[tuple[Path, str], ...] = ()


class Confinement:
    """One way to run the tool host, by itself none at all: an ordinary process. It starts nothing; the caller gives the
    command a clean environment.

    `name` is for people and the outcome: "bubblewrap 0.8.0", "Landlock ABI 7", "off". `tier` is T1 for namespaces, T2
    for a list of paths that may be opened. With `confines` canaries are unreachable, and no process outlives the first
    one. With `moves` a path may differ inside: the tree is then at the repository's own path. With `severs` a socket or
    a FIFO in a folder that is shown leads nowhere, one that appears later included. With `supports_egress` the
    supervisor's proxy can listen inside, which egress presets need. `lets_through` are the canaries that it is known
    not to stop; the result of a run lists them.
    """

    tier: ClassVar[str] = "none"
    confines: ClassVar[bool] = False
    moves: ClassVar[bool] = False
    supports_egress: ClassVar[bool] = True  # all of the network is open anyway

    @property
    def name(self) -> str:
        return "off"

    @property
    def severs(self) -> bool:
        return True  # nothing does, and nothing is hidden either

    @property
    def lets_through(self) -> frozenset[str]:
        return frozenset()

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        """The command line that runs `argv` with access to `mounts` and the system only; it names descriptors in
        `inherited`. Raises `NoSandboxError` where that is not possible on this machine."""
        return list(argv)


class InheritedFiles:
    """Descriptors for one program, which is started before the end of the block. The methods return their numbers."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def add_file(self, content: bytes) -> str:
        descriptor = os.memfd_create("inherited", os.MFD_CLOEXEC)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    def open_source(self, path: str, *, of_run: bool) -> str:
        """Open a folder or file that is shown to commands. Raises `NoSandboxError`."""
        try:
            descriptor = open_source(path, of_run=of_run)
        except (MountSourceError, OSError) as error:
            raise NoSandboxError(f"The sandbox could not be started: {error}") from error
        self.descriptors.append(descriptor)
        return str(descriptor)

    def __enter__(self) -> InheritedFiles:
        return self

    def __exit__(self, *_: object) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())
