"""Run `slash-agent` as a process that is forked from a loaded one.

Loading Python and its packages takes two of the three seconds of a run on the sample. So the test workers share one
process that loads them once and forks for each command line. The child has its own environment, folder, standard
streams and threads, and does what `python -P -m bot` does from the call of `main` on, with short retry delays. Its
command line and its environment in /proc are not its own: tests of these, and of the start, use `run_cold`. With
SLASH_AGENT_TEST_COLD set, nothing is loaded beforehand.
"""

import atexit
import contextlib
import functools
import json
import os
import queue
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bot.run import parts
from bot.session.checks import inspection
from bot.workspace import start
from tests.support.files import write_file
from tests.support.warm_server import LARGEST, no_checkers, remaining_checks

# Seconds that a whole run may take on a busy machine.
LIMIT = 300.0

OnStart = Callable[[int], object]

_START = ("-P", "-m", "bot")
_SERVER = Path(__file__).with_name("warm_server.py")
_CLIENT = Path(__file__).with_name("warm_client.py")


class Forked:
    """The program with `argv`, forked from the loaded one, with these descriptors as its standard streams. Raises
    `RuntimeError` if the loaded process has ended."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | str | None,
        streams: Sequence[int],
    ) -> None:
        request = {
            "argv": list(argv),
            "env": dict(environment),
            "cwd": str(cwd or os.getcwd()),
            "checkers": start.CHECKERS,
            "leave_out_checks": parts.checks_of is remaining_checks,  # type: ignore[attr-defined]  # patched
            "leave_out_checkers": inspection.choose_checkers is no_checkers,  # type: ignore[attr-defined]  # patched
        }
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.settimeout(LIMIT)
        try:
            self._server.connect(_address())
            socket.send_fds(self._server, [json.dumps(request).encode()], streams)
            (self.pid,) = struct.unpack("i", self._server.recv(4))
        except (ConnectionError, struct.error) as error:
            # Starting the program instead would hide the failure and take four times as long.
            raise RuntimeError("the loaded program ended: its standard error says why") from error

    def wait(self, timeout: float) -> int:
        """The exit code. Raises `TimeoutError`, with the process ended."""
        self._server.settimeout(timeout)
        try:
            (code,) = struct.unpack("i", self._server.recv(4))
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            raise
        finally:
            self._server.close()
        return int(code)


def _ignored(pid: int) -> None:
    pass


def run(
    argv: Sequence[object],
    environment: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    input: str = "",
    limit: float = LIMIT,
    on_start: OnStart = _ignored,
) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run`, but forked if `argv` starts the program. The default environment is that of the tests,
    without those that change the start. `on_start` gets the process id.

    The output is printed, so that pytest shows it if the test fails. Raises `subprocess.TimeoutExpired` after `limit`
    seconds, with the process ended.
    """
    words = [str(word) for word in argv]
    env = _ordinary(os.environ) if environment is None else dict(environment)
    if (
        words[:4] != [sys.executable, *_START]
        or len(json.dumps([words, env])) > LARGEST - 1_000
        or not _is_ordinary(env)
        or os.environ.get("SLASH_AGENT_TEST_COLD")
    ):
        return run_cold(words, env, cwd, input, limit, on_start)
    with ExitStack() as stack:
        stdin, *written = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        stdin.write(input.encode())
        stdin.seek(0)
        program = Forked(words[4:], env, cwd, [file.fileno() for file in (stdin, *written)])
        on_start(program.pid)
        try:
            code = program.wait(limit)
        except TimeoutError:
            raise subprocess.TimeoutExpired(words, limit, *map(_content, written)) from None
        return _printed(subprocess.CompletedProcess(words, code, *map(_content, written)))


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


def run_cold(
    argv: Sequence[object],
    environment: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    input: str = "",
    limit: float = LIMIT,
    on_start: OnStart = _ignored,
) -> subprocess.CompletedProcess[str]:
    """Like `run`, but the program is always started."""
    words = [str(word) for word in argv]
    with subprocess.Popen(
        words,
        env=None if environment is None else dict(environment),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        on_start(process.pid)
        try:
            out, err = process.communicate(input, timeout=limit)
        except BaseException:
            process.kill()
            raise
    return _printed(subprocess.CompletedProcess(words, process.returncode, out, err))


def _printed(completed: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    print(
        f"$ {shlex.join(completed.args)}",
        completed.stdout,
        completed.stderr,
        f"ended with {completed.returncode}",
        sep="\n",
    )
    return completed


def run_with_signal(
    argv: Sequence[object],
    environment: Mapping[str, str],
    by: signal.Signals,
    reached: Callable[[], bool],
    cwd: Path | str | None = None,
    limit: float = LIMIT,
    on_start: OnStart = _ignored,
) -> subprocess.CompletedProcess[str]:
    """Like `run`; sends the signal `by` once `reached()` is true."""
    with running(argv, environment, cwd, limit) as program:
        on_start(program.pid)
        deadline = time.monotonic() + limit
        while not reached() and not program.completed.done():
            assert time.monotonic() < deadline, "what was waited for did not happen"
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.kill(program.pid, by)
        return program.completed.result()


@dataclass(frozen=True)
class Running:
    pid: int
    completed: Future[subprocess.CompletedProcess[str]]


@contextlib.contextmanager
def running(
    argv: Sequence[object],
    environment: Mapping[str, str],
    cwd: Path | str | None = None,
    limit: float = LIMIT,
) -> Iterator[Running]:
    """Like `run`, in the background; the end of the block waits for the program."""
    on_start: queue.SimpleQueue[int] = queue.SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        completed = pool.submit(run, argv, environment, cwd, limit=limit, on_start=on_start.put)
        yield Running(on_start.get(timeout=limit), completed)


@functools.cache
def warm_venv() -> Path:
    """A folder like a venv, for scripts: its `bin/python -P -m bot` is the program, forked in the same way. The program
    is not a child of the script and does not get its signals."""
    folder = Path(_temporary_folder(), "venv")
    python = folder / "bin" / "python"
    write_file(
        python,
        f'#!/bin/sh\nexec {sys.executable} -I -S {_CLIENT} {_address()} {sys.executable} {LIMIT} "$@"\n',
        0o755,
    )
    return folder


def client_command(argv: Sequence[str]) -> list[str]:
    """`argv`, which starts the program, for callers that start processes themselves."""
    return [str(warm_venv() / "bin" / "python"), *argv[1:]]


def _ordinary(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not _changes_the_start(name)}


def _changes_the_start(name: str) -> bool:
    """Whether the variable changes how Python or a package starts."""
    return name.startswith(("PYTHON", "LD_", "GIT_PYTHON"))


def _is_ordinary(environment: Mapping[str, str]) -> bool:
    """Whether no variable changes the start. That nothing is compiled changes no result."""
    names = environment.keys() - {"PYTHONDONTWRITEBYTECODE"}
    return environment.get("PATH") == os.environ["PATH"] and not any(map(_changes_the_start, names))


@functools.cache
def _temporary_folder() -> str:
    folder = tempfile.mkdtemp(prefix="slash-agent-warm-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_SHARED = "SLASH_AGENT_TEST_SERVER"


def share_server() -> None:
    """Let the test workers that this process starts share one server, which the first of them that needs it starts:
    loading takes four seconds of processor time."""
    os.environ[_SHARED], listener = _listen()
    threading.Thread(target=_serve_when_asked, args=[listener], daemon=True).start()


def _serve_when_asked(listener: socket.socket) -> None:
    select.select([listener], [], [])
    _serve(listener)


@functools.cache
def _address() -> str:
    """The socket of the server, this process's own unless one is shared. Connections wait until it is ready."""
    if shared := os.environ.get(_SHARED):
        return shared
    address, listener = _listen()
    _serve(listener)
    return address


def _listen() -> tuple[str, socket.socket]:
    address = os.path.join(_temporary_folder(), "socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    return address, listener


def _serve(listener: socket.socket) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    with listener:
        process = subprocess.Popen(
            [sys.executable, "-P", _SERVER, str(listener.fileno())],
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
    atexit.register(process.communicate)
