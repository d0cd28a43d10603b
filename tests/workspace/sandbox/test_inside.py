"""Attacks from inside the wall, and what must work there, in every world. Each secret and each way out is real."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.worlds import Inside, World, worlds

pytestmark = worlds


def test_the_host_says_that_no_canary_was_reached(inside: Inside):
    assert inside.facts.leaks == []


def test_commands_are_the_account_s_own(inside: Inside, world: World):
    """Of a root in a namespace of its own, too."""
    assert inside.run("id -u").content.split()[0] == str(world.account)


def test_a_program_can_look_up_its_own_host(inside: Inside):
    script = "import socket; print(socket.gethostbyname(socket.gethostname()))"
    assert inside.python(script).startswith("127.")


def test_no_environment_inside_holds_a_variable_of_the_supervisor(inside: Inside):
    """A-11, A-15."""
    said = inside.run(
        "env; set; export -p; cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'"
    ).content
    assert "LC_CANARY" not in said
    assert str(inside.folder) + "\n" not in said  # its HOME
    assert "HOME=" in said


@pytest.mark.parametrize("name", ["environ", "mem", "maps", "fd/3", "root/etc"])
def test_commands_cannot_look_into_the_host(inside: Inside, name: str):
    pid = inside.facts.pid
    assert "Permission denied" in inside.run(f"head -c 1 /proc/{pid}/{name}; ls /proc/{pid}/{name}/").content


@pytest.mark.parametrize("name", ["/proc/1/environ", "/proc/self/environ", "/etc/shadow", "to-proc"])
def test_file_tools_reach_nothing_outside_the_tree(inside: Inside, name: str):
    link = inside.tree / "to-proc"
    if not link.is_symlink():
        link.symlink_to("/proc/self/environ")
    more = {"old": "a", "new": "b", "old_string": "a", "new_string": "b"}
    for tool, arguments in (("view", {}), ("edit", more)):
        outcome = inside.call(tool, {"path": name} | arguments)
        assert outcome.is_error
        assert "LC_" not in outcome.content


@pytest.mark.parametrize(
    "name",
    ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key", "/etc/machine-id"],
)
def test_what_only_administrators_read_is_out_of_reach(inside: Inside, name: str):
    script = f"try: print(len(open({name!r}).read()))\nexcept OSError: print(0)"
    assert inside.python(script) == "0"


@pytest.mark.parametrize(
    "folder",
    [
        "/", "/usr", "/usr/local/bin", "/etc", "/opt", "/bin", "/lib", "/dev", "/proc", "/sys",
        "/etc/ssl/private",
    ],
)  # fmt: skip
def test_nothing_outside_can_be_written(inside: Inside, folder: str):
    assert inside.run(f"touch {folder}/slash-agent-was-here").metadata["exit_code"] == 1
    assert not os.path.exists(f"{folder}/slash-agent-was-here")


def test_no_setting_of_the_kernel_can_be_written(inside: Inside):
    """The machine's root owns them inside, too: a core_pattern written here would run out there."""
    script = """
import os
for top, folders, files in os.walk("/proc"):
    folders[:] = [name for name in folders if not (top == "/proc" and name.isdigit())]
    for path in (os.path.join(top, name) for name in files):
        try:
            if not os.path.islink(path):
                os.close(os.open(path, os.O_WRONLY))
                print(path)
        except OSError:
            pass
"""
    assert inside.python(script) == "(no output)"


def test_only_the_tree_and_its_own_folders_reach_the_disk(inside: Inside):
    places = ("/tmp", "/home", "/root", "/run", "/var/tmp", "/dev/shm")
    inside.run(
        f"echo kept > kept; echo mine > $TMPDIR/mine; for d in {' '.join(places)}; do echo x > $d/from-inside; done"
    )
    assert (inside.tree / "kept").read_text() == "kept\n"
    assert (inside.folder / "run/tmp/mine").exists()
    assert not any(os.path.exists(f"{folder}/from-inside") for folder in places)


def test_the_tools_of_the_system_and_of_the_path_work(inside: Inside):
    tree = f"git -c safe.directory={inside.tree}"
    for command in (
        f"{tree} log --oneline", "python3 -c 'import json, ssl, sqlite3'", "awk 1 a.txt", "date", "nproc",
        "mktemp", "cat <(echo x) - < /dev/null", "head -c 1 /dev/urandom | wc -c", "echo x > /dev/null", "id",
        "for i in $(seq 50); do /bin/true; done", "ls -la", "grep -rn one .", "sort a.txt | uniq -c | tee b.txt",
    ):  # fmt: skip
        outcome = inside.run(command)
        assert outcome.metadata["exit_code"] == 0, outcome.content


@pytest.mark.parametrize(
    "script",
    [
        "import subprocess; print(subprocess.run(['echo', 'on'], capture_output=True, text=True).stdout)",
        "import asyncio; asyncio.run(asyncio.sleep(0)); print('on')",
        "import threading; t = threading.Thread(target=print, args=('on',)); t.start(); t.join()",
        "from multiprocessing import Process; p = Process(target=print, args=('on',)); p.start(); p.join()",
        "import socket; a, b = socket.socketpair(); a.send(b'on'); print(b.recv(2).decode())",
        "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); print('on')",
        "import os; os.mkfifo('pipe'); os.unlink('pipe'); print('on')",
        "import os; os.mkdir('d'); open('d/x', 'w').close(); os.rename('d/x', 'x'); os.rmdir('d'); print('on')",
        "import os; os.link('a.txt', 'l'); os.symlink('a.txt', 's'); os.unlink('l'); os.unlink('s'); print('on')",
    ],
    ids=[
        "programs", "asyncio", "threads", "processes", "pairs", "temporary files", "fifos", "moving", "links",
    ],
)  # fmt: skip
def test_what_tests_of_a_repository_do_works(inside: Inside, script: str):
    assert inside.python(script).splitlines()[0] == "on"


@pytest.mark.node
def test_node_works_with_children(inside: Inside):
    script = "console.log(require('child_process').execSync('echo on').toString())"
    assert inside.run(f'node -e "{script}"').content.startswith("on\n")


def test_a_program_s_own_signals_reach_it_with_their_defaults(inside: Inside):
    for name in ("TERM", "INT", "USR1", "RTMIN"):
        assert "alive" not in inside.run(f"bash -c 'kill -{name} $$; echo alive'").content.splitlines(), name


def test_the_agent_s_own_virtual_environment_is_not_on_the_path(inside: Inside):
    assert f"{sys.prefix}/bin" not in inside.run("echo $PATH").content.split(":")


def test_a_variable_on_another_process_s_command_line_is_the_one_thing_landlock_shows(
    inside: Inside, world: World
):
    """A-17: so nothing secret is ever on one. This holds the documented difference fast."""
    own = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode()
    outcome = inside.run(f"tr '\\0' ' ' < /proc/{os.getpid()}/cmdline")
    assert (own in outcome.content) == (world.back_end == "landlock")
