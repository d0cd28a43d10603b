"""Watch which files commands open, with inotify."""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from bot.toolhost.system_calls import checked, libc

MOST = 1_000
"""Files."""

_OPEN = 0x20
_DONT_FOLLOW = 0x02000000
_ONESHOT = 0x80000000
_EVENT = struct.Struct("iIII")
"""An event of a watched file: the number of the watch, what happened, and two fields of no use here."""


class OpenWatch:
    """Watches files of the tree at `root` from its creation on. A file counts once any process opened or executed it:
    a compiler as well as an interpreter. A link is not watched. Raises `OSError` if the kernel grants no watch."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self._paths: dict[int, str] = {}
        self._descriptor = checked(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")
        try:
            for path in paths:
                if len(self._paths) < MOST and os.path.isfile(root / path):
                    mask = ctypes.c_uint32(_OPEN | _DONT_FOLLOW | _ONESHOT)
                    name = os.fsencode(root / path)
                    number = checked(libc.inotify_add_watch(self._descriptor, name, mask), "inotify")
                    self._paths[number] = path
        except OSError:
            os.close(self._descriptor)
            raise

    def end(self) -> list[str]:
        """Return the files that were opened, and stop. Call it once."""
        opened: set[str] = set()
        try:
            while events := os.read(self._descriptor, _EVENT.size * MOST):
                opened |= {self._paths[one] for one, what, *_ in _EVENT.iter_unpack(events) if what & _OPEN}
        except BlockingIOError:
            pass  # that was the last one
        finally:
            os.close(self._descriptor)
        return sorted(opened)
