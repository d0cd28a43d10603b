"""That all of a run stands still, and nothing else, on either back end; and who may not even try."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.sandbox.choose import bubblewrap, landlock
from bot.sandbox.confinement import Mounts
from bot.sandbox.handed import Handed
from bot.sandbox.landlock import SIGNALS, version
from bot.workshop.client import layout

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


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.parametrize(
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
def test_a49_what_came_from_the_host_stands_still_and_nothing_else(back_end: type, tmp_path: Path) -> None:
    """Three processes, each in a session of its own; and one of the same user outside.

    Breaks: bot/workshop/host/standstill.py "self._signal(signal.SIGSTOP)".
    """
    (tmp_path / "tree").mkdir()
    mounts = Mounts(tmp_path / "tree", str(tmp_path / "tree"), program=layout.host_program())
    with Handed() as handed, subprocess.Popen(["sleep", "600"]) as outside:
        try:
            confinement = back_end()
            *python, _, where = layout.host_command(moved=confinement.moves)
            command = confinement.command([*python, _INSIDE, where], mounts, handed.give)
            inside = subprocess.Popen(
                command,
                env={"PATH": "/usr/bin:/bin"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=handed.descriptors,
                text=True,
            )
            assert inside.stdin is not None and inside.stdout is not None
            with inside:
                assert inside.stdout.readline() == "possible True True\n"
                assert inside.stdout.readline() == "held False\n"
                assert _state(outside.pid) == "S"
                inside.stdin.write("\n")
                inside.stdin.flush()
                assert inside.stdout.read() == "over True\nunasked True\nasked False\n"
        finally:
            outside.kill()


def test_where_the_parent_could_be_signalled_nobody_is() -> None:
    """Breaks: bot/workshop/host/standstill.py "    return False"."""
    tried = subprocess.run(
        [sys.executable, "-c", "from bot.workshop.host.standstill import possible; print(possible())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert tried.stdout == "False\n"
