"""Attempts to leave the sandbox, each a function that returns whether it succeeded. Standard library only.

Run with the planted files and processes as JSON in the first argument; prints the names of those that succeeded. The
same script runs without a sandbox, where attempts that the account may do must succeed, and in it.
"""

import ctypes
import errno
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

Planted = dict[str, Any]
CHECKS: dict[str, Callable[[Planted], bool]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)


def check(name: str) -> Callable[[Callable[[Planted], bool]], Callable[[Planted], bool]]:
    def register(function: Callable[[Planted], bool]) -> Callable[[Planted], bool]:
        CHECKS[name] = function
        return function

    return register


def reads(path: str) -> bool:
    with open(path, "rb") as file:
        return bool(file.read(1))


def writes(path: str) -> bool:
    with open(path, "ab"):
        return True


def changes(path: str) -> bool:
    """Only an existing file counts: a new one may be in the sandbox's own file system."""
    with open(path, "r+b"):
        return True


def succeeded(result: int) -> bool:
    return result >= 0


for kind in (".ssh/id_ed25519", ".netrc", ".npmrc", ".docker/config.json", ".aws/credentials", ".config/gh/hosts.yml",
             ".git-credentials", ".pypirc", ".gitconfig", ".kube/config"):  # fmt: skip
    CHECKS[f"read ~/{kind}"] = lambda p, kind=kind: reads(f"{p['home']}/{kind}")
CHECKS["read beside the tree"] = lambda p: reads(p["secret"])
CHECKS["read the runner's temporary folder"] = lambda p: reads(p["runner"])
CHECKS["read through a link in the tree"] = lambda p: reads(p["link"])
CHECKS["list the home"] = lambda p: bool(os.listdir(p["home"]))
CHECKS["list the machine's temporary folder"] = lambda p: p["shared"] in os.listdir("/tmp")
CHECKS["write outside"] = lambda p: writes(f"{p['outside']}/written")
CHECKS["write through a link in the tree"] = lambda p: changes(p["link"])
CHECKS["write in the machine's shared memory"] = lambda p: changes(p["memory"])

for name in ("environ", "maps", "mem", "auxv", "stack"):
    CHECKS[f"look into another process: {name}"] = lambda p, name=name: reads_of(p, name)
for name in ("root/etc/passwd", "cwd/", "fd/0", "exe"):
    CHECKS[f"look into another process: {name}"] = lambda p, name=name: bool(
        os.stat(f"/proc/{p['pid']}/{name}")
    )


def reads_of(planted: Planted, name: str) -> bool:
    if name == "mem":
        os.close(os.open(f"/proc/{planted['pid']}/mem", os.O_RDONLY))
        return True
    return reads(f"/proc/{planted['pid']}/{name}")


@check("find a variable of another process")
def _environments(planted: Planted) -> bool:
    client = b""
    for name in os.listdir("/proc"):
        for path in (f"/proc/{name}/environ", f"/proc/{name}/task/{name}/environ"):
            try:
                with open(path, "rb") as file:
                    client += file.read()
            except OSError:
                continue
    return planted["variable"].encode() in client


@check("signal another process")
def _signal(planted: Planted) -> bool:
    os.kill(planted["pid"], 0)
    return planted["pid"] != os.getpid()


@check("trace another process")
def _trace(planted: Planted) -> bool:
    if LIBC.ptrace(16, planted["pid"], 0, 0) < 0:
        return False
    os.waitpid(planted["pid"], 0x40000000)
    return succeeded(LIBC.ptrace(17, planted["pid"], 0, 0))


@check("take a descriptor of another process")
def _descriptor(planted: Planted) -> bool:
    return succeeded(LIBC.syscall(438, os.pidfd_open(planted["pid"]), 0, 0))


def connects(family: int, address: Any) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        client.connect(address)
        return True


CHECKS["TCP to the machine"] = lambda p: connects(socket.AF_INET, ("127.0.0.1", p["tcp"]))
CHECKS["a socket file"] = lambda p: connects(socket.AF_UNIX, p["socket"])
CHECKS["an abstract socket"] = lambda p: connects(socket.AF_UNIX, "\0" + p["abstract"])


@check("a datagram to the machine")
def _datagram(planted: Planted) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.sendto(b"?", ("127.0.0.1", planted["udp"]))
        return client.recv(1) == b"!"


@check("a machine elsewhere")
def _elsewhere(planted: Planted) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("192.0.2.1", 53))  # asks the kernel for a route, and sends nothing
        return True


for name, family, how in (("raw", 2, 3), ("packet", 17, 3), ("vsock", 40, 1), ("cipher", 38, 5)):
    CHECKS[f"a {name} socket"] = lambda p, family=family, how=how: bool(
        socket.socket(family, how, 1 if family == 2 else 0).close() is None
    )

for name, protocol in (
    ("filters", 12),
    ("the audit", 9),
    ("devices", 15),
    ("generic", 16),
    ("all sockets", 4),
):
    CHECKS[f"a netlink socket of {name}"] = lambda p, protocol=protocol: bool(
        socket.socket(16, 3, protocol).close() is None
    )


@check("changing network interfaces")
def _interface(planted: Planted) -> bool:
    """RTM_DELLINK for an interface that does not exist: without the permission the error is EPERM."""
    body = struct.pack("=BxHiII", 0, 0, 0x7FFFFFF0, 0, 0)
    with socket.socket(16, 3, 0) as client:
        client.send(struct.pack("=IHHII", 16 + len(body), 17, 5, 1, 0) + body)
        return struct.unpack("=i", client.recv(4096)[16:20]) != (-errno.EPERM,)


NEW_USER, NEW_NET, FORK = 0x10000000, 0x40000000, 17
for name, kind in (("user", NEW_USER), ("network", NEW_USER | NEW_NET)):
    CHECKS[f"a new {name} namespace"] = lambda p, kind=kind: in_a_child(lambda: succeeded(LIBC.unshare(kind)))


def in_a_child(attempt: Callable[[], bool]) -> bool:
    child = os.fork()
    if not child:
        os._exit(0 if attempt() else 1)
    return os.waitpid(child, 0)[1] == 0


@check("a process in a new user namespace")
def _cloned(planted: Planted) -> bool:
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = int(LIBC.syscall(number, NEW_USER | FORK, 0, 0, 0, 0))
    if child == 0:
        os._exit(0)
    return child > 0 and os.waitpid(child, 0)[0] == child


CALLS = {  # name: (x86_64, aarch64, arguments with which it does nothing where it is let through)
    "io_uring": (425, 425, (1, ctypes.create_string_buffer(120))),
    "perf": (298, 241, (0, 0, -1, -1, 0)),
    "bpf": (321, 280, (-1, 0, 0)),
    "userfaultfd": (323, 282, (-1,)),
    "memory that is not counted": (447, 447, (-1,)),
    "the kernel's keys": (250, 219, (0, -3, 0)),
    "a handle of a file": (303, 264, (-100, b"/", 0, 0, 0)),
    "opening by handle": (304, 265, (-100, 0, 0)),
    "the new mount calls": (430, 430, (b"no such file system", 0)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "entering a namespace": (308, 268, (-1, 0)),
    "chroot": (161, 51, (0,)),
    "reading another's memory": (310, 270, (1, 0, -1, 0, -1, 0)),
    "comparing processes": (312, 272, (1, 1, 99, 0, 0)),
    "swap": (167, 224, (0, 0)),
    "accounting": (163, 89, (b"/no/such/file",)),
    "kernel modules": (313, 273, (-1, b"", 0)),
    "quotas": (179, 60, (-1, 0, 0, 0)),
}
NOT_ALLOWED = {1, 38}  # EPERM, ENOSYS; any other error comes from further in


def lets_through(call: tuple[int, int, tuple[Any, ...]]) -> bool:
    number = call[0 if os.uname().machine == "x86_64" else 1]
    return LIBC.syscall(number, *call[2]) >= 0 or ctypes.get_errno() not in NOT_ALLOWED


for name, call in CALLS.items():
    CHECKS[f"call: {name}"] = lambda p, call=call: lets_through(call)


@check("the limits of another process")
def _limits(planted: Planted) -> bool:
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    resource.prlimit(planted["pid"], resource.RLIMIT_CORE, limits)
    return True


@check("call: words into a terminal")
def _terminal(planted: Planted) -> bool:
    return LIBC.ioctl(0, ctypes.c_ulong(0x5412), b"x") >= 0 or ctypes.get_errno() != 1


@check("a setting of the kernel")
def _setting(planted: Planted) -> bool:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return True


@check("capabilities, or a way to them")
def _capabilities(planted: Planted) -> bool:
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        fields = dict(line.partition(":")[::2] for line in status)
    return fields["NoNewPrivs"].strip() != "1" or any(
        int(fields[f"Cap{kind}"], 16) for kind in ("Prm", "Eff", "Amb")
    )


@check("a link of another's file into the tree")
def _hard_link(planted: Planted) -> bool:
    os.link(planted["secret"], planted["place"])
    os.unlink(planted["place"])
    return True


@check("moving a file out of the tree")
def _move(planted: Planted) -> bool:
    with open(planted["place"], "w") as file:
        file.write("x")
    try:
        os.rename(planted["place"], f"{planted['outside']}/moved")
    finally:
        if os.path.exists(planted["place"]):
            os.unlink(planted["place"])
    return True


def main() -> None:
    planted = json.loads(sys.argv[1])
    through = []
    for name, attempt in CHECKS.items():
        try:
            if attempt(planted):
                through.append(name)
        except (OSError, struct.error):
            continue
    print(json.dumps(through))


if __name__ == "__main__":
    main()
