"""Commands under their subreapers, without a workspace around them: whose process is whose, and the limits by name."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.toolhost import command_usage, descendants
from bot.toolhost import shell as shell_module
from bot.toolhost.command_usage import DiskUse
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.programs import Cancellation
from bot.toolhost.resource_limits import MIB, ExceededLimit, ResourceLimits, effective_limits
from bot.toolhost.shell import CommandResult, run_command
from bot.toolhost.subreaper import Command
from tests.support.workspaces import eventually, running

ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C"}

STYLES = {
    "background": "sleep {} &",
    "nohup": "nohup sleep {} >/dev/null 2>&1 &",
    "disowned": "sleep {} & disown -a",
    "setsid": "setsid sleep {} >/dev/null 2>&1 &",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & )",
    "as systemd wants it": "python3 -c '\nimport os\nif os.fork(): os._exit(0)\nos.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    'os.chdir("/"); os.umask(0); os.closerange(0, 256); os.execve("/bin/sleep", ["sleep", "{}"], {{}})\'',
    "deaf": "( trap '' HUP TERM INT; setsid setsid env -i nohup /bin/sleep {} >/dev/null 2>&1 & )",
}


class Shell:
    """Runs scripts with limits of its own, as one tool host does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.monitor = ProcessMonitor(ResourceLimits())
        self.disk_pause = 60.0
        self.printed = b""
        self.cancelled = Cancellation()

    def limit(self, **low: int) -> None:
        self.close()
        self.monitor = ProcessMonitor(effective_limits(low))

    def run(self, script: str, timeout: float = 60) -> CommandResult:
        self.printed = b""
        if self.monitor.disk is None:
            self.monitor.disk = DiskUse((self.folder,), self.monitor.limits.disk, self.disk_pause)
        return run_command(
            Command(["bash", "-c", script], self.folder, ENVIRONMENT, timeout),
            self._take,
            cancelled=self.cancelled,
            monitor=self.monitor,
        )

    def close(self) -> None:
        self.monitor.close()

    def _take(self, piece: bytes) -> bool:
        self.printed += piece
        return False


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    made.close()


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"3{abs(hash(str(tmp_path))) % 10**9}"


def sleeping(mark: str) -> list[int]:
    return running(f"sleep\0{mark}")


def test_a_command_that_cannot_be_started_raises_and_the_next_one_runs(shell: Shell):
    gone = shell.folder / "gone"
    shell.monitor.folders = (shell.folder,)
    command = Command(["bash", "-c", "true"], gone, ENVIRONMENT, 5)
    with pytest.raises(FileNotFoundError):
        run_command(command, bool, cancelled=shell.cancelled, monitor=shell.monitor)
    assert shell.run("exit 4").exit_code == 4


def test_what_a_command_wrote_is_there_on_a_machine_that_stands_still_at_its_end(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shell_module, "_LAST_OUTPUT", 0.0)
    output, writing = os.pipe()
    os.set_blocking(output, False)
    os.write(writing, b"said")
    kept = shell.monitor.run(Command(["true"], shell.folder, ENVIRONMENT, 5), writing)
    shell_module._Running(kept, output, shell._take, shell.cancelled, 0.0).take_the_rest()
    assert shell.printed == b"said"
    kept.close()
    os.close(writing)
    os.close(output)


def test_a_command_gets_no_descriptor_and_no_signal_setting_of_ours(shell: Shell):
    shell.run("ls /proc/$$/fd; grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status")
    lines = shell.printed.decode().split("\n")
    assert lines[:3] == ["0", "1", "2"]
    settings = [int(line.split()[1], 16) for line in lines if line.startswith(("SigIgn", "SigBlk"))]
    assert [setting & ~(3 << 31) for setting in settings] == [0, 0], (
        "but for two that are the C library's own"
    )


@pytest.mark.parametrize("style", STYLES)
def test_what_a_command_left_ends_with_it(shell: Shell, style: str, mark: str):
    ended = shell.run(f"{STYLES[style].format(mark)}\nwhile ! pgrep -f 'sleep {mark}' >/dev/null; do :; done")
    assert sleeping(mark) == []
    assert ended.exit_code == 0
    assert ended.swept >= 1


def test_last_words_do_not_hide_how_long_it_was_silent_before(shell: Shell):
    """A hint that it hangs is of use with editors above all, and those say something when they are told to end."""
    ended = shell.run("trap 'echo bye; exit' TERM; sleep 3600 & wait", timeout=1)
    assert ended.quiet > 0.5


def test_the_end_of_one_command_leaves_the_children_of_another_alone(shell: Shell, mark: str):
    """Whatever made it hard to tell whose they are: orphans in sessions of their own without an environment."""
    ended: list[CommandResult] = []
    script = f"{STYLES['deaf'].format(mark)}\n{STYLES['double fork'].format(mark)}\nsleep {mark}"
    other = threading.Thread(target=lambda: ended.append(shell.run(script, timeout=600)))
    other.start()
    try:
        assert eventually(lambda: len(sleeping(mark)) == 3)
        beside = shell.run("( ( setsid sleep 3600 & ) & ); exit 5")
        assert (beside.exit_code, beside.swept) == (5, 1)
        assert len(sleeping(mark)) == 3
    finally:
        shell.cancelled.set()
        other.join()
    assert ended[0].cancelled
    assert sleeping(mark) == []


@pytest.mark.slow
def test_a_command_that_stops_its_subreaper_ends_all_the_same(shell: Shell, mark: str):
    ended = shell.run(f"( setsid sleep {mark} & )\nkill -STOP $PPID; sleep {mark}", timeout=0.3)
    assert ended.exit_code < 0
    assert sleeping(mark) == []
    assert shell.run("exit 6").exit_code == 6


def test_what_a_command_started_ends_when_the_host_is_killed(tmp_path: Path, mark: str):
    script = f"""
import sys
sys.path.insert(0, {os.getcwd()!r})
from pathlib import Path
from tests.toolhost.test_host_shell import Shell
Shell(Path({str(tmp_path)!r})).run({STYLES["deaf"].format(mark) + f"; sleep {mark}"!r}, 600)
"""
    host = subprocess.Popen([sys.executable, "-c", script])
    try:
        assert eventually(lambda: len(sleeping(mark)) == 2)
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert eventually(lambda: sleeping(mark) == [])


def test_memory_that_processes_share_is_counted_once(mark: str):
    script = f"held = b'x' * ({32 * MIB}); import os, time; [os.fork() for _ in range(2)]; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-S", "-c", script, mark]) as first:
        try:
            assert eventually(lambda: len(running(mark)) == 4)
            pids = running(mark)
            assert command_usage.held(pids) > 4 * 32 * MIB
            assert 32 * MIB < command_usage.proportional_memory(pids) < 2 * 32 * MIB
        finally:
            descendants.kill(running(mark))
            first.wait()


def test_files_deleted_while_open_are_on_the_disk_and_holes_are_not(shell: Shell):
    shell.limit(disk=4 * MIB)
    shell.disk_pause = 0.01
    assert shell.run("truncate -s 1G sparse; sleep 0.3").limit is None
    ended = shell.run("exec 3<>f; rm f; head -c 8000000 /dev/zero >&3; sleep 60")
    assert ended.limit == ExceededLimit("disk", 4 * MIB)
