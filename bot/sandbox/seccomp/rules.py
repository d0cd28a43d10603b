"""What commands may not ask of the kernel, and what they are told instead."""

from __future__ import annotations

import errno
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class AnyBit:
    """True where the argument has a bit of `mask`."""

    argument: int
    mask: int


@dataclass(frozen=True, slots=True)
class OneOf:
    argument: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """True where the argument's bits in `mask` are none of `values`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF


Condition = AnyBit | OneOf | NoneOf


@dataclass(frozen=True, slots=True)
class Rule:
    """The calls fail with `error`, always or if all of `when` holds. A machine without such a call needs no rule."""

    error: int
    calls: tuple[str, ...]
    when: Condition | tuple[Condition, ...] | None = None


REFUSED = (
    # A wall within the wall could be built so that it shows more, and all of it is kernel that can be attacked.
    Rule(
        errno.EPERM,
        (
            "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr",
            "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
        ),
    ),
    Rule(errno.EPERM, ("clone",), AnyBit(0, _NEW_NAMESPACES)),
    # Its flags are in memory, where no filter can look; every libc then asks for `clone`.
    Rule(errno.ENOSYS, ("clone3",)),
    # Into other processes.
    Rule(
        errno.EPERM,
        (
            "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
            "pidfd_getfd", "move_pages",
        ),
    ),
    # One's own limits are asked for as those of process 0. A bound on another's CPU time would be a signal to it: it
    # ended the guardian, or any program of the same user, where no process namespace is between them.
    Rule(errno.EPERM, ("prlimit64",), NoneOf(0, (0,))),
    # Memory that no account of a process shows.
    Rule(errno.ENOSYS, ("memfd_secret",)),
    # It opens files and sockets without asking for them by calls that a filter sees.
    Rule(errno.ENOSYS, ("io_uring_setup", "io_uring_enter", "io_uring_register")),
    Rule(
        errno.EPERM,
        (
            "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "fanotify_init",
            "open_by_handle_at", "name_to_handle_at", "lookup_dcookie",
        ),
    ),
    # The machine itself.
    Rule(
        errno.EPERM,
        (
            "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
            "query_module", "get_kernel_syms", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd",
            "nfsservctl", "reboot", "sethostname", "setdomainname", "settimeofday", "clock_settime", "syslog",
            "vhangup", "ioperm", "iopl", "modify_ldt", "uselib",
        ),
    ),
    Rule(errno.EPERM, ("ioctl",), OneOf(1, _PUTS_WORDS_INTO_A_TERMINAL)),
)  # fmt: skip

PLAIN_SOCKETS = (
    Rule(errno.EAFNOSUPPORT, ("socket",), NoneOf(0, (_UNIX, _INTERNET, _INTERNET_6, _NETLINK))),
    Rule(errno.EAFNOSUPPORT, ("socket",), (OneOf(0, (_NETLINK,)), NoneOf(2, (_ROUTE,)))),
    Rule(
        errno.EPERM,
        ("socket",),
        (NoneOf(0, (_NETLINK,)), NoneOf(1, (_STREAM, _DATAGRAM, _SEQUENCED), mask=_TYPE)),
    ),
    Rule(errno.EAFNOSUPPORT, ("socketpair",), NoneOf(0, (_UNIX,))),
)
"""Where a network namespace bounds the rest: no packet, vsock, raw or stranger sockets, of netlink the one protocol."""

NO_SOCKETS = (
    Rule(errno.EAFNOSUPPORT, ("socket",)),
    Rule(errno.EAFNOSUPPORT, ("socketpair",), NoneOf(0, (_UNIX,))),
    # Segments, queues and semaphores have no file: those of other programs could be used, and ours would outlive us.
    Rule(
        errno.ENOSYS,
        (
            "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop",
            "semctl", "mq_open", "mq_unlink",
        ),
    ),
)  # fmt: skip
"""Where nothing else bounds them: what leads nowhere but to oneself."""
