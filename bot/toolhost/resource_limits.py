"""The resource limits of one command, and those that the kernel enforces.

A limit of the kernel reaches the command as an error. `CommandUsage` watches memory and disk, `ProcessMonitor` the
number of processes. How long a call may take is in `bot/contracts/tool_descriptions.py`.
"""

import contextlib
import resource
from collections.abc import Mapping
from typing import NamedTuple

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
