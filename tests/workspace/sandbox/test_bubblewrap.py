"""What is bubblewrap's own: what it hides does not even exist, and the tree lies where it was asked for.

What both back ends hold back is in `test_inside.py` and `test_checks.py`.
"""

import os
import textwrap
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.toolhost.descendants import children
from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import bubblewrap
from tests.support.workspaces import Bench, bash

pytestmark = pytest.mark.bubblewrap

CANARY = "canary-7f3a9c"


@pytest.fixture
def inside(confined: Workspace) -> Workspace:
    return confined


def python(workspace: Workspace, script: str) -> str:
    """What a Python script inside prints, less the note on its end."""
    command = f"python3 - <<'END-OF-SCRIPT'\n{textwrap.dedent(script)}\nEND-OF-SCRIPT"
    return bash(workspace, command).content.rsplit("[exit code", 1)[0].strip()


def test_the_temporary_folder_has_a_short_path_that_tools_and_sockets_take(inside: Workspace):
    script = """
        import os, socket
        path = os.path.join(os.environ["TMPDIR"], "a" * 60)
        socket.socket(socket.AF_UNIX).bind(path)
        print(os.path.dirname(path))
        print(os.environ["HOME"])
    """
    assert python(inside, script).splitlines() == ["/run/slash-agent/tmp", "/run/slash-agent/tmp/home"]
    bash(inside, 'echo hello > "$TMPDIR/notes"')
    assert "hello" in inside.call("view", {"path": "/run/slash-agent/tmp/notes"}, CancelToken()).content


def test_memory_backed_folders_have_a_limit(inside: Workspace):
    sizes = bash(inside, "df -k --output=size / /tmp /var/tmp /run /home /root /dev/shm | tail -n +2").content
    assert all(int(line) < 3 << 20 for line in sizes.splitlines()[1:7])


@pytest.mark.node
def test_the_network_interfaces_are_those_of_the_sandbox(inside: Workspace):
    """As many Node.js servers ask for them."""
    names = bash(inside, "node -p 'Object.keys(os.networkInterfaces()).join()'")
    assert names.metadata["exit_code"] == 0, names.content
    assert names.content.splitlines()[0] in ("", "lo")


def test_signals_from_inside_do_not_reach_the_host(inside: Workspace):
    """At once and again: the host has a moment in which it is open to them, while it starts the command."""
    for _ in range(5):
        for name in (
            "KILL",
            "TERM",
            "INT",
            "HUP",
            "QUIT",
            "USR1",
            "ALRM",
            "PWR",
            "RTMIN",
            "RTMAX-1",
            "XCPU",
            "SEGV",
        ):
            assert bash(inside, f"kill -{name} 1; echo still here").content.startswith("still here\n"), name


def test_the_tree_is_seen_where_it_was_asked_for(bench: Bench):
    inside = bench.start(bubblewrap(), mount="/srv/repository")
    assert bash(inside, "pwd; cat a.txt").content.startswith("/srv/repository\none\n")
    bash(inside, "cd /srv && rm -rf repository/a.txt")
    assert not (bench.tree / "a.txt").exists()


def test_a_workspace_started_on_a_thread_outlives_the_thread(bench: Bench):
    """The kernel's "die with parent" counts the thread that started the process."""
    import threading

    started: list[Workspace] = []
    thread = threading.Thread(target=lambda: started.append(bench.start(bubblewrap())))
    thread.start()
    thread.join()
    assert bash(started[0], "sleep 0.3; echo on").content.startswith("on\n")


def test_a11_bubblewrap_itself_is_started_without_our_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    """The process outside, too: in other versions it is the first one inside, where everybody could read it."""
    before = children(os.getpid())
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    bench.start(bubblewrap())
    started = set(children(os.getpid())) - set(before)
    [outside] = [pid for pid in started if Path(f"/proc/{pid}/comm").read_text() == "bwrap\n"]
    assert CANARY.encode() not in Path(f"/proc/{outside}/environ").read_bytes()
