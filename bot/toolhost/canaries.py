"""Try the accesses that a working sandbox forbids, on objects that the supervisor planted.

An unconfined host runs the same tries: one that fails there proves nothing here.
"""

import ctypes
import fcntl
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from bot.toolhost.system_calls import libc

Planted = Mapping[str, Any]
"""As `protocol.md` has it in `hello`."""

_KERNEL_SETTING = "/proc/sys/kernel/core_pattern"
"""Names a program that the kernel runs outside of every namespace."""

_NEW_USER_NAMESPACE = 0x10000000
_IO_URING_SETUP = 425
_DAEMON_LIMIT = 120.0
"""Seconds. Longer than the supervisor waits for the answers of both hosts."""


def reached(planted: Planted) -> list[str]:
    """The names of the canaries that were reached. Only the supervisor can tell for a datagram and for a process
    that outlives the host."""
    names: list[str] = []
    for name, gets_through in TRIES.items():
        with suppress(OSError):
            names += [name] * gets_through(planted)
    return names


def _readable(path: str) -> bool:
    with open(path, "rb") as file:
        return bool(file.read(1))


def _environment_of_another(planted: Planted) -> bool:
    variables: list[bytes] = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            # It may not be ours to read, or gone.
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as environ:
                variables += environ.read().split(b"\0")
    wanted = planted["environment"].encode()
    return bool(wanted) and wanted in variables


def _write_outside(planted: Planted) -> bool:
    with open(os.path.join(planted["outside"], planted["tag"]), "wb"):
        return True


def _udp(planted: Planted) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(planted["tag"].encode(), ("127.0.0.1", planted["udp"]))
    return False  # that it left does not say that it came


def _connected(family: int, address: Any) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.settimeout(1.0)
        stream.connect(address)
    return True


def _shared_folder(planted: Planted) -> bool:
    folder, name = os.path.split(planted["shared"])
    return name in os.listdir(folder)


def _signal(planted: Planted) -> bool:
    if not planted["process"]:
        return False
    os.kill(planted["process"], 0)
    return True


def _daemon(planted: Planted) -> bool:
    """Start a process outside of the parent and the session. It locks the file `lock` until that is removed."""
    if not planted["lock"]:
        return False
    descriptor = os.open(planted["lock"], os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    child = os.fork()
    if not child:
        try:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, descriptor)
                os.closerange(descriptor + 1, 256)
                until = time.monotonic() + _DAEMON_LIMIT
                while os.fstat(descriptor).st_nlink and time.monotonic() < until:
                    time.sleep(0.01)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(descriptor)
    return False  # the supervisor sees whether it is there when it should not be


def _kernel_setting(planted: Planted) -> bool:
    os.close(os.open(_KERNEL_SETTING, os.O_WRONLY))
    return True


def _privileges(planted: Planted) -> bool:
    """Whether this process has a capability, or could gain one by starting a program."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        fields = dict(line.partition(":")[::2] for line in status)
    has_capability = any(int(fields[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"))
    return has_capability or fields["NoNewPrivs"].strip() != "1"


def _io_uring(planted: Planted) -> bool:
    ring = int(libc.syscall(_IO_URING_SETUP, 1, ctypes.create_string_buffer(120)))
    if ring >= 0:
        os.close(ring)
    return ring >= 0


def _user_namespace(planted: Planted) -> bool:
    """Must be the last try: if it succeeds, this process is in another namespace afterwards."""
    return int(libc.unshare(_NEW_USER_NAMESPACE)) == 0


TRIES: Mapping[str, Callable[[Planted], bool]] = {
    "secret file": lambda planted: _readable(planted["file"]),
    "link out": lambda planted: _readable(planted["link"]),
    "environment of another process": _environment_of_another,
    "write outside": _write_outside,
    "shared temporary folder": _shared_folder,
    "TCP": lambda planted: _connected(socket.AF_INET, ("127.0.0.1", planted["tcp"])),
    "UDP": _udp,
    "socket file": lambda planted: _connected(socket.AF_UNIX, planted["socket"]),
    "abstract socket": lambda planted: _connected(socket.AF_UNIX, "\0" + planted["abstract"]),
    "signal to another process": _signal,
    "process left behind": _daemon,
    "kernel settings": _kernel_setting,
    "privileges": _privileges,
    "io_uring": _io_uring,
    "user namespace": _user_namespace,
}
