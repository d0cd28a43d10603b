"""Nobody survives the end of a workspace, a time-out, or the death of the supervisor, on either back end."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.repositories import make_repository
from tests.support.workspaces import BACK_ENDS, EACH_BACK_END, Bench, bash, eventually, running

DAEMONS = {
    "background": "sleep {} &",
    "nohup": "nohup sleep {} >/dev/null 2>&1 &",
    "setsid": "setsid sleep {} >/dev/null 2>&1 &",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & )",
    "all at once": "( trap '' HUP TERM INT; setsid setsid env -i nohup sleep {} >/dev/null 2>&1 & )",
}
back_ends = pytest.mark.parametrize("back_end", EACH_BACK_END, scope="module")

_SUPERVISOR = """
    import os, sys, threading
    from pathlib import Path
    from bot.contracts.cancel import CancelToken
    from bot.workspace.sandbox.backends import bubblewrap, landlock
    from bot.workspace.client import Answer, Workspace, WorkspaceError
    from bot.workspace.start import StartOptions
    back_end, folder, command = sys.argv[1:]
    folder = Path(folder)
    (folder / "run").mkdir()
    options = StartOptions(folder / "tree", folder / "run", os.environ)
    sandbox = dict(bubblewrap=bubblewrap, landlock=landlock)[back_end]()
    workspace = Workspace.start(sandbox, options, lambda _: Answer(True))
    def call():
        try:
            workspace.call("bash", {"command": command}, CancelToken())
        except WorkspaceError:
            pass
    thread = threading.Thread(target=call)
    thread.start()
    print("up", flush=True)
    sys.stdin.readline()
    workspace.close()
    thread.join()
    print("down", flush=True)
"""


def seconds_for(first: int, *what: object) -> str:
    """A time to sleep for that no other process here sleeps for."""
    return f"{first}{abs(hash(what)) % 10**9}"


@back_ends
def test_a28_nothing_outlives_a_command_that_ran_out_of_time(back_end: str, tmp_path: Path):
    """Five ways at once."""
    seconds = seconds_for(4, back_end, str(tmp_path))
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    try:
        workspace = bench.start(BACK_ENDS[back_end]())
        bash(
            workspace,
            "\n".join([*(style.format(seconds) for style in DAEMONS.values()), "sleep 60"]),
            timeout=2,
        )
        assert running(f"sleep\0{seconds}") == []
    finally:
        bench.close()


_HOPS = """
use POSIX;
$end = time + 25;
for (1 .. 12) {
    if (!fork) {
        while (time < $end) { POSIX::_exit(0) if fork; POSIX::setsid() }
        POSIX::_exit(0);
    }
}
open(my $made, ">", "made");
sleep 60;
"""


@back_ends
@pytest.mark.parametrize(
    "how",
    [
        "kill, and a stopped subreaper",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("close", "kill")),
    ],
)
def test_a28_nothing_outlives_the_workspace_or_its_supervisor(back_end: str, how: str, tmp_path: Path):
    """Five ways at once, and by being another process each time: each of these has forked and ended before anybody who
    reads a list of processes has come to it, and is in a session of its own. They end by themselves after 25 s.

    The supervisor is a process of its own, so that it can be killed. A command that stops its own subreaper leaves its
    daemons to whoever is above.
    """
    (make_repository(tmp_path / "tree", {"a.txt": "one\n"}) / "hops.pl").write_text(_HOPS)
    seconds = seconds_for(5, back_end, how, str(tmp_path))
    hops = f"hops{seconds}"
    last = f"kill -STOP $PPID; sleep {seconds}" if "subreaper" in how else f"sleep {seconds}"
    command = "\n".join(
        [f"perl hops.pl {hops} &", *(style.format(seconds) for style in DAEMONS.values()), last]
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_SUPERVISOR), back_end, str(tmp_path), command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert supervisor.stdin is not None and supervisor.stdout is not None
    with supervisor:
        assert supervisor.stdout.readline() == "up\n"
        assert eventually((tmp_path / "tree" / "made").exists, 30)
        assert eventually(lambda: len(running(f"sleep\0{seconds}")) >= len(DAEMONS), 30)
        if how.startswith("kill"):
            supervisor.kill()
        else:
            supervisor.stdin.write("\n")
            supervisor.stdin.flush()
            assert supervisor.stdout.readline() == "down\n"
            assert running(f"sleep\0{seconds}") == []
    assert eventually(lambda: running(f"sleep\0{seconds}") == [], 30)
    assert eventually(lambda: not any(running(f"\0{hops}") for _ in range(5)), 10)
