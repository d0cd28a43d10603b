"""The table of what a program tries (`tests/support/reach.py`), against every back end: nothing gets through.

All of them are tried by one program, in the open and inside; a check that gets through nowhere proves nothing.
"""

import contextlib
import json
import os
import shlex
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import reach
from tests.support.files import write_file
from tests.support.reach import CHECKS
from tests.support.worlds import Inside, World, worlds

pytestmark = worlds

CANARY = "canary-7f3a9c"
NEEDS_ROOT = {
    "a raw socket", "a packet socket", "a setting of the kernel", "call: mount", "call: chroot", "call: swap",
    "call: accounting", "call: kernel modules", "call: quotas", "call: entering a namespace",
    "look into another process: stack", "call: opening by handle", "call: the new mount calls",
}  # fmt: skip
"""What only root may do, with or without a wall."""

NOT_EVERYWHERE = {
    "a vsock socket", "a cipher socket", "a machine elsewhere", "take a descriptor of another process",
    "call: words into a terminal", "call: bpf", "call: userfaultfd", "call: perf", "call: kernel modules",
    "call: comparing processes", "call: memory that is not counted", "changing network interfaces",
}  # fmt: skip
"""What depends on how the machine is set up, or what cannot be tried without consequence."""


ELSEWHERE_FORBIDDEN = {
    "trace another process", "look into another process: mem", "a new user namespace", "a new network namespace",
    "a process in a new user namespace", "call: io_uring", "call: the kernel's keys",
    "call: a handle of a file",
}  # fmt: skip
"""What Ubuntu forbids everybody but root, and a container everybody."""


def is_restricted() -> bool:
    """Whether this is such a machine."""
    switches = ("yama/ptrace_scope", "apparmor_restrict_unprivileged_userns", "io_uring_disabled")
    files = [Path("/proc/sys/kernel", name) for name in switches]
    filtered = "Seccomp:\t0" not in Path("/proc/self/status").read_text()
    return filtered or any(file.exists() and file.read_text().strip() != "0" for file in files)


@dataclass(frozen=True)
class Tried:
    in_the_open: frozenset[str]
    inside: frozenset[str]


def plant(stack: ExitStack, inside: Inside) -> dict[str, Any]:
    """Everything that a check is after, within reach of the account that the commands have."""
    folder = inside.folder
    home = folder / "home"
    for name in CHECKS:
        if name.startswith("read ~/"):
            file = home / name.removeprefix("read ~/")
            write_file(file, CANARY)
    (folder / "outside").mkdir()
    for name in ("secret", "linked", "runner"):
        (folder / name).write_text(CANARY)
    (inside.tree / "link").symlink_to(folder / "linked")
    shared = Path(tempfile.mkdtemp(prefix="reach-"))
    stack.callback(shared.rmdir)
    stack.callback(lambda: (shared / "socket").unlink())
    memory = f"/dev/shm/reach-{os.getpid()}-{inside.world.name}"
    Path(memory).touch()
    os.chown(memory, inside.world.account, -1)
    stack.callback(Path(memory).unlink)
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    threading.Thread(target=answer, args=(udp,), daemon=True).start()
    abstract = f"reach-{os.urandom(6).hex()}"
    for address in (str(shared / "socket"), f"\0{abstract}"):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen()
    os.chmod(shared / "socket", 0o666)
    os.chmod(shared, 0o755)
    return {
        "home": str(home), "secret": str(folder / "secret"), "runner": str(folder / "runner"),
        "link": str(inside.tree / "link"), "outside": str(folder / "outside"), "shared": shared.name,
        "memory": memory, "variable": CANARY, "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1],
        "socket": str(shared / "socket"), "abstract": abstract, "place": str(inside.tree / "place"),
    }  # fmt: skip


def answer(udp: socket.socket) -> None:
    with contextlib.suppress(OSError):  # until it is closed; it has no sender then
        while (sender := udp.recvfrom(1)[1]) is not None:
            udp.sendto(b"!", sender)


def _give(folder: Path, account: int) -> None:
    """All in it to the account, but for what the tool host made and removed meanwhile."""
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            with contextlib.suppress(FileNotFoundError):
                os.chown(os.path.join(place, name), account, -1, follow_symlinks=False)


@pytest.fixture(scope="module")
def tried(world: World, inside: Inside) -> Iterator[Tried]:
    script = Path(reach.__file__).read_text()
    open_world = World(world.back_end, tuple(word for word in world.less if word != "docker"))
    with ExitStack() as stack:
        planted = plant(stack, inside)
        sleeper = subprocess.Popen(
            [*open_world.command(Path(__file__).parents[2] / "support/holder.py")],
            env={"TOKEN": CANARY}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        stack.enter_context(sleeper)
        assert sleeper.stdout is not None
        planted["pid"] = int(sleeper.stdout.readline())
        if world.account != os.getuid():
            _give(inside.folder, world.account)
        (inside.tree / "reach.py").write_text(script)
        python = os.path.realpath(world.python())
        said = inside.run(f"{python} -I reach.py {shlex.quote(json.dumps(planted))}").content
        found = json.loads(said.splitlines()[0])
        place = subprocess.run(
            open_world.command("-c", script, json.dumps(planted)), capture_output=True, text=True, check=True
        )
        yield Tried(frozenset(json.loads(place.stdout)), frozenset(found))
        assert sleeper.stdin is not None
        sleeper.stdin.close()


@pytest.mark.parametrize("name", CHECKS)
def test_it_does_not_get_through(tried: Tried, world: World, name: str):
    """A-10, A-13, A-14, A-39, A-45, A-48."""
    assert name not in tried.inside
    excused = name in NOT_EVERYWHERE or (name in ELSEWHERE_FORBIDDEN and is_restricted())
    if not (excused or (name in NEEDS_ROOT and world.account != 0)):
        assert name in tried.in_the_open, "it does not get through in the open either: it proves nothing"
