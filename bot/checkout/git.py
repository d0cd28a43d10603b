"""Run git with an explicit git directory and a clean environment; nothing is discovered or inherited.

No configuration of system or user applies, and no hook, pager, fsmonitor, prompt or credential helper can run,
whatever the configuration of the repository.
"""

import os
import re
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from bot.checkout.host_programs import find_host_program, host_path
from bot.contracts.capacity import CapacityError, retry_at_capacity
from bot.contracts.errors import READ_ONLY, AgentError, ExitCode, UsageError, shortage_remedy
from bot.contracts.formatting import cut_short, exit_text

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

# Not by `prlimit`, which containers may refuse. `ulimit` fails only where a lower limit holds already.
_LIMIT_SCRIPT = '{ ulimit -d "$1"; ulimit -t "$2"; } 2>/dev/null; shift 2; exec "$@"'
# A fetch that keeps what it receives as one pack and leaves nothing else behind.
FETCH = ("-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance")
CPU_LIMIT = 3600
"""CPU seconds of one git process. Unpacking the history of a huge repository takes minutes."""

_OLDEST_VERSION = (2, 39)
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_SHORTEST_SECRET = 8


class CheckoutError(UsageError):
    """The repository could not be checked out: it is missing, empty, damaged or hostile, or the token has no access.
    The message is one sentence, as in the errors below."""


class RemoteGitError(CheckoutError):
    """A git command that talks to a server failed."""

    def __init__(self, stdout: str, stderr: str) -> None:
        super().__init__("a git command that talks to a server failed")
        self.stdout = stdout
        self.stderr = stderr


class UnavailableError(CheckoutError):
    """The server did not answer. The same request may succeed later."""

    exit_code = ExitCode.UNAVAILABLE


class MissingRevisionError(CheckoutError):
    """The repository has no such branch or commit."""


class GitError(AgentError):
    """A git command failed. `detail` is the last line of its error output, without values passed by environment."""

    def __init__(self, command: str, detail: str) -> None:
        super().__init__(f"git {command} failed: {detail}")
        self.detail = detail


class Git:
    """git on one git directory."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = Path(os.path.abspath(git_dir))
        # A linked work tree has a file there; git follows it, but it cannot be a working folder.
        self._folder = self.git_dir.parent if self.git_dir.is_file() else self.git_dir
        self._program = git_program()

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
        codes: Sequence[int] = (0,),
    ) -> bytes:
        """Return the standard output of `git <args>`, which ends with one of `codes`. `env` is added to the clean
        environment and never appears in errors. Raises `GitError` with git's last line, `CapacityError` for lack of
        disk or memory."""
        paths = {"GIT_WORK_TREE": work_tree, "GIT_INDEX_FILE": index}
        named = {name: os.path.abspath(path) for name, path in paths.items() if path is not None}
        with self._start(args, {**named, **(env or {})}, input, work_tree) as process:
            try:
                output, errors = process.communicate(input)
            except BaseException:
                process.kill()
                raise
        if process.returncode not in codes:
            _check(args[0], process.returncode, errors, env)
        return output

    def listed(
        self,
        *args: str,
        work_tree: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Return the entries that `git <args>` prints with NUL between them. Raises as `run` does."""
        output = self.run(*args, work_tree=work_tree, index=index, env=env)
        return [entry for entry in os.fsdecode(output).split("\0") if entry]

    def line(self, *args: str, input: bytes | None = None, index: Path | None = None) -> str:
        """Return the one line that `git <args>` prints. Raises as `run` does."""
        return self.run(*args, input=input, index=index).decode().strip()

    def chunks(
        self, *args: str, size: int, seconds: float, env: Mapping[str, str] | None = None
    ) -> Generator[bytes]:
        """Yield the standard output of `git <args>` in chunks of at most `size` bytes. git is killed after `seconds`,
        and when the iterator is closed. Raises as `run` does."""
        with self._start(args, env or {}) as process:
            assert process.stdout is not None and process.stderr is not None
            deadline = threading.Timer(seconds, process.kill)
            retry_at_capacity(deadline.start)
            try:
                while piece := os.read(process.stdout.fileno(), size):
                    yield piece
                errors = process.stderr.read()
                process.wait()
            finally:
                deadline.cancel()
                process.kill()
        _check(args[0], process.returncode, errors, env)

    def _start(
        self,
        args: Sequence[str],
        env: Mapping[str, str],
        input: bytes | None = None,
        folder: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        def begin() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*limit_command(), self._program, *args],
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**clean_environment(), "GIT_DIR": str(self.git_dir), **env},
                cwd=folder or self._folder,
            )

        return retry_at_capacity(begin)


def _check(command: str, code: int, errors: bytes, env: Mapping[str, str] | None) -> None:
    if not code:
        return
    detail = last_line(errors, list((env or {}).values()))
    if shortage_remedy(detail):
        # Not a `GitError`: callers take that for git's answer.
        raise CapacityError(f"git {command} failed: {detail}")
    raise GitError(command, detail or exit_text(code))


def git_program() -> str:
    """Return the absolute path of git. Raises `AgentError` if it is not installed."""
    program = find_host_program("git")
    if program is None:
        raise AgentError(
            "git is not installed, or not on PATH (repositories and Python environments do not count): "
            "install git 2.39 or later with the system's package manager"
        )
    return program


def memory_limit() -> int:
    """Return the MiB of memory that a git process may have: 8 GiB, at most three quarters of the machine's memory. A
    few hostile objects can unpack to any size."""
    return min(8 << 10, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 >> 22)


def limit_command() -> list[str]:
    """Return the command prefix that runs git with at most `memory_limit` and `CPU_LIMIT`."""
    return ["/bin/sh", "-c", _LIMIT_SCRIPT, "sh", str(memory_limit() << 10), str(CPU_LIMIT)]


def require_git() -> None:
    """Raise `AgentError` if git is missing or too old."""
    version = subprocess.run(
        [git_program(), "version"], env=clean_environment(), capture_output=True, text=True, check=False
    )
    numbers = re.search(r"(\d+)\.(\d+)", version.stdout)
    if numbers is not None and tuple(map(int, numbers.groups())) < _OLDEST_VERSION:
        raise AgentError(f"{version.stdout.strip()} is too old: install git 2.39 or later")


def clean_environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of a git process. `settings` are further configuration, passed without file or
    command line."""
    environment = {
        "PATH": host_path(),
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
    """Return the most relevant line of git's error output, without `hidden` values and credentials in URLs."""
    text = errors.decode(errors="replace") if isinstance(errors, bytes) else errors
    for secret in hidden:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    lines = [line.strip() for line in _USERINFO.sub("", text).splitlines()]
    lines_left = [line for line in lines if line and not line.startswith("hint:")]
    causes = [line for line in lines_left if shortage_remedy(line) or READ_ONLY in line]
    prominent = [line for line in lines_left if line.startswith(("fatal:", "error:", "remote: error:"))]
    chosen = (causes or prominent or lines_left or [""])[-1]
    return cut_short(chosen.removeprefix("fatal: ").removeprefix("error: "), 500)
