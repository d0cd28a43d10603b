"""Try what a sound sandbox forbids, on things that the supervisor planted and knows to be reachable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

_KERNEL_SETTING = "/proc/sys/kernel/core_pattern"
"""Names a program that the kernel runs outside of everything."""


def leaks(planted: Mapping[str, Any]) -> list[str]:
    """What could be reached, in words; empty behind a sound wall. `planted` is as `protocol.md` has it."""
    found = [f"the file {path} can be read" for path in planted["files"] if _readable(path)]
    if _reachable(planted["port"]):
        found.append(f"the loopback port {planted['port']} can be reached")
    if _writable(planted["outside"]):
        found.append(f"the folder {planted['outside']} can be written")
    if os.access(_KERNEL_SETTING, os.W_OK):
        found.append(f"the kernel's settings can be written, such as {_KERNEL_SETTING}")
    return found


def _readable(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True


def _writable(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "written-from-inside"), "wb"):
            return True
    except OSError:
        return False


def _reachable(port: int) -> bool:
    import _socket  # the C module alone: the start waits for this, and `socket` costs 9 ms more

    try:
        with_timeout = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    except OSError:
        return False  # no sockets at all
    try:
        with_timeout.settimeout(1.0)
        with_timeout.connect(("127.0.0.1", port))
    except OSError:
        return False
    finally:
        with_timeout.close()
    return True
