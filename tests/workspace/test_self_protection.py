"""A command that kills whatever it can reach: it reaches neither supervisor nor tool host, and nobody outside."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.workspace.client import Workspace
from tests.support.workspaces import bash, running

pytestmark = pytest.mark.bubblewrap

KILLS = {
    "everything": "kill -9 -1",
    "the host": "kill -9 1; kill -STOP 1; kill -TERM 1",
    "the parent and its group": "kill -9 $PPID; kill -9 -$PPID; kill -9 0",
    "all that /proc shows": "for each in /proc/[0-9]*; do kill -9 ${each#/proc/}; done",
    "by a command line": "pkill -9 -f python; pkill -9 -f slash; pkill -9 -f .",
    "by a name": "pkill -9 python; pkill -9 slash-toolhost; killall -9 python3 bwrap sleep",
}


@pytest.fixture
def bystander(tmp_path: Path) -> Iterator[str]:
    """The command line of a process outside, of the same user."""
    seconds = f"7{abs(hash(str(tmp_path))) % 10**9}"
    process = subprocess.Popen(["sleep", seconds])
    yield f"sleep\0{seconds}"
    process.kill()
    process.wait()


@pytest.mark.parametrize("how", KILLS)
def test_only_the_sandboxs_own_commands_can_be_killed(confined: Workspace, bystander: str, how: str):
    if "pkill" in KILLS[how] and not shutil.which("pkill"):
        pytest.skip("there is no pkill here")
    bash(confined, KILLS[how], timeout=30)
    assert bash(confined, "echo alive").content == "alive\n[exit code 0]"
    assert confined.facts.pid == 1
    assert len(running(bystander)) == 1


def test_what_is_killed_in_the_background_says_so(confined: Workspace):
    number = bash(confined, "sleep 3600", background=True).metadata["background"]
    bash(confined, "kill -9 -1")
    outcome = confined.call("bash_output", {"id": number, "wait": 60}, CancelToken())
    assert "[killed by SIGKILL]" in outcome.content
    assert not confined.call("view", {"path": "a.txt"}, CancelToken()).is_error
