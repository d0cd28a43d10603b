"""Find the folders of the host that a command needs for the tools on its PATH."""

from __future__ import annotations

import grp
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bot.toolhost.programs import SYSTEM_PATH as SYSTEM_PATH
from bot.workspace.sandbox.hidden_paths import is_below

_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix/store")
NEVER = ("/proc", "/sys", "/dev", "/run")
_NEVER_WHOLE = ("/", "/tmp", "/var", "/var/tmp")  # noqa: S108

_NAMED = ("RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY", "VIRTUAL_ENV")
"""Variables that name a folder of tools, on PATH or not."""

_HOMES = set(
    """
    .pyenv .rbenv .nodenv .nvm .volta .asdf .cargo .rustup .deno .bun .sdkman .ghcup .dotnet .goenv .mise
    go hostedtoolcache
    """.split()  # noqa: SIM905
)
"""Folders of version managers: their programs need the whole folder, not only the one on PATH. In a person's home they
are visible even if PATH does not contain them."""

_IN_THE_HOME = (*sorted(_HOMES), ".local/share/uv/python", ".local/share/mise")
"""Also the Pythons that uv downloads, which its virtual environments link to."""

_CACHES = (
    ".cache/node/corepack",
    ".m2/wrapper",
    ".gradle/wrapper",
    ".local/share/gem",
    ".gem/ruby",
    ".nuget/packages",
)
"""Folders in a home with what package managers downloaded: read-only, and linked from the HOME inside."""

_LARGEST_SETTINGS = 1 << 16
_MOST_PROGRAMS = 500

_FINDS_ITSELF = {
    ".rustup": "RUSTUP_HOME",
    ".nvm": "NVM_DIR",
    ".pyenv": "PYENV_ROOT",
    ".rbenv": "RBENV_ROOT",
    ".sdkman": "SDKMAN_DIR",
    ".asdf": "ASDF_DATA_DIR",
}
"""The variables by which version managers find their folders: without them they search HOME, which differs inside."""


@dataclass(frozen=True, slots=True)
class Toolchains:
    """`path` is the PATH inside, `folders` are the ones to mount read-only for it, `variables` those by which tools
    find their folders. `caches` are shown as well, each with its path in the HOME inside. `notes` say what is not
    shown, and why."""

    path: str
    folders: tuple[Path, ...]
    variables: Mapping[str, str]
    caches: tuple[tuple[Path, str], ...] = ()
    notes: tuple[str, ...] = ()


def find(
    path: str,
    *,
    source: Mapping[str, str] | None = None,
    leave_out: tuple[Path, ...] = (),
    never: Sequence[str] = NEVER,
    tree: Path | None = None,
) -> Toolchains:
    """The entries of the host's PATH that can be visible inside, and the tools that `source` names or that are in the
    home. Left out are relative entries, folders that are missing, private or in memory, those in `leave_out` (the
    agent's own virtual environment) and those beneath `never`. Commands may have written what is in `tree`, where it is
    visible anyway: nothing is mounted for it."""
    entries: list[str] = []
    folders: list[Path] = []
    notes: list[str] = []
    is_runner = "RUNNER_TEMP" in (source or {})  # of one user, and no command ran yet
    written = (str(tree),) if tree else ()
    never = (*never, *written)
    excluded = {os.path.realpath(folder) for folder in leave_out}
    for entry in path.split(":"):
        real = os.path.realpath(entry)
        if not os.path.isabs(entry) or not os.path.isdir(entry) or real in excluded:
            continue
        if not is_below(real, (*_SYSTEM, *written)):
            needed = list(_needed(Path(entry), never))
            if not needed:
                continue
            if not is_runner and (why := who_may_write(needed[0])):
                notes.append(f"{entry} of PATH is not shown to commands: {why}.")
                continue
            folders += needed
        entries.append(entry)
    folders += _elsewhere(source or {}, excluded, never)
    defaults = [entry for entry in SYSTEM_PATH.split(":") if entry not in entries]
    reasons = {folder: "" if is_runner else who_may_write(folder) for folder in folders}
    notes += [f"{folder} is not shown to commands: {why}." for folder, why in reasons.items() if why]
    unique = tuple(folder for folder, why in reasons.items() if not why)
    path = ":".join([*dict.fromkeys(entries), *defaults])
    caches = tuple(one for one in _caches(source or {}, never) if is_runner or not who_may_write(one[0]))
    return Toolchains(path, unique, _variables(unique), caches, tuple(notes))


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
    if group in (0, os.getegid()):
        return False
    try:
        return bool(grp.getgrgid(group).gr_mem)
    except KeyError:
        return True


def _caches(source: Mapping[str, str], never: Sequence[str]) -> Iterator[tuple[Path, str]]:
    home = os.path.expanduser("~")
    for name in _CACHES if "HOME" in source else ():
        folder = os.path.join(home, name)
        if (
            os.path.isdir(folder)
            and os.path.realpath(folder) == folder
            and _may_be_shown(Path(folder), never)
        ):
            yield Path(folder), name


def needed_by(programs: Path) -> Iterator[Path]:
    """The folders behind `programs`, the `bin` of a Python environment."""
    base = _base_of(programs.parent)
    if base and _may_be_shown(base, NEVER) and (python := _whole(base)):
        yield python
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
        for name in _IN_THE_HOME:
            folder = os.path.join(os.path.expanduser("~"), name)
            if os.path.isdir(folder) and not os.path.islink(folder):
                yield from _needed(Path(folder), never)


def _needed(entry: Path, never: Sequence[str]) -> Iterator[Path]:
    """The folders that a PATH entry outside of the system needs; none if it must not be visible."""
    real = Path(os.path.realpath(entry))
    if not _may_be_shown(real, never) or is_below(str(entry), never):
        return
    whole = _whole(real)
    yield whole or real
    environment = whole or real
    if not whole:
        yield from _linked(real, never)
    if real == Path(os.path.expanduser("~/.local/bin")):  # what `pip install --user` installed
        yield from sorted(real.parent.glob("lib/python3*/site-packages"))
    if environment.name == ".cargo" and (rustup := environment.parent / ".rustup").is_dir():
        yield rustup
    # A virtual environment can name any folder as its Python: only a real one is made visible.
    if (base := _base_of(environment)) and _may_be_shown(base, never) and (python := _whole(base)):
        yield python
    if real != entry:
        yield entry  # the entry is behind a link: it must exist under this name too


def _linked(folder: Path, never: Sequence[str]) -> Iterator[Path]:
    """The smallest installations that the links in a folder of programs lead to: a tool of pipx or uv with its Python,
    a package of npm, or one program."""
    with os.scandir(folder) as entries:
        links = [entry.path for entry in islice(entries, _MOST_PROGRAMS) if entry.is_symlink()]
    for link in links:
        target = Path(os.path.realpath(link))
        if not target.is_file() or is_below(str(target), (*_SYSTEM, str(folder))):
            continue
        installation = _installation(target)
        if _may_be_shown(installation, never):
            yield installation
            if (base := _base_of(installation)) and _may_be_shown(base, never) and (python := _whole(base)):
                yield python


def _installation(program: Path) -> Path:
    package = None
    for up in program.parents:
        if (up / "pyvenv.cfg").is_file() or (up.name in _HOMES and _is_toolchain(up)):
            return up
        holder = up.parent.parent if up.parent.name.startswith("@") else up.parent
        if holder.name == "node_modules" and not up.name.startswith("@"):
            package = up
    return package or program


def _may_be_shown(real: Path, never: Sequence[str]) -> bool:
    home = Path(os.path.expanduser("~"))
    private = (home, home / ".local", home / ".config", *home.parents, *map(Path, _NEVER_WHOLE))
    return not is_below(str(real), never) and real not in private


def _whole(folder: Path) -> Path | None:
    """The folder that the programs in `folder` need as a whole: that of a version manager, or the parent of a `bin` in
    a virtual environment, Conda's, a Python's or Node's. `None` if it is none of these."""
    for up in (folder, *folder.parents):
        if up.name in _HOMES and _is_toolchain(up):
            return up
    prefix, home = folder.parent, Path(os.path.expanduser("~"))
    if (prefix / "pyvenv.cfg").is_file():
        return prefix
    if folder.name != "bin" or prefix.name == ".local" or prefix == home or prefix in home.parents:
        return None
    is_one = (prefix / "conda-meta").is_dir() or (prefix / "lib/node_modules/npm").is_dir()
    return prefix if is_one or any(prefix.glob("lib/python3.*/os.py")) else None


def _base_of(environment: Path) -> Path | None:
    """The `bin` of the Python that a virtual environment was made with; `None` if it is the system's."""
    settings = environment / "pyvenv.cfg"
    if not settings.is_file():
        return None
    with settings.open(errors="replace") as file:
        match = re.search(r"^home *= *(/.*?) *$", file.read(_LARGEST_SETTINGS), re.MULTILINE)
    real = os.path.realpath(match[1]) if match else ""
    return Path(real) if real and not is_below(real, _SYSTEM) else None


def _is_toolchain(folder: Path) -> bool:
    """Whether it is one by its name; "go" only directly in the home."""
    return folder.name != "go" or folder.parent == Path(os.path.expanduser("~"))


def _variables(folders: tuple[Path, ...]) -> dict[str, str]:
    """The variables by which tools find their folders and earlier downloads. They write to HOME, as usual."""
    variables: dict[str, str] = {}
    home = Path(os.path.expanduser("~"))
    for folder in folders:
        if name := _FINDS_ITSELF.get(folder.name):
            variables[name] = str(folder)
        elif folder.name == ".cargo" and (folder / "registry").is_dir():
            variables["CARGO_HOME"] = str(folder)
        elif folder == home / ".local/bin" and any((home / ".local/lib").glob("python3*/site-packages")):
            variables["PYTHONUSERBASE"] = str(home / ".local")
        elif folder.name == "go" and (downloads := folder / "pkg/mod/cache/download").is_dir():
            # Used as a proxy: as a cache it would have to be writable.
            variables["GOPROXY"] = f"file://{downloads},https://proxy.golang.org,direct"
    return variables
