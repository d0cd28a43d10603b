"""Open what a sandbox shows to commands.

A command can put a link or a socket in place of any file that it can write, so both back ends get every path from here:
bubblewrap mounts the descriptor, Landlock adds a rule for it.
"""

import os
import stat

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_PART = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class MountSourceError(Exception):
    """A path that is not shown to commands."""


def open_source(path: str, *, of_run: bool) -> int:
    """Return a descriptor of the folder or regular file at `path`, which is absolute and contains no link.

    `of_run`: the run or its commands made it, so it must belong to this user. Raises `MountSourceError`, and
    `OSError` if nothing is there.
    """
    names = path.split("/")
    if names[0] or ".." in names:
        raise MountSourceError(f"{path} is not shown to commands: it is no absolute path.")
    here = os.open("/", _PART)
    try:
        for name in filter(None, names):
            inner = os.open(name, _PART, dir_fd=here)
            os.close(here)
            here = inner
            if kind := kind_of(os.fstat(here).st_mode):
                raise MountSourceError(
                    f"{path} is not shown to commands: {name} is {kind}. If a command made it, remove it and start "
                    "again."
                )
        owner = os.fstat(here).st_uid
        if of_run and os.geteuid() not in (0, owner):
            raise MountSourceError(
                f"{path} is not shown to commands: it belongs to user {owner}, not to {os.geteuid()}."
            )
    except BaseException:
        os.close(here)
        raise
    return here


def kind_of(mode: int) -> str:
    """Return what a file that is not shown is, with its article; empty for a folder or a regular file."""
    return _KINDS.get(stat.S_IFMT(mode), "")
