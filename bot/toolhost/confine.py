"""Confine the tool host with Landlock and seccomp, without capabilities, below a guardian process that kills whatever
the host leaves behind.

Used where no namespaces are available. It runs before anything else is read or imported, while there is one thread;
it cannot be undone, and child processes inherit it. `bot/workspace/sandbox/landlock.py` makes the plan.
"""

import ctypes
import os
import select
import signal
import stat
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from bot.contracts import wire
from bot.toolhost.mount_sources import open_source
from bot.toolhost.system_calls import become_subreaper, checked, libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same on every machine."""

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _CAPBSET_DROP, _CAP_AMBIENT = 38, 22, 24, 47
_AMBIENT_CLEAR_ALL = 4
_FILTER = 2
_PATH_BENEATH = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _READ_FILE | _READ_DIR
_ALL_OF_TCP = 0b11
_ALL_SCOPES = 0b11
_REFER = 1 << 13
_SIGNALS = 0b10
_KNOWS_SCOPES = 6


def main() -> None:
    """`python -I -S -c ... PACKAGE DESCRIPTOR PROGRAM...`: confine this process, then run the program in it."""
    _, _, descriptor, *argv = sys.argv
    confine(int(descriptor))
    become(argv)


def become(argv: list[str]) -> None:
    """Run `argv` in this process: in this interpreter if it is ours, since another one could not list the folder of our
    package any more."""
    if argv[:3] != [sys.executable, "-I", "-S"]:
        os.execv(argv[0], argv)  # noqa: S606
    names = {"__name__": "__main__"}
    if argv[3] == "-c":
        sys.argv = ["-c", *argv[5:]]
        exec(argv[4], names)  # noqa: S102 - from the supervisor
    else:
        sys.argv = argv[3:]
        with open(argv[3], encoding="utf-8") as script:
            exec(compile(script.read(), argv[3], "exec"), names)  # noqa: S102


def confine(descriptor: int) -> None:
    """Apply the plan in the file `descriptor`. Returns in a new process, of which this one becomes the guardian.
    Raises `OSError` if the kernel refuses a part of it: then nothing may run."""
    with open(descriptor, "rb") as file:
        plan = wire.decode(file.read())
    checked(libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _drop_capabilities(plan["kept_capabilities"])
    alone = plan["abi"] >= _KNOWS_SCOPES
    if alone:
        # This process may signal only its descendants: then the guardian, which is outside of the host's own
        # confinement, may kill every process that the kernel lets it signal. A ruleset refuses to move files between
        # folders unless it allows that.
        ruleset = _ruleset(24, _REFER, 0, _SIGNALS)
        _allow(ruleset, "/", os.open("/", os.O_PATH | os.O_CLOEXEC), _REFER)
        _enter(ruleset)
    fork(alone=alone)
    _restrict(plan)
    code = bytes.fromhex(plan["seccomp"])
    program = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("@HP", len(code) // 8, ctypes.addressof(program))
    checked(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.c_char_p(described), 0, 0), "seccomp")


def _drop_capabilities(allowed: Sequence[int]) -> None:
    """Drop all capabilities that this process has and, if permitted, all that it could gain."""
    for capability in set(range(_LAST_CAPABILITY + 1)) - set(allowed):
        # Refused without capabilities, and then none can be gained.
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    mask = sum(1 << capability for capability in allowed)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    sets = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0))
    checked(libc.capset(header, sets), "capset")


def _ruleset(size: int, *attributes: int) -> int:
    """A new ruleset; of the attributes for files, TCP and scopes the kernel knows as many as `size` bytes hold."""
    packed = ctypes.c_char_p(struct.pack("=QQQ", *attributes))
    return checked(libc.syscall(_CREATE_RULESET, packed, ctypes.c_size_t(size), 0), "Landlock")


def _enter(ruleset: int) -> None:
    checked(libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _restrict(plan: Mapping[str, Any]) -> None:
    abi = plan["abi"]
    # Every right over files that this version of Landlock knows.
    handled = (1 << (16 if abi >= 5 else 15)) - 1
    size = 24 if abi >= _KNOWS_SCOPES else 16 if abi >= 4 else 8
    ruleset = _ruleset(size, handled, _ALL_OF_TCP, _ALL_SCOPES)
    writing = handled & ~(_MAKE_CHAR | _MAKE_BLOCK)
    for paths, access, of_run in (
        (plan["run"], _READ | _EXECUTE, False),
        (plan["read"], _READ, False),
        (plan["shown"], _READ | _EXECUTE, True),
        (plan["write"], writing, True),
    ):
        for path in paths:
            try:
                target = open_source(path, of_run=of_run)
            except FileNotFoundError:
                continue  # gone since the plan was made: there is nothing to allow
            _allow(ruleset, path, target, access & handled)
    for path in plan["devices"]:
        if os.path.exists(path):
            device = os.open(path, os.O_PATH | os.O_CLOEXEC)
            _allow(ruleset, path, device, (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & handled)
    _enter(ruleset)


def _allow(ruleset: int, path: str, target: int, access: int) -> None:
    """Allow `access` beneath the descriptor `target`, and close it."""
    if not stat.S_ISDIR(os.fstat(target).st_mode):
        access &= _OF_FILES
    rule = struct.pack("=Qi", access, target)
    checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0), f"Landlock for {path}")
    os.close(target)


_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NAME = 1, 4, 15

_OWN_WAY_OUT = 60.0
"""Seconds for the host to end by itself once the supervisor can no longer reach it."""


def fork(*, alone: bool) -> None:
    """Return in a new process; this one stays behind as its guardian and never returns. `alone` is whether the
    kernel lets it signal only its descendants."""
    become_subreaper()
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # the number is in the pipe
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    libc.prctl(_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    parent = os.getpid()
    child = os.fork()
    if child:
        try:
            libc.prctl(_SET_NAME, ctypes.c_char_p(b"slash-guardian"), 0, 0, 0)
            os.close(1)  # only the host may hold its end of the pipe
            _wait(os.pidfd_open(child), read_end)
        finally:
            _end_all(alone=alone)
            os._exit(0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.close(read_end)
    os.close(write_end)
    libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was killed already


def _wait(host: int, read_end: int) -> None:
    """Wait until the host ends, or the supervisor asks to end everything, or dies. If it only hangs up, the host may
    end by itself."""
    poll = select.poll()
    poll.register(host, select.POLLIN)
    poll.register(read_end, select.POLLIN)
    poll.register(0, 0)  # nothing is read here: POLLHUP is always reported
    if {fd for fd, _ in poll.poll()} == {0}:
        poll.unregister(0)
        poll.poll(_OWN_WAY_OUT * 1000)


def _end_all(*, alone: bool) -> None:
    """Kill until there is no child: what a killed one leaves behind is a child the next time. If `alone`, signal every
    permitted process in one call, during which the kernel lets none fork: so no fork bomb is faster."""
    try:
        while True:
            with open("/proc/thread-self/children", "rb") as listing:
                pids = [-1] if alone else list(map(int, listing.read().split()))
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # a fork bomb leaves thousands of zombies, and scanning all of them for each is quadratic
    except ChildProcessError:
        return
