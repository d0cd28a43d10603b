"""Objects planted outside the sandbox that nobody inside may reach, and which of them were reached."""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bot.contracts.errors import NoSandboxError
from bot.toolhost.canaries import TRIES

NAMES = tuple(TRIES)

MAY_BE_CLOSED = frozenset({"kernel settings", "privileges", "io_uring", "user namespace"})
"""Accesses that some machines allow to nobody; then the canary proves nothing."""

_WORDS = {
    "secret file": "a file outside can be read",
    "link out": "a link leads to a file outside",
    "environment of another process": "another process's environment can be read",
    "write outside": "a folder outside can be written",
    "shared temporary folder": "the machine's own temporary folder can be read",
    "TCP": "a port of the machine can be reached",
    "UDP": "a datagram reaches the machine",
    "socket file": "a socket file of the machine can be reached",
    "abstract socket": "an abstract socket of the machine can be reached",
    "signal to another process": "processes outside can be signalled",
    "process left behind": "a process is left when all should have ended",
    "kernel settings": "the kernel's settings can be written",
    "privileges": "capabilities are left, or can be had",
    "io_uring": "io_uring can be used",
    "user namespace": "namespaces can be made",
}


def describe(names: Collection[str]) -> str:
    return "; ".join(_WORDS.get(name, name) for name in sorted(names))


class Canaries(NamedTuple):
    """Planted canaries: `fields` as the start message has them, the socket that datagrams reach, and the tags of hosts
    from which some arrived. In `lock` is a file for each host, which its daemon locks as long as it lives; `None` if no
    daemon is tried."""

    fields: Mapping[str, Any]
    udp: socket.socket
    arrived: set[str]
    lock: Path | None

    def message(self, tag: str) -> dict[str, Any]:
        """The field `canaries` of the start message, see `protocol.md`. `tag` identifies the host."""
        return {**self.fields, "tag": tag, "lock": str(self.lock / tag) if self.lock else ""}

    def reached(self, tag: str, reported: Collection[str]) -> set[str]:
        """The names of the canaries that a host reached, by its report and by what is seen here. Ends its daemon."""
        seen = set(reported)
        with suppress(BlockingIOError):
            while True:
                self.arrived.add(self.udp.recv(64).decode(errors="replace"))
        if tag in self.arrived:
            seen.add("UDP")
        if self.lock is not None:
            path = self.lock / tag
            try:
                with path.open("rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                seen.add("process left behind")
            finally:
                path.unlink()  # not before: the daemon ends when the file is removed
        return seen


@contextmanager
def plant(folder: Path, visible: Path, *, all_of_them: bool = False) -> Iterator[Canaries]:
    """Plant canaries in the new folder `folder`; `visible` is a folder that is visible inside. `all_of_them`: also
    those that need a process. Raises `NoSandboxError` if that is not possible."""
    try:
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            # Not TMPDIR, which may be long: the name of a socket has at most 107 bytes.
            shared = Path(tempfile.mkdtemp(prefix="slash-agent-canary-", dir="/tmp"))
            stack.callback(shutil.rmtree, shared, ignore_errors=True)
            tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=8))
            udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            udp.bind(("127.0.0.1", 0))
            udp.setblocking(False)
            abstract = f"slash-agent-{os.urandom(8).hex()}"
            for address in (str(shared / "socket"), f"\0{abstract}"):
                listener = stack.enter_context(socket.socket(socket.AF_UNIX))
                listener.bind(address)
                listener.listen(8)
            file, link = folder / "secret", visible / f"link-{os.urandom(4).hex()}"
            file.write_text(os.urandom(16).hex())
            link.symlink_to(file)
            stack.callback(link.unlink, missing_ok=True)
            variable, process, lock = "", 0, None
            if all_of_them:
                variable = f"CANARY={os.urandom(16).hex()}"
                process = stack.enter_context(_holder(variable))
                lock = visible / "locks"
                lock.mkdir()
            fields = {
                "file": str(file),
                "link": str(link),
                "outside": str(folder),
                "shared": str(shared),
                "socket": str(shared / "socket"),
                "tcp": tcp.getsockname()[1],
                "udp": udp.getsockname()[1],
                "abstract": abstract,
                "environment": variable,
                "process": process,
            }
            yield Canaries(fields, udp, set(), lock)
    except OSError as error:
        raise NoSandboxError(f"The sandbox could not be probed: {error}.") from error


@contextmanager
def _holder(variable: str) -> Iterator[int]:
    """Yield the id of a sleeping process with this variable in its environment."""
    name, _, value = variable.partition("=")
    nothing = subprocess.DEVNULL  # if we are killed, no reader of our output waits for this process
    sleeping = subprocess.Popen(
        ["/bin/sleep", "60"], env={name: value}, stdin=nothing, stdout=nothing, stderr=nothing
    )
    try:
        yield sleeping.pid
    finally:
        sleeping.kill()
        sleeping.wait()
