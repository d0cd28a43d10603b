"""The filters: on paper for both machines, and in the kernel for this one."""

import errno
import os
import re
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bot.workspace.sandbox.seccomp import (
    AARCH64,
    ALLOW,
    KILL,
    MACHINES,
    NEWEST,
    NO_SOCKETS,
    PLAIN_SOCKETS,
    REFUSED,
    X86_64,
    Machine,
    filter_for,
    here,
)
from tests.support.bpf import run

I386 = 0x40000003
ARM = 0x40000028
NEWUSER = 0x10000000
FORK = 0x01200011
HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+)\s+(\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
both = pytest.mark.parametrize("sockets", [True, False], ids=["sockets", "no sockets"])


def asked(machine: Machine, call: str | int, *arguments: int, sockets: bool = True) -> int:
    number = call if isinstance(call, int) else machine.calls[call]
    return run(filter_for(machine, sockets=sockets), machine.architecture, number, arguments)


def refused(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("name", HEADERS)
def test_the_numbers_are_those_of_the_kernel_s_headers(name: str):
    path, pattern = HEADERS[name]
    if not path.exists():
        pytest.skip("the kernel's headers are not here (apt-get install linux-libc-dev)")
    known = {found[1]: int(found[2]) for found in re.finditer(pattern, path.read_text())}
    ours = MACHINES[name].calls
    newer = {call for call in ours if call not in known}
    assert newer <= {"open_tree_attr"}
    assert {call: number for call, number in ours.items() if call in known} == {
        call: known[call] for call in ours if call in known
    }


@machines
def test_every_rule_is_about_calls_that_some_table_has(machine: Machine):
    named = {call for rule in (*REFUSED, *PLAIN_SOCKETS, *NO_SOCKETS) for call in rule.calls.split()}
    assert named == {call for machine in MACHINES.values() for call in machine.calls}


@machines
@both
def test_each_call_that_is_refused_always_is(machine: Machine, sockets: bool):
    for rule in REFUSED:
        for call in set(rule.calls.split()) & machine.calls.keys() if not rule.when else ():
            assert asked(machine, call, sockets=sockets) == refused(rule.error), call
            assert asked(machine, call, *[2**64 - 1] * 6, sockets=sockets) == refused(rule.error), call


@machines
@both
def test_every_other_call_up_to_the_newest_is_allowed(machine: Machine, sockets: bool):
    others = set(range(NEWEST + 1)) - set(machine.calls.values())
    assert all(asked(machine, number, sockets=sockets) == ALLOW for number in others)


@machines
def test_a_call_that_nobody_has_looked_at_is_none(machine: Machine):
    assert asked(machine, NEWEST + 1) == asked(machine, 0x3FFFFFFF) == refused(errno.ENOSYS)


@pytest.mark.parametrize("number", [0, 1, 41, 56, 101, 272, 520])
def test_the_calls_of_x32_are_none(number: int):
    assert asked(X86_64, X86_64.foreign + number) == refused(errno.ENOSYS)


@pytest.mark.parametrize(
    ("machine", "other"), [(X86_64, I386), (X86_64, AARCH64.architecture), (AARCH64, ARM), (AARCH64, 0)]
)
def test_calls_in_another_architecture_s_way_end_the_process(machine: Machine, other: int):
    assert {run(filter_for(machine, sockets=True), other, number) for number in range(500)} == {KILL}


@machines
def test_processes_and_threads_can_be_made_and_namespaces_cannot(machine: Machine):
    assert asked(machine, "clone", FORK) == ALLOW
    assert asked(machine, "clone", 0x3D0F00) == ALLOW  # a thread of glibc
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, NEWUSER, 0x20000000, 0x40000000):
        assert asked(machine, "clone", FORK | bit) == refused(errno.EPERM), hex(bit)


@machines
def test_two_requests_to_a_terminal_are_refused(machine: Machine):
    for request in (0x5412, 0x541C, 0xFFFFFFFF_00005412):
        assert asked(machine, "ioctl", 0, request) == refused(errno.EPERM)
    for request in (0x5401, 0x5413, 0x541B, 0):
        assert asked(machine, "ioctl", 0, request) == ALLOW


@machines
@pytest.mark.parametrize(
    ("family", "kind", "wanted"),
    [
        (socket.AF_UNIX, socket.SOCK_STREAM, ALLOW),
        (socket.AF_INET, socket.SOCK_STREAM | 0o2000000, ALLOW),
        (socket.AF_INET6, socket.SOCK_DGRAM, ALLOW),
        (socket.AF_UNIX, socket.SOCK_SEQPACKET, ALLOW),
        (socket.AF_INET, socket.SOCK_RAW, refused(errno.EPERM)),
        (socket.AF_INET6, socket.SOCK_RAW | 0o4000, refused(errno.EPERM)),
        (17, socket.SOCK_DGRAM, refused(errno.EAFNOSUPPORT)),  # packet
        (40, socket.SOCK_STREAM, refused(errno.EAFNOSUPPORT)),  # vsock
        (38, socket.SOCK_SEQPACKET, refused(errno.EAFNOSUPPORT)),  # the kernel's ciphers
    ],
)
def test_the_sockets_of_a_namespace(machine: Machine, family: int, kind: int, wanted: int):
    assert asked(machine, "socket", family, kind) == wanted
    assert asked(machine, "socket", family, kind, sockets=False) == refused(errno.EAFNOSUPPORT)


@machines
@pytest.mark.parametrize("kind", [socket.SOCK_RAW, socket.SOCK_RAW | 0o2000000, socket.SOCK_DGRAM])
def test_a48_of_netlink_there_is_the_list_of_interfaces_alone(machine: Machine, kind: int):
    assert asked(machine, "socket", 16, kind, 0) == ALLOW
    assert asked(machine, "socket", 16, kind, 1 << 32) == ALLOW  # the kernel sees an `int`
    for protocol in range(1, 256):
        assert asked(machine, "socket", 16, kind, protocol) == refused(errno.EAFNOSUPPORT)
    assert asked(machine, "socket", 16, kind, 0, sockets=False) == refused(errno.EAFNOSUPPORT)


@machines
@both
def test_a_pair_of_sockets_stays(machine: Machine, sockets: bool):
    assert asked(machine, "socketpair", socket.AF_UNIX, 1, sockets=sockets) == ALLOW
    assert asked(machine, "socketpair", socket.AF_INET, 1, sockets=sockets) == refused(errno.EAFNOSUPPORT)


_INSIDE = """
    import ctypes, errno, os, socket, struct, sys
    libc = ctypes.CDLL(None, use_errno=True)
    code = bytes.fromhex(sys.argv[1])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
    def tried(number, *arguments):
        done = libc.syscall(number, *arguments)
        print(0 if done >= 0 else errno.errorcode[ctypes.get_errno()])
"""


def in_the_kernel(script: str) -> subprocess.CompletedProcess[str]:
    code = filter_for(here(), sockets=True).hex()
    argv = [sys.executable, "-I", "-S", "-c", textwrap.dedent(_INSIDE) + textwrap.dedent(script), code]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_kernel_takes_the_filter_and_does_what_it_says():
    calls = here().calls
    done = in_the_kernel(
        f"""
        tried({calls["unshare"]}, {NEWUSER})
        tried({calls["clone3"]}, 0, 0)
        tried({calls["io_uring_setup"]}, 1, 0)
        tried({calls["ptrace"]}, 0, 0, 0, 0)
        tried({NEWEST + 1})
        tried({calls["ioctl"]}, 0, 0x5412, 0)
        socket.socket(socket.AF_INET).close(); socket.socketpair()[0].close(); print(os.system("true"))
        import threading; thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
        """
    )
    assert done.stdout.split() == ["EPERM", "ENOSYS", "ENOSYS", "EPERM", "ENOSYS", "EPERM", "0", "thread"], (
        done.stderr
    )


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only this machine has a second way to call")
def test_a_call_by_the_old_gate_ends_the_process():
    done = in_the_kernel(
        """
        import mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b814000000" "cd80" "c3"))  # mov eax, 20 (getpid); int 0x80; ret
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        print("before", flush=True)
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        print("after", flush=True)
        """
    )
    assert done.stdout == "before\n"
    assert done.returncode == -31 or "after" not in done.stdout  # SIGSYS, or SIGSEGV without 32-bit calls
    assert done.returncode < 0
