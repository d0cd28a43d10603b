"""Decide whether a language server may be started, and start it: with an environment without a
proxy, and caches outside the tree.

A server executes what its project configures. One that is not ours needs the same permission as a command of the
agent, and is not started once this run changed a file that it executes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.ecosystems.record import Launch, Server
from bot.toolhost.context import Context

WAIT = 2.0
_MAX_LINKS = 40
_PROXY = re.compile(r"(?i)(https?|all|no|ftp)_proxy$")


BaseContent = Callable[[str], bytes | None]
"""A file of the commit that the run began with, for a link its target; `None` if the commit does not have it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """From the supervisor. `wait` is how long an edit waits, in seconds; `servers` the policy's settings of each, by
    name; `announced` the notes that the model got in this run already. `only_ours` is a clause that says why only our
    own programs may run, empty if others may; `refused` has such clauses for single servers by name. `since` is when
    the agent began, in nanoseconds."""

    wait: float = WAIT
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    announced: frozenset[str] = frozenset()
    only_ours: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    since: int = 1 << 63


def refusal(context: Context, settings: Settings, base: BaseContent, name: str, launch: Launch) -> str:
    """Why the server `name` may not be started so; empty if it may."""
    if launch.argv[0] in context.programs.values():
        return ""
    if reason := settings.only_ours or settings.refused.get(name, ""):
        return reason
    program = launch.argv[0]
    if "/" not in program:
        program = shutil.which(program, path=context.environment.get("PATH", "")) or program
    root = Path(context.real_root)
    for word in (program, *launch.argv[1:], *launch.runs):
        for path in _links_and_file(root / word, root):
            if _is_changed(path, context, settings, base):
                return f"{path.relative_to(root)} was changed in this run, and would be run"
    return ""


def _is_changed(path: Path, context: Context, settings: Settings, base: BaseContent) -> bool:
    name = str(path.relative_to(context.real_root))
    if context.history.versions(name):
        return True
    content = base(name)
    try:
        if content is None:  # not in git: what setup wrote is older than the agent's start
            return os.lstat(path).st_mtime_ns >= settings.since
        return content != (os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes())
    except OSError:
        return True


def start_server(spec: Server, command: Launch, context: Context) -> subprocess.Popen[bytes]:
    """Start the process in a session of its own, with pipes. Raises `OSError`."""
    return context.monitor.start_beside(
        command.argv,
        cwd=command.root or Path(context.real_root),
        env={**environment_of(spec, context), **command.variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


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
