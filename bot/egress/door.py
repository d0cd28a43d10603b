"""Puts the proxy's socket inside a workshop's network, where nothing else can be reached.

A process of our own enters the network namespace of the workshop's first process, which only its creator may, listens
there on loopback, and hands the socket back. Nothing of it stays inside, and no command has run there before.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import partial

from bot.contracts.errors import NoSandboxError
from bot.contracts.room import when_there_is_room

PORT = 3128
ADDRESS = f"http://127.0.0.1:{PORT}"

# Enters the user namespace that owns the network (not the inner one, which owns nothing), then the network itself.
_LISTEN = """
import ctypes, fcntl, os, socket, sys
pid, port, back = map(int, sys.argv[1:])
NS_GET_USERNS = 0xB701
NEWUSER, NEWNET = 0x10000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
def enter(fd, kind):
    if libc.setns(fd, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
owner = fcntl.ioctl(network, NS_GET_USERNS)
if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino:
    enter(owner, NEWUSER)
enter(network, NEWNET)
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
listener.bind(("127.0.0.1", port))
listener.listen(64)
socket.send_fds(socket.socket(fileno=back), [b"x"], [listener.fileno()])
"""


def listener_inside(pid: int, port: int = PORT) -> socket.socket:
    """A socket that listens on loopback in the network of process `pid`. Raises `NoSandboxError`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        with theirs:
            listen = partial(
                subprocess.run,
                [sys.executable, "-I", "-S", "-c", _LISTEN, str(pid), str(port), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),), env={}, capture_output=True, text=True, timeout=20, check=False,
            )  # fmt: skip
            done = when_there_is_room(listen)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise NoSandboxError(f"The sandbox's network could not be connected to the proxy: {said}.")
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.set_inheritable(fds[0], False)
    return socket.socket(fileno=fds[0])
