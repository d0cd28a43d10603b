"""Runs git with an explicit git directory and an environment of our own; nothing is discovered or inherited.

No configuration of the machine or of the person reaches these commands, and no hook, pager, fsmonitor,
prompt or credential helper can run, whatever the repository at hand says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.contracts.room import when_there_is_room

# Settings of the command scope: they win over every configuration file a repository may hold.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.askPass": "",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.ignoreCase": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.quotePath": "true",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
}

_OLDEST = (2, 39)
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_SHORTEST_SECRET = 8


class GitError(UsageError):
    """A git command failed. `detail` is git's own last word on it, free of anything passed by environment."""

    def __init__(self, command: str, detail: str) -> None:
        super().__init__(f"git {command} failed: {detail}")
        self.command = command
        self.detail = detail


class Running:
    """A git command that was started. `wait` must be called, once."""

    def __init__(
        self, process: subprocess.Popen[bytes], command: str, data: bytes | None, hidden: list[str]
    ) -> None:
        self._process = process
        self._command = command
        self._data = data
        self._hidden = hidden

    def wait(self) -> bytes:
        """Standard output. Raises `GitError` when git failed."""
        with self._process as process:
            try:
                output, errors = process.communicate(self._data)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise GitError(
                self._command, last_line(errors, self._hidden) or f"exit code {process.returncode}"
            )
        return output


class Git:
    """git on one git directory."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = Path(os.path.abspath(git_dir))
        self._program = git_program()

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        """Standard output of `git <args>`. Raises `GitError` with git's own last line."""
        return self.start(*args, input=input, work_tree=work_tree, index=index, env=env).wait()

    def start(
        self,
        *args: str,
        input: bytes | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Running:
        """Like `run`, without waiting. `env` is added to the clean environment and never shown in errors."""
        environment = clean_environment()
        environment["GIT_DIR"] = str(self.git_dir)
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = os.path.abspath(work_tree)
        if index is not None:
            environment["GIT_INDEX_FILE"] = os.path.abspath(index)
        environment.update(env or {})

        def begin() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [self._program, *args],
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=work_tree or self.git_dir,
            )

        process = when_there_is_room(begin)
        return Running(process, args[0], input, list((env or {}).values()))


def git_program() -> str:
    """The absolute path of git. Raises `UsageError` where it is not installed."""
    program = shutil.which("git", path=_search_path())
    if program is None:
        raise UsageError("git is not installed, or not on PATH: install git 2.39 or later")
    return program


def require_git() -> None:
    """Raises `UsageError` if git is missing or too old for what is asked of it."""
    asked = subprocess.run(
        [git_program(), "version"], env=clean_environment(), capture_output=True, text=True, check=False
    )
    numbers = re.search(r"(\d+)\.(\d+)", asked.stdout)
    if numbers is not None and tuple(map(int, numbers.groups())) < _OLDEST:
        raise UsageError(f"{asked.stdout.strip()} is too old: install git 2.39 or later")


def _search_path() -> str:
    """PATH without what depends on the folder we are in: that may be a repository with a program called git."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry)) or os.defpath


def clean_environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """All that a git of ours sees. `settings` are further configuration, kept off disk and command line."""
    environment = {
        "PATH": _search_path(),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "LANGUAGE": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        # Not even to fetch an object that a partial clone lacks: its settings may name any program for that.
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PAGER": "cat",
    }
    for number, (key, value) in enumerate({**_SETTINGS, **(settings or {})}.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    environment["GIT_CONFIG_COUNT"] = str(len(_SETTINGS) + len((settings or {}).keys() - _SETTINGS.keys()))
    return environment


def last_line(errors: bytes | str, hidden: list[str]) -> str:
    """The last telling line of what git wrote, without `hidden` values and credentials in URLs."""
    text = errors.decode(errors="replace") if isinstance(errors, bytes) else errors
    for secret in hidden:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    lines = [line.strip() for line in _USERINFO.sub("", text).splitlines()]
    told = [line for line in lines if line and not line.startswith("hint:")]
    prominent = [line for line in told if line.startswith(("fatal:", "error:", "remote: error:"))]
    chosen = (prominent or told or [""])[-1]
    return chosen.removeprefix("fatal: ").removeprefix("error: ")[:500]
