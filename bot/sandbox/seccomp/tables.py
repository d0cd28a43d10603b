"""The numbers of system calls, by machine. Checked against the kernel's headers by the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NEWEST = 469
"""The last call that was looked at (Linux 6.17). What comes later is answered as an old kernel would."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`architecture` is what the kernel calls it (`AUDIT_ARCH_*`); calls from `foreign` on are those of another
    calling convention that shares this architecture (x32), 0 where there is none."""

    architecture: int
    calls: Mapping[str, int]
    foreign: int = 0


_SHARED = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
    "process_mrelease": 448, "open_tree_attr": 467,
}  # fmt: skip
"""From 424 on every machine has the same numbers."""

X86_64 = Machine(
    0xC000003E,
    {
        "acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clock_settime": 227, "clone": 56,
        "create_module": 174, "delete_module": 176, "fanotify_init": 300, "finit_module": 313,
        "get_kernel_syms": 177, "init_module": 175, "ioctl": 16, "ioperm": 173, "iopl": 172, "kcmp": 312,
        "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "lookup_dcookie": 212, "modify_ldt": 154,
        "mount": 165, "move_pages": 279, "mq_open": 240, "mq_unlink": 241, "msgctl": 71, "msgget": 68,
        "msgrcv": 70, "msgsnd": 69, "name_to_handle_at": 303, "nfsservctl": 180, "open_by_handle_at": 304,
        "perf_event_open": 298, "pivot_root": 155, "prlimit64": 302, "process_vm_readv": 310, "process_vm_writev": 311,
        "ptrace": 101, "query_module": 178, "quotactl": 179, "reboot": 169, "request_key": 249, "semctl": 66,
        "semget": 64, "semop": 65, "semtimedop": 220, "setdomainname": 171, "sethostname": 170, "setns": 308,
        "settimeofday": 164, "shmat": 30, "shmctl": 31, "shmget": 29, "socket": 41, "socketpair": 53,
        "swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166, "unshare": 272, "uselib": 134,
        "userfaultfd": 323, "vhangup": 153,
    } | _SHARED,
    foreign=0x40000000,
)  # fmt: skip

AARCH64 = Machine(
    0xC00000B7,
    {
        "acct": 89, "add_key": 217, "bpf": 280, "chroot": 51, "clock_settime": 112, "clone": 220,
        "delete_module": 106, "fanotify_init": 262, "finit_module": 273, "init_module": 105, "ioctl": 29,
        "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "lookup_dcookie": 18,
        "mount": 40, "move_pages": 239, "mq_open": 180, "mq_unlink": 181, "msgctl": 187, "msgget": 186,
        "msgrcv": 188, "msgsnd": 189, "name_to_handle_at": 264, "nfsservctl": 42, "open_by_handle_at": 265,
        "perf_event_open": 241, "pivot_root": 41, "prlimit64": 261, "process_vm_readv": 270, "process_vm_writev": 271,
        "ptrace": 117, "quotactl": 60, "reboot": 142, "request_key": 218, "semctl": 191, "semget": 190,
        "semop": 193, "semtimedop": 192, "setdomainname": 162, "sethostname": 161, "setns": 268,
        "settimeofday": 170, "shmat": 196, "shmctl": 195, "shmget": 194, "socket": 198, "socketpair": 199,
        "swapoff": 225, "swapon": 224, "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282,
        "vhangup": 58,
    } | _SHARED,
)  # fmt: skip

MACHINES: Mapping[str, Machine] = {"x86_64": X86_64, "aarch64": AARCH64}
"""By what `uname -m` says."""
