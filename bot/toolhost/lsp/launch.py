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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.ecosystems.record import Launch, Server
from bot.toolhost.context import Context

WAIT = 2.0
_MAX_LINKS = 40
_PROXY = re.compile(r"(?i)(https?|all|no|ftp)_proxy$")


@dataclass(frozen=True, slots=True)
class LaunchPolicy:
    """From the supervisor. `only_ours` is a clause that says why only our own programs may run; empty if others may.
    `refused` has such clauses for single servers by name. `since` is when the agent began, in nanoseconds."""

    only_ours: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    since: int = 1 << 63


@dataclass(frozen=True, slots=True)
class Settings:
    """`wait` is how long an edit waits, in seconds; `servers` the policy's settings of each, by name; `announced` the
    notes that the model got in this run already."""

    wait: float = WAIT
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    announced: frozenset[str] = frozenset()
    launch_policy: LaunchPolicy = field(default_factory=LaunchPolicy)


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """The commit that the run began with. `content(path)` is a file of it, for a link its target; `None` if the
    commit does not have it."""

    content: Callable[[str], bytes | None] = lambda path: None


@dataclass(frozen=True, slots=True)
class LaunchGuard:
    """Decides whether a program may be started."""

    context: Context
    policy: LaunchPolicy
    base: BaseCommit

    def refusal(self, name: str, argv: Sequence[str], runs: Sequence[str] = ()) -> str:
        """Why `argv` may not be started as the server `name`; empty if it may. `runs` are files of the tree whose
        code it executes."""
        if argv[0] in self.context.programs.values():
            return ""
        if reason := self.policy.only_ours or self.policy.refused.get(name, ""):
            return reason
        search_path = self.context.environment.get("PATH", "")
        program = argv[0] if "/" in argv[0] else shutil.which(argv[0], path=search_path) or argv[0]
        root = Path(self.context.real_root)
        for word in (program, *argv[1:], *runs):
            if changed := next(filter(self._is_changed, _links_and_file(root / word, root)), None):
                return f"{changed.relative_to(root)} was changed in this run, and would be run"
        return ""

    def _is_changed(self, path: Path) -> bool:
        name = str(path.relative_to(self.context.real_root))
        if self.context.history.versions(name):
            return True
        base = self.base.content(name)
        try:
            if base is None:  # not in git: what setup wrote is older than the agent's start
                return os.lstat(path).st_mtime_ns >= self.policy.since
            return base != (os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes())
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
