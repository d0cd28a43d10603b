"""What is bubblewrap's own: what it hides does not even exist, and the tree lies where it was asked for.

What both back ends hold back is in `test_inside.py` and `test_checks.py`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.toolhost.descendants import children
from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import bubblewrap
from tests.support.workspaces import Bench, SharedHost, bash, make_tree

pytestmark = pytest.mark.bubblewrap

CANARY = "canary-7f3a9c"


@pytest.fixture
def inside(confined: Workspace) -> Workspace:
    return confined


@pytest.fixture
def tree(confined_host: SharedHost) -> Path:
    """That of `inside`."""
    return confined_host.tree


def python(workspace: Workspace, script: str) -> str:
    """What a Python script inside prints, less the note on its end."""
    command = f"python3 - <<'END-OF-SCRIPT'\n{textwrap.dedent(script)}\nEND-OF-SCRIPT"
    return bash(workspace, command).content.rsplit("[exit code", 1)[0].strip()


def test_the_host_is_the_first_process_of_its_namespace(inside: Workspace) -> None:
    assert inside.facts.pid == 1


def test_the_temporary_folder_has_a_short_path_that_tools_and_sockets_take(inside: Workspace) -> None:
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


@dataclass(frozen=True)
class StartedWithKey:
    """A workspace of a supervisor with a key in its environment; `programs` are the processes of bubblewrap."""

    workspace: Workspace
    programs: list[int]


@pytest.fixture(scope="module")
def started_with_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedWithKey]:
    folder = tmp_path_factory.mktemp("key")
    bench = Bench(folder, make_tree(folder / "tree", {"a.txt": "one\n"}))
    before = children(os.getpid())
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        workspace = bench.start(bubblewrap())
    started = set(children(os.getpid())) - set(before)
    yield StartedWithKey(
        workspace, [pid for pid in started if Path(f"/proc/{pid}/comm").read_text() == "bwrap\n"]
    )
    bench.close()


def test_no_environment_inside_holds_a_variable_of_the_supervisor(started_with_key: StartedWithKey) -> None:
    outcome = bash(
        started_with_key.workspace,
        "env; set; export -p; cat /proc/*/environ /proc/*/task/*/environ; cat /proc/*/cmdline",
    )
    assert CANARY not in outcome.content.replace("CANARY", "")
    assert "ANTHROPIC" not in outcome.content


def test_a_secret_in_the_environment_of_another_process_is_out_of_reach(inside: Workspace) -> None:
    holder = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "TOKEN": CANARY})
    try:
        # Popen returns at the exec, a moment before the kernel shows the new environment.
        environ = Path(f"/proc/{holder.pid}/environ")
        until = time.monotonic() + 30
        while CANARY.encode() not in environ.read_bytes():
            assert time.monotonic() < until
        assert CANARY not in bash(inside, "cat /proc/*/environ").content
        assert bash(inside, f"cat /proc/{holder.pid}/cmdline").metadata["exit_code"] == 1
    finally:
        holder.kill()
        holder.wait()


def test_the_supervisor_and_its_parents_are_not_seen(inside: Workspace) -> None:
    names = python(
        inside, "import os; print(*sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))"
    ).split()
    assert names[0] == "1"
    assert len(names) <= 4
    assert str(os.getpid()) not in names or os.getpid() < 50


def test_files_beside_the_tree_do_not_exist(inside: Workspace, tree: Path) -> None:
    secret = tree.parent / "secret"
    secret.write_text(CANARY)
    assert bash(inside, f"cat {secret}; cat ../secret").metadata["exit_code"] == 1
    assert CANARY not in bash(inside, f"grep -rs {CANARY} {tree.parent} /home /run /var /tmp; true").content


def test_a_link_out_of_the_tree_leads_nowhere(inside: Workspace, tree: Path) -> None:
    (tree.parent / "secret").write_text(CANARY)
    (tree / "link").symlink_to(tree.parent / "secret")
    assert CANARY in (tree / "link").read_text()
    assert CANARY not in bash(inside, "cat link").content


def test_memory_backed_folders_have_a_limit(inside: Workspace) -> None:
    sizes = bash(inside, "df -k --output=size / /tmp /var/tmp /run /home /root /dev/shm | tail -n +2").content
    assert all(int(line) < 3 << 20 for line in sizes.splitlines()[1:7])


def test_a_loopback_port_of_the_machine_cannot_be_reached(inside: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        outcome = bash(inside, f"echo > /dev/tcp/127.0.0.1/{port}")
    assert "Connection refused" in outcome.content


def test_there_is_no_way_to_the_network_at_all(inside: Workspace) -> None:
    script = """
        import socket
        for family, kind, address in [
            (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
            (socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80)),
        ]:
            try:
                found = socket.socket(family, kind)
                found.settimeout(2)
                found.connect(address)
                print("reached", address)
            except OSError as error:
                print("no")
        for kind in (socket.SOCK_RAW,):
            try:
                socket.socket(socket.AF_INET, kind, 1)
                print("raw")
            except OSError:
                print("no")
        """
    assert python(inside, script).split() == ["no"] * 4


@pytest.mark.node
def test_the_network_interfaces_are_those_of_the_sandbox(inside: Workspace) -> None:
    """As many Node.js servers ask for them."""
    names = bash(inside, "node -p 'Object.keys(os.networkInterfaces()).join()'")
    assert names.metadata["exit_code"] == 0, names.content
    assert names.content.splitlines()[0] in ("", "lo")


def test_a_socket_file_of_the_machine_is_not_there(inside: Workspace, tmp_path: Path) -> None:
    path = str(tmp_path / "docker.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        socket.socket(socket.AF_UNIX).connect(path)
        assert "No such file" in python(
            inside,
            f"import socket\ntry: socket.socket(socket.AF_UNIX).connect({path!r})\nexcept OSError as e: print(e)",
        )
    assert bash(inside, "ls /run/docker.sock /var/run/docker.sock").metadata["exit_code"] == 2


def test_signals_from_inside_do_not_reach_the_host(inside: Workspace) -> None:
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


def test_the_tree_is_seen_where_it_was_asked_for(bench: Bench) -> None:
    inside = bench.start(bubblewrap(), mount="/srv/repository")
    assert bash(inside, "pwd; cat a.txt").content.startswith("/srv/repository\none\n")
    bash(inside, "cd /srv && rm -rf repository/a.txt")
    assert not (bench.tree / "a.txt").exists()


def test_a_workspace_started_on_a_thread_outlives_the_thread(bench: Bench) -> None:
    """The kernel's "die with parent" counts the thread that started the process."""
    import threading

    started: list[Workspace] = []
    thread = threading.Thread(target=lambda: started.append(bench.start(bubblewrap())))
    thread.start()
    thread.join()
    assert bash(started[0], "sleep 0.3; echo on").content.startswith("on\n")


def test_a11_bubblewrap_itself_is_started_without_our_environment(started_with_key: StartedWithKey) -> None:
    """The process outside, too: in other versions it is the first one inside, where everybody could read it."""
    [outside] = started_with_key.programs
    assert CANARY.encode() not in Path(f"/proc/{outside}/environ").read_bytes()
