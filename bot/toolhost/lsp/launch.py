"""Decide whether a language server or checker may be started, probe it, and start it: with an environment without a
proxy, and caches outside the tree.

A server executes what its project configures. One that is not ours needs the same permission as a command of the
agent, and is not started once this run changed a file that it executes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.contracts.plain_text import printable
from bot.toolhost.context import Context
from bot.toolhost.lsp.codecs import LspCodec, TsserverCodec
from bot.toolhost.lsp.process import ServerConfig, Timeouts
from bot.toolhost.lsp.registry import LaunchCommand, ServerSpec
from bot.toolhost.programs import Cancellation, run_program

WAIT = 3.0
MEMORY = 2 << 30
"""Bytes of one server with all its child processes; over it, it is stopped."""

_PROBE_TIMEOUT = 10.0
"""Seconds in which a program must print its version."""

_PROBE_OUTPUT = 64 * 1024
_MAX_LINKS = 40
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
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
    notes that the model got in this run already. `versions` is filled by probes."""

    wait: float = WAIT
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    announced: frozenset[str] = frozenset()
    memory: int = MEMORY
    timeouts: Timeouts = field(default_factory=Timeouts)
    launch_policy: LaunchPolicy = field(default_factory=LaunchPolicy)
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """The commit that the run began with. `content(path)` is a file of it, for a link its target; `None` if the
    commit does not have it. `export(folder)` writes all of it there and returns whether that succeeded."""

    content: Callable[[str], bytes | None] = lambda path: None
    export: Callable[[Path], bool] = lambda folder: False


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


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts one server or checker: `command` for `spec`, after a probe."""

    spec: ServerSpec
    command: LaunchCommand
    context: Context
    settings: Settings
    guard: LaunchGuard

    def server_config(self) -> ServerConfig | str:
        """The configuration of the server; else why it cannot run."""
        environment = self.probe()
        if isinstance(environment, str):
            return environment
        return ServerConfig(
            self.spec.name,
            self.command.argv,
            Path(self.context.real_root),
            environment,
            self.command.settings,
            self.command.options,
            timeouts=self.settings.timeouts,
            project=self.command.root,
            codec=TsserverCodec if self.command.tsserver else LspCodec,
            spawn=self._spawn,
        )

    def probe(self) -> dict[str, str] | str:
        """The environment for a program that prints its version; else why it cannot run. A name on PATH proves
        nothing: rustup's proxies exit with 1."""
        command = self.command
        environment = {**environment_of(self.spec, self.context), **command.variables}
        try:
            result = run_program(
                command.version_argv,
                cwd=command.root or Path(self.context.real_root),
                environment=environment,
                timeout=_PROBE_TIMEOUT,
                cap=_PROBE_OUTPUT,
                cancelled=Cancellation(),  # not that of the call: the result of the probe is used by later calls
                start=self.context.monitor.start_beside,
            )
        except OSError as error:
            return f"{command.argv[0]} could not be run: {error.strerror}"
        words = " ".join(command.version_argv)
        if result.timed_out:
            return f"{words} took more than {_PROBE_TIMEOUT:g} s{_last_line(result.errors)}"
        if result.exit_code != 0:
            return f"{words} ended with exit code {result.exit_code}{_last_line(result.errors)}"
        match = _NUMBER.search(result.output.decode("utf-8", "replace"))
        self.settings.versions[self.spec.name] = match[0] if match else ""
        return environment

    def refusal(self) -> str:
        """Why the program may not be started now; empty if it may."""
        return self.guard.refusal(self.spec.name, self.command.argv, self.command.runs)

    def _spawn(self, config: ServerConfig) -> Any:
        """Checks again before each start: the program may have been replaced since."""
        import subprocess

        if reason := self.refusal():
            raise OSError(reason)
        return self.context.monitor.start_beside(
            config.argv,
            cwd=config.folder,
            env=dict(config.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )


def environment_of(spec: ServerSpec, context: Context) -> dict[str, str]:
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


def _last_line(stderr: bytes) -> str:
    text = printable(stderr.decode("utf-8", "replace"))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""
