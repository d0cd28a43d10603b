"""Decide whether a server may be started for a file, and start it: with an environment without a proxy, and caches
outside the tree.

A server executes what its project configures. One that is not ours needs the same permission as a command of the
agent, and is not started once this run changed a file that it executes.
"""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bot.ecosystems.language_server import Launch, Server
from bot.ecosystems.program_search import Place
from bot.ecosystems.registry import ecosystems
from bot.toolhost.context import Context
from bot.toolhost.programs import start_program
from bot.toolhost.resource_limits import limit_this_process

_MAX_LINKS = 40
_PROXY = re.compile(r"(?i)(https?|all|no|ftp)_proxy$")

BaseContent = Callable[[str], bytes | None]
"""A file of the commit that the run began with, for a link its target; `None` if the commit does not have it."""


@dataclass(frozen=True)
class Settings:
    """From the supervisor. `wait` is how long an edit waits, in seconds; `servers` the policy's settings of each, by
    name. `refused` says by name, as a clause, why a server may run by a program of ours alone. `since` is when the
    agent began, in nanoseconds. Between `starting` and `started` of this tool host no command ran: what is of that
    time, the sandbox placed."""

    wait: float = 2.0
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    since: int = field(default_factory=time.time_ns)
    starting: int = 0
    started: int = field(default_factory=time.time_ns)


class Launcher:
    """Decides whether a server may be started, and starts it. `base` reads files of the commit that the run began
    with."""

    def __init__(self, context: Context, settings: Settings, base: BaseContent) -> None:
        self._context = context
        self._settings = settings
        self._base = base
        self._root = Path(context.real_root)

    def find(self, spec: Server, name: str) -> Launch | str:
        """How to start a server for the file `name`; else why it may not be, empty if none is wanted."""
        wanted = self._settings.servers.get(spec.name, {})
        if wanted.get("off"):
            return ""
        context, configured = self._context, str(wanted.get("command", ""))
        bins = tuple(folder for one in ecosystems() for folder in one.bins)
        folder = (self._root / name).parent
        place = Place(self._root, folder, context.environment, context.programs, bins, configured)
        launch = spec.find(place)
        if configured:
            launch = replace_command(configured, launch)
        return launch if isinstance(launch, str) else self.refusal(spec.name, launch) or launch

    def refusal(self, name: str, launch: Launch) -> str:
        """Why the server `name` may not be started so; empty if it may."""
        program = launch.argv[0]
        if program in self._context.programs.values():
            return ""
        if reason := self._settings.refused.get(name, ""):
            return reason
        if "/" not in program:
            program = shutil.which(program, path=self._context.environment.get("PATH", "")) or program
        for word in (program, *launch.argv[1:], *launch.runs):
            for path in _links_and_file(self._root / word, self._root):
                if self._is_changed(path):
                    return f"{path.relative_to(self._root)} was changed in this run, and would be run"
        return ""

    def start(self, spec: Server, launch: Launch) -> subprocess.Popen[bytes]:
        """Start the process in a session of its own, with pipes and a command's limits. Raises `OSError`."""
        return start_program(
            launch.argv,
            preexec_fn=partial(limit_this_process, self._context.monitor.limits),
            cwd=launch.root or self._root,
            env={**environment_of(spec, self._context), **launch.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _is_changed(self, path: Path) -> bool:
        if (name := str(path.relative_to(self._root))) in self._context.originals:  # a tool wrote it
            return True
        content, settings = self._base(name), self._settings
        try:
            if content is None:  # not in git: what setup wrote is older than the agent's start
                written = os.lstat(path).st_mtime_ns
                is_from_setup = 0 < settings.starting <= written <= settings.started
                return written >= settings.since and not is_from_setup
            return content != (os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes())
        except OSError:
            return True


def replace_command(command: str, usual: Launch | str) -> Launch | str:
    """The command of the policy with the options of the usual one."""
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        return f"its command in the policy cannot be read: {error}"
    if not argv:
        return "its command in the policy is empty"
    return (usual if isinstance(usual, Launch) else Launch(()))._replace(argv=argv)


def environment_of(spec: Server, context: Context) -> dict[str, str]:
    """The environment of commands without proxies, with the variables that lead caches out of the tree."""
    inherited = {name: value for name, value in context.environment.items() if not _PROXY.match(name)}
    own = {name: value.replace("{tmp}", str(context.tmp)) for name, value in spec.variables.items()}
    return {**inherited, "XDG_CACHE_HOME": f"{context.tmp}/cache", **own}


def _links_and_file(path: Path, root: Path) -> Iterator[Path]:
    """The links below `root` that a path follows, and the file below it that it ends at."""
    parts, position, links = list(reversed(path.parts)), Path("/"), 0
    while parts and links < _MAX_LINKS:
        part = parts.pop()
        position = position.parent if part == ".." else position / part
        if os.path.islink(position):
            links += 1
            if position.is_relative_to(root):
                yield position
            parts.extend(reversed(Path(os.readlink(position)).parts))
            position = position.parent
    if position.is_relative_to(root) and os.path.isfile(position):
        yield position
