"""Give a workspace network access: the proxy's socket inside, and the variables by which package managers find it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.contracts.capacity import retry_at_capacity
from bot.contracts.errors import NoSandboxError
from bot.ecosystems.registry import ecosystems
from bot.policy.registry_mirrors import Mirror, targets

if TYPE_CHECKING:
    from bot.workspace.egress.proxy import Proxy

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

_PROXY = {
    **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), ADDRESS),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}

# A package's own scripts would run with network access: a command that needs them must enable them (--no-binary,
# --ignore-scripts=false).
_ONLINE = {name: text.format(proxy=PORT) for one in ecosystems() for name, text in one.online.items()}

CA_VARIABLES = (
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    *(name for one in ecosystems() for name in one.authorities),
)
"""Variables that name files of trusted certificates. The value of the first is used for those that are not set."""

_INDEX = {one.egress: one.mirror for one in ecosystems() if one.mirror}
"""The variables for mirrors. Cargo has none: a repository with a mirror names it in its own configuration."""


class EgressAccess(NamedTuple):
    """`presets` may be reached, each at its mirror if `mirrors` has one. `authorities` are files of certificates by
    their variables in `CA_VARIABLES`, visible inside at the same paths."""

    presets: tuple[str, ...]
    mirrors: tuple[Mirror, ...] = ()
    authorities: Mapping[str, Path] = {}

    def variables(self) -> Mapping[str, str]:
        """The variables for every command inside."""
        own = {_INDEX[mirror.preset]: mirror.url for mirror in self.mirrors if mirror.preset in _INDEX}
        whole = self.authorities.get(CA_VARIABLES[0])
        trusted = dict.fromkeys(CA_VARIABLES, whole) if whole else {}
        named = {name: str(path) for name, path in {**trusted, **self.authorities}.items()}
        return {**_PROXY, **_ONLINE, **own, **named}

    def open(self, pid: int) -> Proxy:
        """Start a proxy in the network of process `pid`. Raises `NoSandboxError`."""
        from bot.workspace.egress.proxy import Proxy, system_addresses

        reachable = targets(self.presets, self.mirrors)
        return Proxy(listener_inside(pid), reachable, resolve=system_addresses)


def listener_inside(pid: int) -> socket.socket:
    """A socket that listens on loopback in the network of process `pid`. Raises `NoSandboxError`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        with theirs:
            listen = partial(
                subprocess.run,
                [sys.executable, "-I", "-S", "-c", _LISTEN, str(pid), str(PORT), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env={},
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
            done = retry_at_capacity(listen)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise NoSandboxError(f"The sandbox's network could not be connected to the proxy: {reason}.")
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.set_inheritable(fds[0], False)
    return socket.socket(fileno=fds[0])
