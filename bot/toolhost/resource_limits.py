"""The resource limits of one command, and what the model is told of a reached one.

A limit of the kernel reaches the command as an error. `CommandUsage` watches memory and disk, `ProcessMonitor` the
number of processes. How long a call may take is in `bot/contracts/tool_limits.py`.
"""

import contextlib
import os
import resource
import signal
from collections.abc import Iterable, Mapping
from typing import NamedTuple

WHAT_NEXT = {
    "memory": "Do less at once: fewer workers, one part after the other, a smaller input",
    "processes": "Start fewer at once (-j 2, --maxWorkers=2), and look for one that starts itself again and again",
    "disk": "Delete what is not needed (du -sh * shows what is large), then write less",
    "file": "Write less, or in parts",
    "open_files": "Close files, or work with fewer at once",
    "tmpfs": "Delete what is there, or write to $TMPDIR",
}
_SIGNS = {
    "file": (b"File too large", b"File size limit exceeded", b"EFBIG"),
    "memory": (b"Cannot allocate memory", b"MemoryError", b"ENOMEM", b"bad_alloc", b"out of memory"),
    "processes": (
        b"fork: Resource temporarily unavailable",
        b"fork: retry",
        b"EAGAIN",
        b"can't start new thread",
    ),
    "open_files": (b"Too many open files", b"EMFILE"),
    "tmpfs": (b"No space left on device", b"ENOSPC"),
}
"""How programs report errors of the kernel. Other texts have such words too, so they count only if a command failed."""
_FULL = 64 * 1024
_TOO_LARGE = (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)

MIB = 1 << 20
GIB = 1 << 30

_TASKS_A_PROCESS = 4
_MACHINE = "/proc/meminfo"
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_USERS = "/proc/self/uid_map"


class ResourceLimits(NamedTuple):
    """The limits of each command with all that it starts, except `processes`, the limit of the whole workspace. In
    bytes, except `processes` and `open_files`. These are defaults: in a run the policy's `SandboxLimits`
    (`bot/policy/settings.py`) replace them; a test keeps the two equal.

    `memory` is the limit of all processes together, and of the data of one (`RLIMIT_DATA`); `file` the size of one
    file, including its holes; `disk` what all commands together may add to the work tree and the temporary folder;
    `open_files` the limit of one process.
    """

    memory: int = 8 * GIB
    processes: int = 1000
    file: int = 4 * GIB
    disk: int = 8 * GIB
    open_files: int = 65_536


class ExceededLimit(NamedTuple):
    """A limit that a command reached: its name, a field of `ResourceLimits`, and how much was allowed."""

    name: str
    allowed: int


def effective_limits(settings: Mapping[str, object]) -> ResourceLimits:
    """The default limits with `settings` by name, and no more memory than the machine can spare."""
    known = {name: settings.get(name) for name in ResourceLimits._fields}
    wanted = ResourceLimits(**{name: value for name, value in known.items() if type(value) is int})
    sizes = (_first_number(_MACHINE) * 1024, *map(_first_number, _CONTAINER))
    # A quarter is for the supervisor, and for growth between two measurements.
    spared = (size * 3 // 4 for size in sizes if size)
    return wanted._replace(memory=min([wanted.memory, *spared]))


def limit_this_process(chosen: ResourceLimits) -> None:
    """Set the limits of this process and all that it starts, between fork and exec: it cannot set another's.

    A program may raise its own limit of data again (`ulimit -d unlimited`): those built with a sanitiser reserve more
    than any machine has, and the memory that they use is measured from outside.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: chosen.file,
        resource.RLIMIT_NOFILE: chosen.open_files,
        resource.RLIMIT_DATA: chosen.memory,
    }
    # Outside of a user namespace the kernel counts the processes of the user on the whole machine.
    with contextlib.suppress(OSError), open(_USERS, "rb") as file:
        if file.read().split() != [b"0", b"0", b"4294967295"]:
            wanted[resource.RLIMIT_NPROC] = _TASKS_A_PROCESS * chosen.processes

    for which, most in wanted.items():
        soft, hard = resource.getrlimit(which)
        hard_limit = hard if which == resource.RLIMIT_DATA else _lower_of(most, hard)
        resource.setrlimit(which, (_lower_of(most, soft), hard_limit))


def _lower_of(wanted: int, there: int) -> int:
    return wanted if there == resource.RLIM_INFINITY else min(wanted, there)


def _first_number(path: str) -> int:
    with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
        return next((int(word) for word in file.readline().split() if word.isdigit()), 0)
    return 0


def reached_kernel_limit(
    exit_code: int, printed: bytes, limits: ResourceLimits, folders: Iterable[str]
) -> tuple[str, str] | None:
    """The limit of the kernel that a failed command may have reached: its name, and a sentence. `printed` is the end
    of its output; `folders` are searched for a full file system."""
    signs = [name for name, words in _SIGNS.items() if any(word in printed for word in words)]
    name = "file" if exit_code in _TOO_LARGE else next(iter(signs), "")
    if name == "tmpfs":
        full = [f"{folder} ({size_text(size)})" for folder in folders if (size := _full(folder))]
        return (name, f"full: {', '.join(full)}. {WHAT_NEXT[name]}") if full else None
    if not name:
        return None
    allowed = {
        "file": f"one file may have {size_text(limits.file)} here, holes included",
        "memory": f"one process may ask for {size_text(limits.memory)} of memory here, all together may hold as much",
        "processes": f"the workspace may have {limits.processes} processes at once",
        "open_files": f"one process may have {limits.open_files} open files here",
    }[name]
    return name, f"{allowed}. {WHAT_NEXT[name]}"


def _full(folder: str) -> int:
    """The size of the file system that holds `folder`, if nothing is left of it; else 0."""
    try:
        at = os.statvfs(folder)
    except OSError:
        return 0
    is_full = at.f_bavail * at.f_frsize < _FULL or at.f_favail == 0 != at.f_files
    return at.f_blocks * at.f_frsize if is_full else 0


def size_text(count: int) -> str:
    unit, name = (GIB, "GiB") if count >= GIB else (MIB, "MiB") if count >= MIB else (1024, "KiB")
    return f"{count / unit:.3g} {name}"
