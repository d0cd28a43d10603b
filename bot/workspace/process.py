"""Start and end the operating system processes of a workspace, with the pipe to them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial

from bot.contracts.capacity import retry_at_capacity
from bot.contracts.errors import AgentError
from bot.contracts.formatting import cut_short
from bot.contracts.plain_text import printable_name
from bot.toolhost.descendants import below, children, lives, state
from bot.toolhost.system_calls import become_subreaper
from bot.workspace.frames import Channel
from bot.workspace.sandbox.confinement import Confinement, InheritedFiles, Mounts

_GONE_LIMIT = 10.0
_NAMESPACE_LIMIT = 60.0
"""Seconds. The kernel kills process by process, which takes long on a machine with many."""
_OWN_WAY_OUT = 2.0
_OWN_LIMIT = 0.5


class WorkspaceError(AgentError):
    """The tool host died, did not answer or sent an invalid frame; all its processes are dead.

    A new workspace on the same work tree may be started.
    """


class HostEndedError(WorkspaceError):
    """A started tool host ended, was stopped or sent an invalid frame, before the supervisor closed it."""


class Host:
    """The tool host, or the sandbox around it, and the pipe to it; `pipes` are the descriptors to read from it and to
    write to it.

    A thread of its own starts it and stays until it ends. The kernel's "die with parent" means the parent
    *thread*: started on a short-lived one, the sandbox would be killed when that thread returns.
    """

    def __init__(self, confinement: Confinement, argv: Sequence[str], mounts: Mounts) -> None:
        """Run `argv` in `confinement` with `mounts`. Raises `WorkspaceError` if it cannot be started, `NoSandboxError`
        if it cannot be confined."""
        self._confined = confinement.confines
        self._in_namespace = confinement.confines and confinement.moves
        self._first: int | None = None
        started: Future[subprocess.Popen[bytes]] = Future()
        with InheritedFiles() as inherited:
            command = confinement.command(argv, mounts, inherited)
            self._errors, errors = os.pipe()
            from_host, stdout = os.pipe()
            stdin, to_host = os.pipe()
            self.pipes = from_host, to_host
            start = partial(
                subprocess.Popen[bytes], command, env={}, cwd="/", stdin=stdin, stdout=stdout, stderr=errors,
                start_new_session=True, pass_fds=tuple(inherited.descriptors),
            )  # fmt: skip
            self._thread = threading.Thread(
                target=_live, args=(start, started), name="workspace", daemon=True
            )
            retry_at_capacity(self._thread.start)
            try:
                self.process = started.result()
            except OSError as error:
                for fd in (self._errors, *self.pipes):
                    os.close(fd)
                raise WorkspaceError(f"The tool host could not be started: {error}.") from error
            finally:
                for fd in (stdin, stdout, errors):
                    os.close(fd)
        self.channel = Channel(*self.pipes, self._is_stopped)

    def first_inside(self) -> int:
        """The id of the sandbox's first process, 0 if there is none; by a pidfd of it `end` waits for the end of
        all."""
        pid = next(iter(children(self.process.pid)), 0)
        if pid and self._in_namespace and self._first is None:
            with contextlib.suppress(ProcessLookupError):
                self._first = os.pidfd_open(pid)
        return pid

    def last_words(self) -> str:
        """The last line on its standard error: why it ended, if it could tell."""
        os.set_blocking(self._errors, False)
        try:
            text = os.read(self._errors, 1 << 16).decode("utf-8", "replace")
        except BlockingIOError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return printable_name(cut_short(lines[-1], 500)) if lines else ""

    def _is_stopped(self) -> bool:
        """Whether a signal stopped the tool host. A command can send one if no namespace is between them."""
        hosts = children(self.process.pid)[:1] if self._confined else [self.process.pid]
        return any(state(pid)[0] == "T" for pid in hosts)

    def wait(self) -> None:
        """Wait until the process itself has ended; its descendants may live on."""
        self._thread.join(_GONE_LIMIT)

    def end(self) -> None:
        """As `kill`, and close the pipe, which nobody else uses any more."""
        try:
            self.kill()
        finally:
            self.channel.close()

    def kill(self) -> None:
        """Kill every process of the workspace, and wait for their ends; call this once. Raises `WorkspaceError` if one
        cannot be killed."""
        self.channel.hang_up()
        self.first_inside()
        if self._in_namespace:
            self._kill_namespace()
        else:
            if self._confined:
                self.process.terminate()  # the guardian kills its descendants and ends last
            # An unconfined host ends with its pipe, and kills its orphans.
            self._thread.join(_GONE_LIMIT if self._confined else _OWN_WAY_OUT)
            if self._thread.is_alive():
                # The guardian is stopped or starved, or the host hangs: its descendants first, which cannot be found
                # after its end. While it lives, it adopts orphans.
                kill_all(lambda: below(self.process.pid), limit=_GONE_LIMIT if self._confined else 1.0)
                self.process.kill()
        self.wait()
        os.close(self._errors)
        if self._thread.is_alive():
            raise WorkspaceError(f"The tool host (process {self.process.pid}) could not be killed.")

    def _kill_namespace(self) -> None:
        """The first process is PID 1 of a namespace: when that has ended, the kernel has killed all others."""
        first, self._first = self._first, None
        if first is None:
            self.process.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
        self.process.kill()
        gone = select.poll()
        gone.register(first, select.POLLIN)
        done = gone.poll(_NAMESPACE_LIMIT * 1000)
        os.close(first)
        if not done:
            raise WorkspaceError("The sandbox's processes could not be killed.")


def _live(start: Callable[[], subprocess.Popen[bytes]], started: Future[subprocess.Popen[bytes]]) -> None:
    try:
        process = retry_at_capacity(start)
    except OSError as error:
        started.set_exception(error)
        return
    started.set_result(process)
    process.wait()


def kill_all(find: Callable[[], Iterator[int]], limit: float) -> None:
    """Kill what `find` finds until it finds nothing, for at most `limit` seconds."""
    deadline = time.monotonic() + limit
    while (pids := list(find())) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)  # they are not our children, so there is nothing to wait for


def kill_all_of_ours() -> None:
    """Kill all descendants of this process, which is about to end itself."""
    if sys.platform == "linux":
        # This process adopts orphans, and finds them again.
        become_subreaper()
    kill_all(lambda: filter(lives, below(os.getpid())), _OWN_LIMIT)
