"""The refused system calls with their error numbers, and a seccomp filter (BPF) for them.

The numbers of system calls by machine are checked by tests against the kernel's headers. A call without a rule is
allowed; the kernel caches that, so most calls cost nothing.
"""

import errno
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.contracts.errors import NoSandboxError

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (NEWTIME is none of clone's flags.)"""

_PUTS_WORDS_INTO_A_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""

_UNIX, _INTERNET, _INTERNET_6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0
"""The protocol of netlink by which a program lists network interfaces and addresses, as Node.js and `getifaddrs` do. To
change them takes a capability, and there is none inside."""

_STREAM, _DATAGRAM, _SEQUENCED = 1, 2, 5
_TYPE = 0xF
"""The rest of a socket's type are flags."""


class When(NamedTuple):
    """True where the argument's bits in `mask` are one of `values`, or with `none` where they are none of these."""

    argument: int
    values: tuple[int, ...]
    none: bool = False
    mask: int = 0xFFFFFFFF


class Rule(NamedTuple):
    """The calls, named with spaces between them, fail with `error`, always or if all of `when` holds. A machine without
    such a call needs no rule."""

    error: int
    calls: str
    when: tuple[When, ...] = ()


REFUSED = (
    # A namespace inside the sandbox could make more paths visible, and exposes more of the kernel to attacks.
    Rule(
        errno.EPERM,
        "unshare setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount "
        "fspick mount_setattr",
    ),
    # Into other processes.
    Rule(
        errno.EPERM,
        "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd move_pages bpf "
        "perf_event_open userfaultfd add_key request_key keyctl fanotify_init open_by_handle_at name_to_handle_at "
        "lookup_dcookie",
    ),
    # The machine itself.
    Rule(
        errno.EPERM,
        "kexec_load kexec_file_load init_module finit_module delete_module acct swapon swapoff quotactl quotactl_fd "
        "reboot sethostname setdomainname settimeofday clock_settime syslog vhangup ioperm iopl modify_ldt uselib",
    ),
    Rule(errno.EPERM, "clone", (When(0, (0,), none=True, mask=_NEW_NAMESPACES),)),
    Rule(errno.EPERM, "ioctl", (When(1, _PUTS_WORDS_INTO_A_TERMINAL),)),
    # One's own limits are asked for as those of process 0. A bound on another's CPU time would be a signal to it: it
    # ended the guardian, or any program of the same user, where no process namespace is between them.
    Rule(errno.EPERM, "prlimit64", (When(0, (0,), none=True),)),
    # The flags of `clone3` are in memory, where no filter can look; every libc then asks for `clone`. No account of a
    # process shows the memory of `memfd_secret`. An io_uring opens files and sockets without calls that a filter sees.
    Rule(errno.ENOSYS, "clone3 memfd_secret io_uring_setup io_uring_enter io_uring_register"),
)

PLAIN_SOCKETS = (
    Rule(errno.EAFNOSUPPORT, "socket", (When(0, (_UNIX, _INTERNET, _INTERNET_6, _NETLINK), none=True),)),
    Rule(errno.EAFNOSUPPORT, "socket", (When(0, (_NETLINK,)), When(2, (_ROUTE,), none=True))),
    Rule(
        errno.EPERM,
        "socket",
        (When(0, (_NETLINK,), none=True), When(1, (_STREAM, _DATAGRAM, _SEQUENCED), none=True, mask=_TYPE)),
    ),
    Rule(errno.EAFNOSUPPORT, "socketpair", (When(0, (_UNIX,), none=True),)),
)
"""Where a network namespace bounds the rest: no packet, vsock, raw or stranger sockets, of netlink the one protocol."""

NO_SOCKETS = (
    Rule(errno.EAFNOSUPPORT, "socket"),
    Rule(errno.EAFNOSUPPORT, "socketpair", (When(0, (_UNIX,), none=True),)),
    # Segments, queues and semaphores have no file: those of other programs could be used, and ours would outlive us.
    Rule(
        errno.ENOSYS,
        "shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink",
    ),
)
"""Where nothing else bounds them: what leads nowhere but to oneself."""


NEWEST = 469
"""The last call that was looked at (Linux 6.17). What comes later is answered as an old kernel would."""


class Machine(NamedTuple):
    """`architecture` is what the kernel calls it (`AUDIT_ARCH_*`); calls from `foreign` on are those of another
    calling convention that shares this architecture (x32), 0 where there is none."""

    architecture: int
    calls: Mapping[str, int]
    foreign: int = 0


# Columns: the call, its number on x86-64 and on ARM64; `-` where there is none. From 424 on every machine has the same.
_NUMBERS = """
    acct               163   89
    add_key            248  217
    bpf                321  280
    chroot             161   51
    clock_settime      227  112
    clone               56  220
    clone3             435  435
    delete_module      176  106
    fanotify_init      300  262
    finit_module       313  273
    fsconfig           431  431
    fsmount            432  432
    fsopen             430  430
    fspick             433  433
    init_module        175  105
    io_uring_enter     426  426
    io_uring_register  427  427
    io_uring_setup     425  425
    ioctl               16   29
    ioperm             173    -
    iopl               172    -
    kcmp               312  272
    kexec_file_load    320  294
    kexec_load         246  104
    keyctl             250  219
    lookup_dcookie     212   18
    memfd_secret       447  447
    modify_ldt         154    -
    mount              165   40
    mount_setattr      442  442
    move_mount         429  429
    move_pages         279  239
    mq_open            240  180
    mq_unlink          241  181
    msgctl              71  187
    msgget              68  186
    msgrcv              70  188
    msgsnd              69  189
    name_to_handle_at  303  264
    open_by_handle_at  304  265
    open_tree          428  428
    open_tree_attr     467  467
    perf_event_open    298  241
    pidfd_getfd        438  438
    pivot_root         155   41
    prlimit64          302  261
    process_madvise    440  440
    process_mrelease   448  448
    process_vm_readv   310  270
    process_vm_writev  311  271
    ptrace             101  117
    quotactl           179   60
    quotactl_fd        443  443
    reboot             169  142
    request_key        249  218
    semctl              66  191
    semget              64  190
    semop               65  193
    semtimedop         220  192
    setdomainname      171  162
    sethostname        170  161
    setns              308  268
    settimeofday       164  170
    shmat               30  196
    shmctl              31  195
    shmget              29  194
    socket              41  198
    socketpair          53  199
    swapoff            168  225
    swapon             167  224
    syslog             103  116
    umount2            166   39
    unshare            272   97
    uselib             134    -
    userfaultfd        323  282
    vhangup            153   58
"""


def _numbers(column: int) -> Mapping[str, int]:
    """Return the numbers of the calls of one machine."""
    rows = map(str.split, _NUMBERS.strip().splitlines())
    return {call: int(numbers[column]) for call, *numbers in rows if numbers[column] != "-"}


X86_64 = Machine(0xC000003E, _numbers(0), foreign=0x40000000)
AARCH64 = Machine(0xC00000B7, _numbers(1))
MACHINES: Mapping[str, Machine] = {"x86_64": X86_64, "aarch64": AARCH64}
"""By what `uname -m` says."""


def here() -> Machine:
    """This machine. Raises `NoSandboxError` if there is no table for it."""
    name = os.uname().machine
    if name not in MACHINES:
        raise NoSandboxError(f"There is no sandbox for {name}, only for {' and '.join(MACHINES)}.")
    return MACHINES[name]


def filter_for(machine: Machine, *, sockets: bool) -> bytes:
    """The filter's bytes. With `sockets` those of the internet and of files can be made: for where a network
    namespace bounds them."""
    return filter_of(machine, (*REFUSED, *(PLAIN_SOCKETS if sockets else NO_SOCKETS)))


def filter_of(machine: Machine, rules: Sequence[Rule]) -> bytes:
    """An array of `struct sock_filter` for `rules`."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _program(machine, rules))


ALLOW = 0x7FFF0000
KILL = 0x80000000
"""Ends the whole process, not the one thread."""

_ERROR = 0x00050000
"""With an error's number: the call fails with it, without being made."""

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets of what is loaded. Of an argument that is the lower half: all that the kernel looks at in an `int`."""

Instruction = tuple[int, int, int, int]
"""A code, how many instructions a jump leaves out if the comparison holds and if not, and a value."""


def _program(machine: Machine, rules: Sequence[Rule]) -> Iterator[Instruction]:
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _JUMP_IF_EQUAL, 1, 0, machine.architecture
    yield _RETURN, 0, 0, KILL
    yield _LOAD, 0, 0, _NUMBER
    yield _JUMP_IF_AT_LEAST, 0, 1, NEWEST + 1  # newer ones, and those of x32
    yield _RETURN, 0, 0, _ERROR | errno.ENOSYS
    for rule in rules:
        for name in rule.calls.split():
            if (number := machine.calls.get(name)) is not None:
                looking = _refuse(rule)
                yield _JUMP_IF_EQUAL, 0, len(looking), number
                yield from looking
    yield _RETURN, 0, 0, ALLOW


def _refuse(rule: Rule) -> list[Instruction]:
    """The instructions for a call of the rule. They end with the number of the call loaded, as they began."""
    looking: list[Instruction] = [(_RETURN, 0, 0, _ERROR | rule.error)]
    for when in reversed(rule.when):
        looking = [*_looking(when, len(looking)), *looking]
    return [*looking, (_LOAD, 0, 0, _NUMBER)] if rule.when else looking


def _looking(when: When, rest: int) -> Iterator[Instruction]:
    """Leaves out the `rest` of the rule, so many instructions, unless `when` holds."""
    yield _LOAD, 0, 0, _ARGUMENTS + 8 * when.argument
    yield _AND, 0, 0, when.mask
    for left, value in zip(range(len(when.values) - 1, -1, -1), when.values, strict=True):
        if when.none:
            yield _JUMP_IF_EQUAL, left + rest, 0, value
        elif left:  # the last one that does not match leaves the rest out, each other leads to the next
            yield _JUMP_IF_EQUAL, left, 0, value
        else:
            yield _JUMP_IF_EQUAL, 0, rest, value
