"""Start a tool host: plan its command line, folders, mounts, environment and start message; exchange the first messages
and check the canaries.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bot
from bot.contracts.errors import NoSandboxError
from bot.contracts.tool_descriptions import OUTPUT
from bot.contracts.wire import Frame
from bot.ecosystems.registry import ecosystems
from bot.workspace import canaries, environment, frames
from bot.workspace.dependencies import place_folders
from bot.workspace.frames import Facts
from bot.workspace.process import Host
from bot.workspace.sandbox import toolchains
from bot.workspace.sandbox.confinement import (
    NO_DEPENDENCIES,
    Confinement,
    Dependencies,
    EnvironmentFolder,
    Mounts,
)
from bot.workspace.sandbox.remedies import HOW_TO_FIX
from bot.workspace.sandbox.toolchains import Toolchains

if TYPE_CHECKING:
    from bot.workspace.egress.access import EgressAccess

_START = "import sys; sys.path.insert(0, sys.argv[1]); from bot.toolhost.main import main; main()"

_INSIDE = "/run/slash-agent"
"""The path of the package inside. A work tree might be mounted over its own path, since people install us in a virtual
environment of the repository, or work on this very program: then code that the agent edited would run as the tool
host."""

SKILLS = f"{_INSIDE}/skills"
"""The path of loaded skills inside, the same in every run."""

BROUGHT = f"{_INSIDE}/brought"
"""The prefix of the path inside of a read-only folder that the tree would hide."""

TMP = f"{_INSIDE}/tmp"  # noqa: S108 - ours alone
"""The path of the temporary folder inside: short, since the path of a Unix socket may have 107 bytes."""

PROGRAMS = f"{_INSIDE}/programs"
"""The folder of our own programs inside."""

_MODULES = ("__init__.py", "contracts", "ecosystems", "toolhost")
"""The parts of this package that are visible inside."""

CHECKERS = tuple(name for one in ecosystems() for name in one.bundled)

_ELF = b"\x7fELF"
_HANDSHAKE_LIMIT = 60.0
"""Seconds. A host that ends closes its pipe, so this is for one that hangs, on a machine with other work."""


class Folders(NamedTuple):
    """The folders of one workspace, outside the tree. `tmp/out` is a link to `spill`. `continued`: commands of
    another one wrote in `tmp`."""

    own: Path
    tmp: Path
    spill: Path
    shown: Path
    continued: bool

    @property
    def writable(self) -> tuple[Path, ...]:
        return self.tmp, self.spill, self.shown


def make_folders(own: Path, shown: Path | None, tmp: Path | None) -> Folders:
    """Make the folders in `own`, except the folder `shown`, and the `tmp` of a workspace that is continued, with its
    spilled output."""
    base = tmp.parent if tmp else own
    folders = Folders(own, base / "tmp", base / "spill", shown or own / "shown", tmp is not None)
    for folder in (folders.shown, *(() if tmp else (folders.spill, folders.tmp, folders.tmp / "home"))):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not (tmp or (folders.tmp / OUTPUT).is_symlink()):
        (folders.tmp / OUTPUT).symlink_to(folders.spill)
    return folders


@dataclass(frozen=True)
class StartOptions:
    """How a workspace on `tree` is started. `folder` belongs to it and is outside the tree: `tmp` and `spill` are made
    in it, and `shown`, unless those of another workspace are continued. PATH and locale
    come from `environment`, nothing else; `tools` is what it leads to, if that is known.

    `mount` is the path of the tree inside, its own by default. `bring` are further folders, read-only inside; `skills`
    is a folder that is filled with skills later, inside at `skills_path`; `archives` are folders that the tools may
    read. With `with_caches` the user's downloads are linked in a new HOME. `egress` is the network access, none by
    default. `limits` are the fields of `ResourceLimits` that differ from the defaults, `diagnostics` the options of
    diagnostics, as in `protocol.md`, which are off by default. `dependencies` are visible in the tree. `checks`: the
    commands are setup and checks, not the model's, and `scan` is not used.
    `assume_read`: existing files count as read. `own_git`: the tree's `.git` belongs to a person; it is read-only
    inside, where the sandbox can mount."""

    tree: Path
    folder: Path
    environment: Mapping[str, str]
    _: KW_ONLY
    mount: str | None = None
    assume_read: bool = False
    bring: Sequence[Path] = ()
    skills: Path | None = None
    shown: Path | None = None
    tmp: Path | None = None
    with_caches: bool = False
    tools: Toolchains | None = None
    archives: Sequence[Path] = ()
    egress: EgressAccess | None = None
    limits: Mapping[str, int] | None = None
    diagnostics: Mapping[str, Any] | None = None
    dependencies: Dependencies = NO_DEPENDENCIES
    checks: bool = False
    own_git: bool = False


def plan_start(confinement: Confinement, options: StartOptions, folders: Folders) -> tuple[Mounts, Frame]:
    """What exists inside, and the start message of a host in `folders`."""
    tree, moves = options.tree, confinement.moves
    mount = options.mount or str(tree)
    tools = options.tools or toolchains.find(
        options.environment, tree, options.dependencies.folders, severs=confinement.severs
    )
    known = [one for one in tools.environments if not one.unshown]
    environments = [one for one in options.dependencies.folders if one.created or one in known]
    caches = tools.caches if options.with_caches else ()
    if not folders.continued:  # a new HOME, in which no command has written yet
        for folder, name in caches:
            (folders.tmp / "home" / name).parent.mkdir(parents=True, exist_ok=True)
            (folders.tmp / "home" / name).symlink_to(folder)
    own_programs = find_own_programs(moved=moves, writable=(tree, *folders.writable))
    skills = [] if options.skills is None else [(options.skills, skills_path(confinement, options.skills))]
    authorities = options.egress.authorities if options.egress and confinement.confines else {}
    certificates = ((file, str(file)) for file in dict.fromkeys(authorities.values()))
    hidden = [path for path in options.bring if moves and path.is_relative_to(mount)]
    mounts = Mounts(
        tree,
        mount,
        folders.writable,
        read_only=(*(path for path in options.bring if path not in hidden), *options.archives),
        toolchains=(*tools.folders, *(folder for folder, _ in caches)),
        program=(*host_program(), *own_programs.values(), *certificates),
        environment=(
            *place_folders(tree, [one for one in environments if one.path], moves=moves),
            *(one for one in environments if one.at),
        ),
        own_git=options.own_git,
        tmp=(folders.tmp, TMP) if moves else None,
        moved=(*((path, f"{BROUGHT}{path}") for path in hidden), *skills),
    )
    root = mount if moves else str(tree)
    tmp = Path(TMP) if moves else folders.tmp
    start_message = {
        "type": "hello",
        "root": root,
        "tmp": str(tmp),
        "spill": str(folders.spill),
        "shown": str(folders.shown),
        "readable": [*(path for _, path in skills), *map(str, options.archives)],
        "programs": {name: inside for name, (_, inside) in own_programs.items()},
        "environment": _variables(confinement, options, tools, environments, root, tmp),
        "assume_read": options.assume_read,
        "checks": options.checks,
        "limits": dict(options.limits or {}),
        **({"diagnostics": dict(options.diagnostics)} if options.diagnostics is not None else {}),
    }
    return mounts, start_message


def _variables(
    confinement: Confinement,
    options: StartOptions,
    tools: Toolchains,
    shown: Sequence[EnvironmentFolder],
    root: str,
    tmp: Path,
) -> dict[str, str]:
    """The variables of every command."""
    variables = environment.build(options.environment, tmp / "home", tmp, tools)
    dependencies = options.dependencies._replace(folders=tuple(shown))
    path, moved = variables["PATH"], confinement.moves
    variables |= environment.of_dependencies(dependencies, root, path, moved=moved)
    variables |= environment.of_tree(options.tree, root, variables["PATH"])
    egress = options.egress if confinement.confines else None
    if confinement.confines and egress is None:  # package managers give up at once
        variables |= {name: value for one in ecosystems() for name, value in one.offline.items()}
    elif egress is not None:
        added = egress.variables()
        options_of_both = {name for one in ecosystems() for name in one.settings if name in added}
        variables |= {**added, **{name: f"{variables[name]} {added[name]}" for name in options_of_both}}
    # `CI` turns off what tools do for people, such as writing snapshots, so only checks get it. The tree of the model's
    # commands is scanned, so Python writes its bytecode elsewhere; the trees of checks are thrown away.
    variables |= {"CI": "1"} if options.checks else {"PYTHONPYCACHEPREFIX": str(tmp / "bytecode")}
    return variables


def skills_path(confinement: Confinement, folder: Path) -> str:
    """The path of a folder of skills inside: the same in every run if the sandbox can move paths."""
    return SKILLS if confinement.moves else str(folder)


def find_own_programs(*, moved: bool, writable: tuple[Path, ...]) -> dict[str, tuple[Path, str]]:
    """The checkers that came with us, by name: each with its path here and inside. Where paths are not `moved`, those
    in one of the `writable` folders are left out, since commands could change them."""
    programs: dict[str, tuple[Path, str]] = {}
    for name in CHECKERS:
        path = Path(os.path.realpath(os.path.join(sys.prefix, "bin", name)))
        # A script would need the environment that it was installed in.
        with suppress(OSError), open(path, "rb") as file:
            is_binary = file.read(len(_ELF)) == _ELF and os.access(path, os.X_OK)
            if is_binary and (moved or not any(path.is_relative_to(folder) for folder in writable)):
                programs[name] = (path, f"{PROGRAMS}/{name}" if moved else str(path))
    return programs


def start_host(confinement: Confinement, mounts: Mounts) -> Host:
    """Start a tool host. Raises as `Host` does."""
    # Isolated (`-I`: no PYTHON variables, no user site, no working folder) and without site packages (`-S`), so that no
    # file of the work tree is imported.
    where = _INSIDE if confinement.moves else str(_package().parent)
    return Host(confinement, [interpreter(), "-I", "-S", "-c", _START, where], mounts)


def send(host: Host, message: Frame) -> None:
    host.channel.send(message, time.monotonic() + _HANDSHAKE_LIMIT)


def ready(host: Host) -> Facts:
    return frames.facts(host.channel.receive(time.monotonic() + _HANDSHAKE_LIMIT))


def handshake(confinement: Confinement, host: Host, start_message: Frame, folders: Folders) -> Facts:
    """Send the start message; return the host's facts. Raises `NoSandboxError` where a canary was reached."""
    if not confinement.confines:
        send(host, {**start_message, "canaries": {}})
        return ready(host)
    with canaries.plant(folders.own / "canaries", folders.tmp) as planted:
        send(host, {**start_message, "canaries": planted.message("inside")})
        facts = ready(host)
        reached = planted.reached("inside", facts.leaks)
    if leaks := reached - confinement.lets_through:
        raise NoSandboxError(
            f"The sandbox ({confinement.name}) does not hold: {canaries.describe(leaks)}. {HOW_TO_FIX}"
        )
    return facts


def host_program() -> tuple[tuple[Path, str], ...]:
    """The paths that the command reads, each with its path inside, to be mounted read-only."""
    package = _package()
    modules = ((package / name, f"{_INSIDE}/{package.name}/{name}") for name in _MODULES)
    return (*((folder, str(folder)) for folder in _python()), *modules)


def _package() -> Path:
    return Path(os.path.realpath(bot.__file__)).parent


def interpreter() -> str:
    """The path of Python after all links of a virtual environment."""
    return os.path.realpath(sys.executable)


def _python() -> tuple[Path, ...]:
    prefixes = dict.fromkeys(
        Path(os.path.realpath(prefix)) for prefix in (sys.base_prefix, sys.base_exec_prefix)
    )
    program = Path(interpreter())
    if not any(prefix in program.parents for prefix in prefixes):
        prefixes[program.parent] = None
    return tuple(prefixes)
