"""Attacks from inside the sandbox. Each secret and each way out is real, and works when tried from outside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.sandbox.choose import bubblewrap
from bot.workshop.client.workshop import Workshop
from tests.support.workshops import Bench, bash, eventually, make_tree, running

pytestmark = pytest.mark.bubblewrap

CANARY = "canary-7f3a9c"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\n"}))
    yield made
    made.close()


@pytest.fixture
def inside(bench: Bench) -> Workshop:
    return bench.start(bubblewrap())


def python(workshop: Workshop, script: str) -> str:
    """What a Python script inside prints, less the note on its end."""
    command = f"python3 - <<'END-OF-SCRIPT'\n{textwrap.dedent(script)}\nEND-OF-SCRIPT"
    return bash(workshop, command).content.rsplit("[exit code", 1)[0].strip()


def test_the_host_says_that_no_canary_was_reached(inside: Workshop) -> None:
    assert inside.facts.leaks == ()


def test_the_host_is_the_first_process_of_its_namespace(inside: Workshop) -> None:
    assert inside.facts.pid == 1


def test_no_environment_inside_holds_a_variable_of_the_supervisor(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    inside = bench.start(bubblewrap())
    outcome = bash(
        inside, "env; set; export -p; cat /proc/*/environ /proc/*/task/*/environ; cat /proc/*/cmdline"
    )
    assert CANARY not in outcome.content.replace("CANARY", "")
    assert "ANTHROPIC" not in outcome.content


def test_a_secret_in_the_environment_of_another_process_is_out_of_reach(inside: Workshop) -> None:
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


def test_the_supervisor_and_its_parents_are_not_seen(inside: Workshop) -> None:
    names = python(
        inside, "import os; print(*sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))"
    ).split()
    assert names[0] == "1"
    assert len(names) <= 4
    assert str(os.getpid()) not in names or os.getpid() < 50


@pytest.mark.parametrize("name", ["environ", "mem", "maps", "fd/3", "root/etc"])
def test_commands_cannot_look_into_the_host(inside: Workshop, name: str) -> None:
    outcome = bash(inside, f"head -c 1 /proc/1/{name} > /dev/null; ls /proc/1/{name}/")
    assert "Permission denied" in outcome.content


@pytest.mark.parametrize("name", ["/proc/1/environ", "/proc/self/environ", "/etc/shadow", "link"])
def test_file_tools_reach_nothing_outside_the_tree(inside: Workshop, bench: Bench, name: str) -> None:
    (bench.tree / "link").symlink_to("/proc/self/environ")
    for tool, more in (
        ("view", {}),
        ("edit", {"old": "a", "new": "b", "old_string": "a", "new_string": "b"}),
    ):
        outcome = inside.call(tool, {"path": name} | more, CancelToken())
        assert outcome.is_error
        assert "LC_" not in outcome.content


def test_files_beside_the_tree_do_not_exist(inside: Workshop, bench: Bench) -> None:
    secret = bench.folder / "secret"
    secret.write_text(CANARY)
    assert bash(inside, f"cat {secret}; cat ../secret").metadata["exit_code"] == 1
    assert CANARY not in bash(inside, f"grep -rs {CANARY} {bench.folder} /home /run /var /tmp; true").content


def test_a_link_out_of_the_tree_leads_nowhere(inside: Workshop, bench: Bench) -> None:
    (bench.folder / "secret").write_text(CANARY)
    (bench.tree / "link").symlink_to(bench.folder / "secret")
    assert CANARY in (bench.tree / "link").read_text()
    assert CANARY not in bash(inside, "cat link").content


@pytest.mark.parametrize(
    "name", ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key"]
)
def test_what_only_administrators_read_is_covered(inside: Workshop, name: str) -> None:
    assert python(inside, f"try: print(len(open({name!r}).read()))\nexcept OSError: print(0)") == "0"


@pytest.mark.parametrize(
    "folder",
    [
        "/",
        "/usr",
        "/usr/local/bin",
        "/etc",
        "/opt",
        "/bin",
        "/lib",
        "/dev",
        "/proc",
        "/sys",
        "/etc/ssl/private",
    ],
)
def test_nothing_outside_can_be_written(inside: Workshop, folder: str) -> None:
    bash(inside, f"touch {folder}/slash-agent-was-here; true")
    assert not os.path.exists(f"{folder}/slash-agent-was-here")
    assert bash(inside, f"touch {folder}/x").metadata["exit_code"] == 1


def test_no_setting_of_the_kernel_can_be_written(inside: Workshop) -> None:
    """The host's root owns them inside, too: a core_pattern written here would run out there."""
    writable = python(
        inside,
        """
        import os
        for top, folders, files in os.walk("/proc"):
            folders[:] = [name for name in folders if not (top == "/proc" and name.isdigit())]
            for path in (os.path.join(top, name) for name in files):
                if not os.path.islink(path) and os.access(path, os.W_OK):
                    print(path)
        """,
    )
    assert writable == "(no output)"


def test_only_the_tree_and_its_own_folders_reach_the_disk(inside: Workshop, bench: Bench) -> None:
    bash(
        inside,
        "echo kept > kept; echo mine > $TMPDIR/mine; for d in /tmp /home /root /run /var/tmp; do echo x > $d/x; done",
    )
    assert (bench.tree / "kept").read_text() == "kept\n"
    assert (bench.folder / "workshop-0/tmp/mine").exists()
    assert not any(os.path.exists(f"{folder}/x") for folder in ("/tmp", "/home", "/root", "/run", "/var/tmp"))


def test_memory_backed_folders_have_a_limit(inside: Workshop) -> None:
    sizes = bash(inside, "df -k --output=size / /tmp /var/tmp /run /home /root /dev/shm | tail -n +2").content
    assert all(int(line) < 3 << 20 for line in sizes.splitlines()[1:7])


def test_a_loopback_port_of_the_machine_cannot_be_reached(inside: Workshop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        outcome = bash(inside, f"echo > /dev/tcp/127.0.0.1/{port}")
    assert "Connection refused" in outcome.content


def test_datagrams_reach_nobody(inside: Workshop) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(0.3)
        port = listener.getsockname()[1]
        script = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"
        python(inside, script)
        with pytest.raises(TimeoutError):
            listener.recv(1)
        subprocess.run([sys.executable, "-c", script], check=True)
        assert listener.recv(1) == b"x"


def test_there_is_no_way_to_the_network_at_all(inside: Workshop) -> None:
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


def test_an_abstract_socket_of_the_machine_cannot_be_reached(inside: Workshop) -> None:
    name = f"\0slash-agent-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        socket.socket(socket.AF_UNIX).connect(name)
        assert "refused" in python(
            inside,
            f"import socket\ntry: socket.socket(socket.AF_UNIX).connect({name!r})\nexcept OSError as e: print(e)",
        )


def test_a_socket_file_of_the_machine_is_not_there(inside: Workshop, tmp_path: Path) -> None:
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


def test_no_capability_is_left_and_none_can_be_had(inside: Workshop) -> None:
    status = bash(inside, "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status").content
    assert status.count("0000000000000000") == 5
    assert "NoNewPrivs:\t1" in status


@pytest.mark.parametrize(
    "command", ["unshare -Ur true", "mount -t tmpfs none /tmp", "umount /etc", "chroot / true"]
)
def test_namespaces_and_mounts_are_out_of_reach(inside: Workshop, command: str) -> None:
    assert bash(inside, command).metadata["exit_code"] != 0


def test_signals_from_inside_do_not_reach_the_host(inside: Workshop) -> None:
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


def test_commands_have_the_default_signals(inside: Workshop) -> None:
    for name in ("TERM", "INT", "USR1", "RTMIN"):
        ended = bash(inside, f"bash -c 'kill -{name} $$; echo alive'")
        assert "alive" not in ended.content.splitlines(), name


def test_the_tools_of_the_system_and_of_the_path_work(inside: Workshop) -> None:
    for command in ("git log --oneline", "python3 -c 'import json, ssl, sqlite3'", "awk 1 a.txt", "date"):
        assert bash(inside, command).metadata["exit_code"] == 0, command


def test_the_agent_s_own_virtual_environment_is_not_on_the_path(inside: Workshop) -> None:
    assert f"{sys.prefix}/bin" not in bash(inside, "echo $PATH").content.split(":")


def test_the_tree_is_seen_where_it_was_asked_for(bench: Bench) -> None:
    inside = bench.start(bubblewrap(), mount="/work/repository")
    assert bash(inside, "pwd; cat a.txt").content.startswith("/work/repository\none\n")
    bash(inside, "cd /work && rm -rf repository/a.txt")
    assert not (bench.tree / "a.txt").exists()


DAEMONS = {
    "background": "sleep {} &",
    "nohup": "nohup sleep {} >/dev/null 2>&1 &",
    "setsid": "setsid sleep {} >/dev/null 2>&1 &",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & )",
    "all at once": "( trap '' HUP TERM INT; setsid setsid env -i nohup sleep {} >/dev/null 2>&1 & )",
}


@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_outlives_a_command_that_ran_out_of_time(
    inside: Workshop, style: str, tmp_path: Path
) -> None:
    seconds = f"4{abs(hash((style, str(tmp_path)))) % 10**9}"
    bash(inside, f"{DAEMONS[style].format(seconds)}\nsleep 60", timeout=1)
    assert running(f"sleep\0{seconds}") == []


@pytest.mark.parametrize("style", DAEMONS)
@pytest.mark.parametrize("how", ["close", "kill"])
def test_nothing_outlives_the_workshop(style: str, how: str, tmp_path: Path) -> None:
    """The supervisor is a process of its own here, so that it can be killed."""
    make_tree(tmp_path / "tree", {"a.txt": "one\n"})
    seconds = f"5{abs(hash((style, how, str(tmp_path)))) % 10**9}"
    command = f"{DAEMONS[style].format(seconds)}\nsleep {seconds}"
    script = f"""
        import os, sys, threading
        from pathlib import Path
        from bot.contracts.cancel import CancelToken
        from bot.sandbox.choose import bubblewrap
        from bot.workshop.client.workshop import Answer, Workshop, WorkshopError
        folder = Path({str(tmp_path)!r})
        (folder / "run").mkdir()
        workshop = Workshop.start(bubblewrap(), tree=folder / "tree", folder=folder / "run",
                                  environment=os.environ, ask=lambda _: Answer(True))
        def call():
            try:
                workshop.call("bash", {{"command": {command!r}}}, CancelToken())
            except WorkshopError:
                pass
        thread = threading.Thread(target=call)
        thread.start()
        print("up", flush=True)
        sys.stdin.readline()
        workshop.close()
        thread.join()
        print("down", flush=True)
        """
    supervisor = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert supervisor.stdin is not None and supervisor.stdout is not None
    with supervisor:
        assert supervisor.stdout.readline() == "up\n"
        assert eventually(lambda: len(running(f"sleep\0{seconds}")) == 2)
        if how == "kill":
            supervisor.kill()
        else:
            supervisor.stdin.write("\n")
            supervisor.stdin.flush()
            assert supervisor.stdout.readline() == "down\n"
            assert running(f"sleep\0{seconds}") == []
    assert eventually(lambda: running(f"sleep\0{seconds}") == [])


def test_a_workshop_started_on_a_thread_outlives_the_thread(bench: Bench) -> None:
    """The kernel's "die with parent" counts the thread that started the process."""
    import threading

    started: list[Workshop] = []
    thread = threading.Thread(target=lambda: started.append(bench.start(bubblewrap())))
    thread.start()
    thread.join()
    assert bash(started[0], "sleep 0.3; echo on").content.startswith("on\n")
