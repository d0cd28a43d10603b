"""The tool host confines itself: Landlock, seccomp, no capability, and a guardian that ends whatever it leaves behind.

For where no namespace can be had. Done before anything else is read or imported, while there is one thread; it
cannot be undone, and holds for all that is started later. The plan is the supervisor's (`bot/sandbox/landlock.py`).
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

from bot.contracts import wire
from bot.workshop.host import guardian

TYPE_CHECKING = False  # without importing it: the start waits for this, and `typing` costs 6 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

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

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """`python -I -S -c ... PLACE DESCRIPTOR PROGRAM...`: confine this process, then go on as the program."""
    _, _, descriptor, *argv = sys.argv
    confine(int(descriptor))
    become(argv)


def become(argv: list[str]) -> None:
    """Go on as `argv`: in this interpreter where it is one of ours, since a second start would cost 15 ms."""
    if argv[:3] != [sys.executable, "-I", "-S"]:
        os.execv(argv[0], argv)  # noqa: S606
    names = {"__name__": "__main__"}
    if argv[3] == "-c":
        sys.argv = ["-c", *argv[5:]]
        exec(argv[4], names)  # noqa: S102 - the supervisor's own words
    else:
        sys.argv = argv[3:]
        with open(argv[3], encoding="utf-8") as script:
            exec(compile(script.read(), argv[3], "exec"), names)  # noqa: S102


def confine(descriptor: int) -> None:
    """Put the plan behind `descriptor` into force. Returns in a new process, of which this one becomes the guardian.
    Raises `OSError` where the kernel refuses a part of it: then nothing may go on."""
    with open(descriptor, "rb") as file:
        plan = wire.decode(file.read())
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _drop_capabilities(plan["kept_capabilities"])
    alone = plan["abi"] >= _KNOWS_SCOPES
    if alone:
        _bound_signals()
    guardian.fork(alone=alone)
    _restrict(plan)
    _filter(bytes.fromhex(plan["seccomp"]))


def _drop_capabilities(kept: Sequence[int]) -> None:
    """All that this process has, and, where it may, all that it could come to have."""
    for capability in set(range(_LAST_CAPABILITY + 1)) - set(kept):
        _libc.prctl(
            _CAPBSET_DROP, capability, 0, 0, 0
        )  # refused to who has none: then none can be had either
    _libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    mask = sum(1 << capability for capability in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    sets = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0))
    _checked(_libc.capset(header, sets), "capset")


def _bound_signals() -> None:
    """From here on this process can signal only what it starts: the guardian, outside of the host's own confinement,
    may then kill all that the kernel lets it."""
    # Every ruleset refuses to move files between folders unless it allows that.
    attributes = struct.pack("=QQQ", _REFER, 0, _SIGNALS)
    ruleset = _checked(
        _libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(24), 0), "Landlock"
    )
    _allow(ruleset, "/", _REFER)
    _enter(ruleset)


def _enter(ruleset: int) -> None:
    _checked(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def _restrict(plan: Mapping[str, Any]) -> None:
    abi = plan["abi"]
    handled = _handled(abi)
    attributes = struct.pack("=QQQ", handled, _ALL_OF_TCP, _ALL_SCOPES)
    size = 24 if abi >= _KNOWS_SCOPES else 16 if abi >= 4 else 8
    ruleset = _checked(
        _libc.syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), 0), "Landlock"
    )
    writing = handled & ~(_MAKE_CHAR | _MAKE_BLOCK)
    for paths, access in (
        (plan["run"], _READ | _EXECUTE),
        (plan["read"], _READ),
        (plan["devices"], _READ_FILE | _WRITE_FILE | _IOCTL_DEV),
        (plan["write"], writing),
    ):
        for path in paths:
            _allow(ruleset, path, access & handled)
    _enter(ruleset)


def _handled(abi: int) -> int:
    """Every right over files that this version of Landlock knows."""
    return (1 << (16 if abi >= 5 else 15)) - 1


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # gone since the plan was made: there is nothing to allow
    if not stat.S_ISDIR(os.fstat(target).st_mode):
        access &= _OF_FILES
    rule = struct.pack("=Qi", access, target)
    _checked(
        _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0), f"Landlock for {path}"
    )
    os.close(target)


def _filter(code: bytes) -> None:
    program = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("@HP", len(code) // 8, ctypes.addressof(program))
    _checked(_libc.prctl(_SET_SECCOMP, _FILTER, ctypes.c_char_p(described), 0, 0), "seccomp")


def _prctl(option: int, value: int) -> None:
    _checked(_libc.prctl(option, value, 0, 0, 0), f"prctl({option})")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what} failed: {os.strerror(number)}")
    return result
