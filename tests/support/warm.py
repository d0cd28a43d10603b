"""`slash-agent` as a process of its own that need not start from nothing.

Two of three seconds of a whole run on the sample are Python and its packages loading. So one process a test worker
loads them once and forks for each command line: another process with its own environment, folder, standard streams and
threads, which does what `python -P -m bot` does from the call of `main` on; only its pauses before it tries again are
short. Its command line in /proc and the environment that it was started with are not its own, so what looks at these,
or at how the program starts, takes `run_cold`. With SLASH_AGENT_TEST_COLD set, nothing is loaded beforehand.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import json
import os
import queue
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
from dataclasses import dataclass
from pathlib import Path

from bot.session.job import run_context, run_environment
from bot.workspace import start
from tests.support.warm_server import LARGEST, no_checkers, remaining_checks

# Seconds that a whole run may take on a machine that does ten other things.
LIMIT = 300.0

OnStart = Callable[[int], object]

_START = ("-P", "-m", "bot")
_SERVER = Path(__file__).with_name("warm_server.py")
_CLIENT = Path(__file__).with_name("warm_client.py")


def leaves_out_checks() -> bool:
    return run_environment.checks_of is remaining_checks  # type: ignore[attr-defined]  # patched


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
    """What `subprocess.run` gives for `argv`; forked if it is the program as `command` names it. Without
    `environment` it is ours. `begun` gets the process id.

    What it said is printed: pytest shows it where the test fails. Raises `subprocess.TimeoutExpired` after `limit`
    seconds, with the process ended, and `RuntimeError` where the process that forks has ended.
    """
    words = [str(word) for word in argv]
    env = dict(os.environ if environment is None else environment)
    request = json.dumps({
        "argv": words[4:], "env": env, "cwd": str(cwd or os.getcwd()), "checkers": start.CHECKERS,
        "leave_out_checks": leaves_out_checks(),
        "leave_out_checkers": run_context.checker_factory is no_checkers,
    }).encode()  # fmt: skip
    if (
        words[:4] != [sys.executable, *_START]
        or len(request) > LARGEST
        or not _is_ordinary(env)
        or os.environ.get("SLASH_AGENT_TEST_COLD")
    ):
        return run_cold(words, env, cwd, input, limit, on_start)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(input.encode())
        stdin.seek(0)
        return _printed(_run_forked(request, words, stdin.fileno(), limit, on_start))


def run_cold(
    argv: Sequence[object],
    environment: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    input: str = "",
    limit: float = LIMIT,
    on_start: OnStart = _ignored,
) -> subprocess.CompletedProcess[str]:
    """The same, and the program is started as it is everywhere else."""
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


def _printed(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    print(f"$ {shlex.join(done.args)}", done.stdout, done.stderr, f"ended with {done.returncode}", sep="\n")
    return done


def run_with_signal(
    argv: Sequence[object],
    environment: Mapping[str, str],
    by: signal.Signals,
    reached: Callable[[], bool],
    cwd: Path | str | None = None,
    limit: float = LIMIT,
) -> subprocess.CompletedProcess[str]:
    """The same as `run`, with a signal to the program once `reached()`, which is asked until then."""
    with running(argv, environment, cwd, limit) as program:
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
    """The same as `run`, beside the block, whose end waits for it."""
    on_start: queue.SimpleQueue[int] = queue.SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        completed = pool.submit(run, argv, environment, cwd, limit=limit, on_start=on_start.put)
        yield Running(on_start.get(timeout=limit), completed)


@functools.cache
def warm_venv() -> Path:
    """A folder like a venv, for scripts: its `bin/python -P -m bot` is the program, forked in the same way. A signal to
    it does not reach the program, and the program's process is not below the script."""
    folder = Path(_temporary_folder(), "venv")
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\nexec {sys.executable} -I -S {_CLIENT} {_address()} {sys.executable} {LIMIT} "$@"\n'
    )
    python.chmod(0o755)
    return folder


def client_command(argv: Sequence[str]) -> list[str]:
    """`argv`, which starts the program, for whatever starts processes by itself: with streams of its own, say."""
    return [str(warm_venv() / "bin" / "python"), *argv[1:]]


def _is_ordinary(environment: Mapping[str, str]) -> bool:
    """Nothing in it changes how Python or a package starts."""
    return environment.get("PATH") == os.environ["PATH"] and not any(
        name.startswith(("PYTHON", "LD_", "GIT_PYTHON")) for name in environment
    )


def _run_forked(
    request: bytes, argv: Sequence[str], stdin: int, limit: float, on_start: OnStart
) -> subprocess.CompletedProcess[str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as ours:
        out, err = _Reader(), _Reader()
        handles = array.array("i", [stdin, out.write_end, err.write_end])
        try:
            ours.settimeout(limit)
            ours.connect(_address())
            ours.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
            (pid,) = struct.unpack("i", ours.recv(4))
        except (ConnectionError, struct.error) as error:
            # Starting the program from nothing would pass as well, and take four times as long in silence.
            raise RuntimeError("the loaded program ended: its standard error says why") from error
        finally:
            out.begin()
            err.begin()
        on_start(pid)
        try:
            (code,) = struct.unpack("i", ours.recv(4))
            written = [reader.text(limit) for reader in (out, err)]
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(argv), limit, out.so_far(), err.so_far()) from None
    return subprocess.CompletedProcess(list(argv), code, *written)


class _Reader:
    """One pipe, read to its end by a thread."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> None:
        """Once the other process has the writing end."""
        os.close(self.write_end)
        self._thread.start()

    def text(self, limit: float) -> str:
        """All of it. Raises `TimeoutError` where somebody still holds the other end."""
        self._thread.join(limit)
        if self._thread.is_alive():
            raise TimeoutError
        return self._data.decode().replace("\r\n", "\n").replace("\r", "\n")

    def so_far(self) -> bytes:
        return bytes(self._data)

    def _read(self) -> None:
        with open(self._read_end, "rb", buffering=0) as pipe:
            while piece := pipe.read(1 << 16):
                self._data += piece


@functools.cache
def _temporary_folder() -> str:
    folder = tempfile.mkdtemp(prefix="slash-agent-warm-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _address() -> str:
    """Where this test worker's server listens. The connections that come before it is ready wait."""
    address = os.path.join(_temporary_folder(), "socket")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen(16)
        process = subprocess.Popen(
            [sys.executable, "-P", _SERVER, str(listening.fileno())],
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )
    atexit.register(process.communicate)
    return address
