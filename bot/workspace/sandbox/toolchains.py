"""Find the folders of the host that a command needs for the tools on its PATH."""

import grp
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bot.ecosystems.registry import ecosystems
from bot.toolhost.mount_sources import kind_of
from bot.toolhost.programs import SYSTEM_PATH as SYSTEM_PATH
from bot.workspace.sandbox.confinement import LINKED, EnvironmentFolder
from bot.workspace.sandbox.hidden_paths import is_below

_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix/store")
NEVER = ("/proc", "/sys", "/dev", "/run")
_NEVER_WHOLE = ("/", "/tmp", "/var", "/var/tmp")  # noqa: S108

_NAMED = ("RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY", "VIRTUAL_ENV")
"""Variables that name a folder of tools, on PATH or not."""

_MOST_PROGRAMS = 500
_MOST_ENTRIES = 10_000
"""Of a folder, from its top down, are looked at for sockets, FIFOs and devices. That takes 10 ms; all of 200,000 files
would take 0.4 s, and several times that if they are not in memory."""


class Toolchains(NamedTuple):
    """`path` is the PATH inside, `folders` are the ones to mount read-only for it, `variables` those by which tools
    find their folders. `caches` are shown as well, each with its path in the HOME inside. `environments`
    are those of the checkout, with the reason if one may not be shown. `notes` say what else is not shown, and why."""

    path: str
    folders: tuple[Path, ...]
    variables: Mapping[str, str]
    caches: tuple[tuple[Path, str], ...]
    notes: tuple[str, ...]
    environments: tuple[EnvironmentFolder, ...]


def find(
    source: Mapping[str, str],
    tree: Path | None = None,
    environments: Sequence[EnvironmentFolder] = (),
    *,
    severs: bool = False,
) -> Toolchains:
    """The entries of the host's PATH that can be visible inside, the tools that `source`, the user's environment, names
    or that are in the home, and those of `environments` that were there before the run. Called before the first command
    of a run. Left out are relative entries, folders that are missing, private or in memory, the agent's own virtual
    environment and those beneath `NEVER`. Commands may have written what is in `tree`, where it is visible anyway:
    nothing is mounted for it. `severs` is that of the `Confinement`: else no folder with a special file is shown."""
    entries: list[str] = []
    written = (str(tree),) if tree else ()
    never = (*NEVER, *written)
    # The `bin` of our own virtual environment, which a repository's commands must not use.
    excluded = {os.path.realpath(Path(sys.prefix) / "bin")} if sys.prefix != sys.base_prefix else set()
    # A runner has one user, and no command ran yet.
    doorkeeper = _Doorkeeper(is_runner="RUNNER_TEMP" in source, severs=severs)
    for entry in source.get("PATH", "").split(":"):
        real = os.path.realpath(entry)
        if not os.path.isabs(entry) or not os.path.isdir(entry) or real in excluded:
            continue
        if not is_below(real, (*_SYSTEM, *written)):
            needed = list(_needed(Path(entry), never))
            if not needed or not doorkeeper.lets(needed[0], f"{entry} of PATH"):
                continue
            doorkeeper.offer(needed)
        entries.append(entry)
    doorkeeper.offer(_elsewhere(source, excluded, never))
    with_refusals = tuple(
        one if one.unshown else replace(one, unshown=doorkeeper.refusal(one.source))
        for one in environments
        if not one.created
    )
    for one in with_refusals:
        # Of one that commands made nothing more: they could name any folder as its Python.
        if one.programs == "bin" and not one.unshown:
            behind = needed_by(one.source / "bin")
            doorkeeper.offer(folder for folder in behind if not one.path or folder != one.source)
    path = ":".join(dict.fromkeys([*entries, *SYSTEM_PATH.split(":")]))
    linked: list[tuple[Path, str]] = []
    settings: dict[str, str] = {}
    home = Path.home()
    for folder, setting in _caches(source, never):
        if not doorkeeper.lets(folder):
            continue
        if "{home}" in setting:  # read where it is
            doorkeeper.shown.append(folder)
        else:
            linked.append((folder, str(folder.relative_to(home))))
        if setting:
            name, _, value = setting.partition("=")
            settings[name] = value.replace("{home}", str(home))
    folders = tuple(dict.fromkeys(doorkeeper.shown))
    variables = _variables(folders) | settings
    return Toolchains(path, folders, variables, tuple(linked), tuple(doorkeeper.notes), with_refusals)


class _Doorkeeper:
    """Every folder of the machine that commands are shown passes here."""

    def __init__(self, *, is_runner: bool, severs: bool) -> None:
        self._is_runner = is_runner
        self._severs = severs
        self._answers: dict[Path, str] = {}
        self.shown: list[Path] = []
        self.notes: dict[str, None] = {}

    def refusal(self, folder: Path) -> str:
        """Return, as a clause, why `folder` may not be shown; empty if it may."""
        if folder not in self._answers:
            why = "" if self._is_runner else who_may_write(folder)
            self._answers[folder] = why or ("" if self._severs else special_file_in(folder))
        return self._answers[folder]

    def lets(self, folder: Path, name: str = "") -> bool:
        """Whether `folder` may be shown; else there is a note on `name`."""
        if why := self.refusal(folder):
            self.notes[f"{name or folder} is not shown to commands: {why}."] = None
        return not why

    def offer(self, folders: Iterable[Path]) -> None:
        self.shown += filter(self.lets, folders)


def special_file_in(folder: Path) -> str:
    """Return, as a clause, that `folder` holds a socket, a FIFO or a device: commands could reach programs outside."""
    ahead, seen = deque([str(folder)]), 0
    while ahead and seen < _MOST_ENTRIES:
        try:
            entries = os.scandir(ahead.popleft())
        except OSError:
            continue  # a file, or closed, inside as well
        with entries:
            for entry in entries:
                seen += 1
                if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(entry.path)
                else:
                    return f"it holds {kind_of(entry.stat(follow_symlinks=False).st_mode)}, {entry.path}"
    return ""


def who_may_write(folder: Path) -> str:
    """Return, as a clause, who else can write a part of the way to `folder`, or why that is unknown; else empty."""
    for part in (folder, *folder.parents):
        try:
            status = os.stat(part)
        except OSError as error:
            return f"{part}: {error.strerror}"
        if status.st_uid not in (0, os.geteuid()):
            return f"{part} belongs to another user"
        if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
            continue
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and _has_others(status.st_gid)):
            return f"others can write in {part}"
    return ""


def _has_others(group: int) -> bool:
    """Whether a group that is neither root's nor the user's own has members."""
    try:
        return group not in (0, os.getegid()) and bool(grp.getgrgid(group).gr_mem)
    except KeyError:
        return True


def _caches(source: Mapping[str, str], never: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield the folders of downloads in the home, each with the setting by which its tool finds it."""
    patterns = [item for one in ecosystems() for item in one.caches.items()] if "HOME" in source else ()
    for pattern, setting in patterns:
        for folder in sorted(Path.home().glob(pattern)):
            plain = folder.is_dir() and os.path.realpath(folder) == str(folder)
            if plain and not is_below(folder, never):
                yield folder, setting


def needed_by(programs: Path) -> Iterator[Path]:
    """The folders behind `programs`, the `bin` of a Python environment."""
    yield from _python_of(programs.parent, NEVER)
    if _may_be_shown(programs.parent, NEVER):
        yield programs.parent


def _elsewhere(source: Mapping[str, str], excluded: Collection[str], never: Sequence[str]) -> Iterator[Path]:
    """Folders of tools that are not on PATH: those that a variable names, and the folders of version managers."""
    for name in _NAMED:
        folder = source.get(name, "")
        own = os.path.realpath(os.path.join(folder, "bin")) in excluded
        if os.path.isabs(folder) and os.path.isdir(folder) and not own:
            real = os.path.realpath(folder)
            if not is_below(real, _SYSTEM):
                yield from _needed(Path(folder), never)
    if "HOME" in source:
        for name in _managers():
            manager = Path.home() / name
            if manager.is_dir() and not manager.is_symlink():
                yield from _needed(manager, never)


def _needed(entry: Path, never: Sequence[str]) -> Iterator[Path]:
    """The folders that a PATH entry outside of the system needs; none if it must not be visible."""
    real = Path(os.path.realpath(entry))
    if not _may_be_shown(real, never) or is_below(entry, never):
        return
    whole = _whole(real)
    yield whole or real
    environment = whole or real
    if not whole:
        yield from _linked(real, never)
    if real == Path(os.path.expanduser("~/.local/bin")):  # what `pip install --user` installed
        yield from sorted(real.parent.glob("lib/python3*/site-packages"))
    for one in ecosystems():
        needed = one.beside.get(environment.name)
        if needed and (environment.parent / needed).is_dir():
            yield environment.parent / needed
    yield from _python_of(environment, never)
    if real != entry:
        yield entry  # the entry is behind a link: it must exist under this name too


def _linked(folder: Path, never: Sequence[str]) -> Iterator[Path]:
    """The smallest installations that the links in a folder of programs lead to: a tool of pipx or uv with its Python,
    a package of npm, or one program."""
    with os.scandir(folder) as entries:
        links = [entry.path for entry in islice(entries, _MOST_PROGRAMS) if entry.is_symlink()]
    for link in links:
        target = Path(os.path.realpath(link))
        if not target.is_file() or is_below(target, (*_SYSTEM, str(folder))):
            continue
        installation = _installation(target)
        if _may_be_shown(installation, never):
            yield installation
            yield from _python_of(installation, never)


def _installation(program: Path) -> Path:
    package = None
    for up in program.parents:
        if (up / "pyvenv.cfg").is_file() or up.name in _managers():
            return up
        holder = up.parent.parent if up.parent.name.startswith("@") else up.parent
        if holder.name == LINKED and not up.name.startswith("@"):
            package = up
    return package or program


def _may_be_shown(real: Path, never: Sequence[str]) -> bool:
    home = Path.home()
    private = (home, home / ".local", home / ".config", *home.parents, *map(Path, _NEVER_WHOLE))
    return not is_below(real, never) and real not in private


def _whole(folder: Path) -> Path | None:
    """The folder that the programs in `folder` need as a whole: that of a version manager, or the parent of a `bin` in
    a virtual environment, Conda's, a Python's or Node's. `None` if it is none of these."""
    for up in (folder, *folder.parents):
        if up.name in _managers():
            return up
    prefix, home = folder.parent, Path.home()
    if (prefix / "pyvenv.cfg").is_file():
        return prefix
    if folder.name != "bin" or prefix.name == ".local" or prefix == home or prefix in home.parents:
        return None
    marks = (mark for one in ecosystems() for mark in one.prefixes)
    return prefix if any(any(prefix.glob(mark)) for mark in marks) else None


def _python_of(environment: Path, never: Sequence[str]) -> Iterator[Path]:
    """Yield the Python that a virtual environment was made with, if it is not the system's. The environment can name
    any folder: only a real one is made visible."""
    settings = environment / "pyvenv.cfg"
    if not settings.is_file():
        return
    with settings.open(errors="replace") as file:
        match = re.search(r"^home *= *(/.*?) *$", file.read(1 << 16), re.MULTILINE)
    base = Path(os.path.realpath(match[1])) if match else None
    if base and not is_below(base, _SYSTEM) and _may_be_shown(base, never) and (python := _whole(base)):
        yield python


@cache
def _managers() -> Mapping[str, str]:
    """The folders of version managers in a home, each with the variable that names it."""
    return {name: variable for one in ecosystems() for name, variable in one.tools.items()}


def _variables(folders: tuple[Path, ...]) -> dict[str, str]:
    """The variables by which tools find their folders: without them they search HOME, which differs inside."""
    home = Path.home()
    variables = {
        variable: str(folder)
        for folder in folders
        for name, variable in _managers().items()
        if variable and folder.match(name)
    }
    if home / ".local/bin" in folders and any((home / ".local/lib").glob("python3*/site-packages")):
        variables["PYTHONUSERBASE"] = str(home / ".local")
    return variables
