"""Prefixes that run a command on a machine with something missing: no sandbox, a container, another user.

`python machines.py KIND... -- COMMAND...` applies the restrictions; it needs the standard library and `bot.workspace`.
"""

import ctypes
import errno
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bot.workspace.sandbox.seccomp import MACHINES, REFUSED, Machine, Rule, filter_of

_SAME_MACHINE = ("bwrap", "--dev-bind", "/", "/")
_NO_NEW_PRIVS, _SECCOMP, _BOUNDING_DROP = 38, 22, 24
NOBODY = 65534
_LANDLOCK = {"landlock_create_ruleset": 444}
# What Docker gives root: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
# sys_chroot, mknod, audit_write, setfcap. No sys_admin, ptrace, perfmon.
_DOCKER_KEEPS = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
# Its default profile allows these to everybody, on kernels since 4.8.
_DOCKER_ALLOWS = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "ioctl",
}  # fmt: skip


def restricted(*kinds: str, python: str = sys.executable) -> list[str]:
    """A prefix for a command: `docker`, `no-landlock`, `nobody`, in any order."""
    return [python, "-I", "-S", __file__, *kinds, "--"]


def without_bubblewrap() -> list[str]:
    """A prefix for a command: bwrap cannot be run."""
    return [*_SAME_MACHINE, "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"]


def without_sandbox() -> list[str]:
    """A prefix for a command: no bwrap, and a kernel without Landlock."""
    return [*without_bubblewrap(), *restricted("no-landlock")]


def _docker(libc: ctypes.CDLL, machine: Machine) -> None:
    """An imitation of the default profile, for a process without CAP_SYS_ADMIN."""
    for capability in set(range(41)) - _DOCKER_KEEPS:
        libc.prctl(_BOUNDING_DROP, capability, 0, 0, 0)
    mask = sum(1 << capability for capability in _DOCKER_KEEPS) if os.getuid() == 0 else 0
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    sets = ctypes.create_string_buffer(
        struct.pack("=6I", *(mask & 0xFFFFFFFF,) * 2, 0, mask >> 32, mask >> 32, 0)
    )
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
    rules = [
        Rule(rule.error, " ".join(set(rule.calls.split()) - _DOCKER_ALLOWS), rule.when) for rule in REFUSED
    ]
    _install(libc, filter_of(machine, rules))


def _no_landlock(libc: ctypes.CDLL, machine: Machine) -> None:
    """A kernel without it: one before 5.13, or one that was built or started so."""
    with_landlock = Machine(machine.architecture, {**machine.calls, **_LANDLOCK}, machine.foreign)
    _install(libc, filter_of(with_landlock, [Rule(errno.ENOSYS, " ".join(_LANDLOCK))]))


def _nobody(libc: ctypes.CDLL, machine: Machine) -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _install(libc: ctypes.CDLL, code: bytes) -> None:
    program = ctypes.create_string_buffer(code, len(code))
    assert libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    program_header = struct.pack("@HP", len(code) // 8, ctypes.addressof(program))
    assert libc.prctl(_SECCOMP, 2, ctypes.c_char_p(program_header), 0, 0) == 0, os.strerror(
        ctypes.get_errno()
    )


def main() -> None:
    split = sys.argv.index("--")
    kinds, command = sys.argv[1:split], sys.argv[split + 1 :]
    libc, machine = ctypes.CDLL(None, use_errno=True), MACHINES[os.uname().machine]
    for kind in sorted(kinds, key=["nobody", "docker", "no-landlock"].index):
        {"nobody": _nobody, "docker": _docker, "no-landlock": _no_landlock}[kind](libc, machine)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
