"""That all of a run stands still, and nothing else, on either back end; and who may not even try."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from bot.sandbox.choose import bubblewrap, landlock
from bot.sandbox.confinement import Mounts
from bot.sandbox.handed import Handed
from bot.sandbox.landlock import SIGNALS, version
from bot.workshop.client import layout
from bot.workshop.host.standstill import Standstill
from tests.support.workshops import eventually

_INSIDE = """
import mmap, os, sys, time
sys.path.insert(0, sys.argv[1])
from bot.workshop.host.standstill import Standstill, possible
counted = mmap.mmap(-1, 3)
for number in range(3):
    if not os.fork():
        os.setsid()
        while True: counted[number] = (counted[number] + 1) % 251
def counts():
    before = counted[:]
    time.sleep(0.3)
    return counted[:] != before
still = Standstill(possible=possible())
time.sleep(0.2)
print("possible", still.possible, counts(), flush=True)
with still.held():
    with still.held(): time.sleep(0.2)
    print("held", counts(), flush=True)
    sys.stdin.readline()
print("over", counts(), flush=True)
with still.where_asked(): print("unasked", counts(), flush=True)
with still.where_asked() as ask:
    ask()
    time.sleep(0.2)
    print("asked", counts(), flush=True)
os.kill(-1, 9)
"""


# Nearly all the time of it goes to forks, each of which has the pages of 64 MB to pass on.
_FORKING = """
import mmap, os, sys, time
sys.path.insert(0, sys.argv[1])
from bot.workshop.host import descendants
from bot.workshop.host.standstill import Standstill, possible
if not os.fork():
    os.setsid()
    much = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE)
    much.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(much), 4096): much[at] = 1
    os.write(1, b"ready\\n")
    while True:
        child = os.fork()
        if not child: os._exit(0)
        os.waitpid(child, 0)
def stopped():
    return [pid for pid in descendants.below(os.getpid()) if descendants.state(pid) == "T"]
still = Standstill(possible=possible())
sys.stdin.readline()
for _ in range(60):
    with still.held(): pass
    time.sleep(0.005)
    if stopped():
        time.sleep(0.2)
        if stopped(): break
print("stopped", bool(stopped()), flush=True)
os.kill(-1, 9)
"""


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@contextmanager
def _inside(back_end: type, script: str, folder: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """What is said to a Python script behind the wall, and what it says."""
    (folder / "tree").mkdir()
    mounts = Mounts(folder / "tree", str(folder / "tree"), program=layout.host_program())
    with Handed() as handed:
        confinement = back_end()
        *python, _, where = layout.host_command(moved=confinement.moves)
        inside = subprocess.Popen(
            confinement.command([*python, script, where], mounts, handed.give),
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=handed.descriptors,
            text=True,
        )
        assert inside.stdin is not None and inside.stdout is not None
        with inside:
            yield inside.stdin, inside.stdout


back_ends = pytest.mark.parametrize(
    "back_end",
    [
        pytest.param(bubblewrap, id="bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param(
            landlock,
            id="landlock",
            marks=pytest.mark.skipif(version() < SIGNALS, reason="Landlock bounds no signals here"),
        ),
    ],
)


@back_ends
def test_a49_what_came_from_the_host_stands_still_and_nothing_else(back_end: type, tmp_path: Path) -> None:
    """Three processes, each in a session of its own; and one of the same user outside.

    Breaks: bot/workshop/host/standstill.py "os.kill(-1, number)".
    """
    with subprocess.Popen(["sleep", "600"]) as outside:
        try:
            with _inside(back_end, _INSIDE, tmp_path) as (say, said):
                assert said.readline() == "possible True True\n"
                assert said.readline() == "held False\n"
                assert _state(outside.pid) == "S"
                print(file=say, flush=True)
                assert said.read() == "over True\nunasked True\nasked False\n"
        finally:
            outside.kill()


@back_ends
def test_a49_what_forks_at_that_moment_goes_on_too(back_end: type, tmp_path: Path) -> None:
    """The kernel keeps the stop for the child, and not that it is over. Breaks: bot/workshop/host/standstill.py
    "left := _moving()".
    """
    with _inside(back_end, _FORKING, tmp_path) as (say, said):
        assert said.readline() == "ready\n"
        print(file=say, flush=True)
        assert said.read() == "stopped False\n"


def test_a49_nothing_goes_on_before_the_next_who_waits_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two commands' watchdogs only one may know the bomb. Breaks: bot/workshop/host/standstill.py
    "self._wanted += more".
    """
    still, sent = Standstill(possible=False), list[signal.Signals]()
    monkeypatch.setattr(still, "_signal", sent.append)

    def hold() -> None:
        with still.held():
            pass

    with still.held():
        other = threading.Thread(target=hold)
        other.start()
        assert eventually(lambda: still._wanted == 2)
    other.join()
    assert sent == [signal.SIGSTOP, signal.SIGSTOP, signal.SIGCONT]


def test_where_the_parent_could_be_signalled_nobody_is() -> None:
    """Breaks: bot/workshop/host/standstill.py "    return False"."""
    tried = subprocess.run(
        [sys.executable, "-c", "from bot.workshop.host.standstill import possible; print(possible())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert tried.stdout == "False\n"
