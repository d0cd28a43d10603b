"""Whose process is whose, and how everything in a workspace is ended together. In a process of its own, since all that
it started is."""

import sys
import textwrap

import pytest

from bot.toolhost import descendants
from tests.support.programs import run_program

BEGINNING = """
import ctypes, os, subprocess, sys, time
sys.path.insert(0, os.getcwd())
from bot.toolhost import descendants
from bot.toolhost.resource_limits import ResourceLimits
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.programs import start_program

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
nothing = open(os.devnull, "w")
limits = ResourceLimits(processes=60)
monitor = ProcessMonitor(limits)
monitor.start()

def begin(script):
    return start_program(["sh", "-c", script], start_new_session=True, stdout=nothing, stderr=nothing)

def become(number):
    end = time.monotonic() + 30
    lines = descendants.command_lines
    while (found := sum(" 60.42" in str(lines([pid])) for pid in descendants.below(os.getpid()))) != number:
        if time.monotonic() > end:
            return found
        time.sleep(0.05)
    return True
"""
END = """
descendants.sweep()
"""


def said(script: str) -> list[str]:
    done = run_program([sys.executable, "-c", BEGINNING + textwrap.dedent(script) + END], timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a49_programs_beside_commands_count_with_what_lost_its_parent():
    script = """
        begun = begin("(for n in $(seq 100); do setsid sleep 60.42 & done); exec sleep 60")
        print(begun.wait(30), become(0))
    """
    assert said(script) == ["-9", "True"]


def test_a_few_that_outlive_what_started_them_are_ended_when_a_call_is_over():
    script = """
        begun = begin("for n in $(seq 30); do setsid sleep 60.42 & done; sleep 1; exit 3")
        print(become(30), begun.wait(30), become(30))
        monitor.tidy()
        print(become(0))
    """
    assert said(script) == ["True", "3", "True", "True"]


def test_a_program_of_the_host_s_own_is_left_alone_then():
    script = """
        git = start_program(["sh", "-c", "sleep 1; exit 7"], start_new_session=True)
        monitor.tidy()
        print(git.wait(30))
    """
    assert said(script) == ["7"]


@pytest.mark.bubblewrap
def test_a49_the_kernel_counts_them_where_the_user_is_the_sandbox_s_own():
    script = (
        "import resource; from bot.toolhost.resource_limits import ResourceLimits, limit_this_process; "
        "limit_this_process(ResourceLimits(processes=60)); print(resource.getrlimit(resource.RLIMIT_NPROC))"
    )
    confined = ["bwrap", "--unshare-user", "--uid", "1000", "--ro-bind", "/", "/", "--proc", "/proc"]
    done = run_program([*confined, sys.executable, "-c", script], check=True, timeout=60)
    assert done.stdout.startswith("(240, ")


@pytest.mark.parametrize(
    ("command", "before"),
    [("exit 7", "os.waitid(os.P_PID, spared.pid, os.WEXITED | os.WNOWAIT)"), ("sleep 0.3; exit 7", "")],
    ids=["ended", "running"],
)
def test_the_exit_code_of_what_is_spared_is_left_to_its_owner(command: str, before: str):
    script = f"""
        other = subprocess.Popen(["sleep", "60"])
        spared = subprocess.Popen(["sh", "-c", {command!r}])
        {before}
        print(descendants.sweep(orphans_but=[spared.pid]), spared.wait())
    """
    assert said(script) == ["1", "7"]


def test_only_what_was_asked_for_is_ended_with_all_below_it():
    script = """
        mine = subprocess.Popen(["sh", "-c", "setsid sh -c 'sleep 60 & wait' & wait"], start_new_session=True)
        while len(list(descendants.below(mine.pid))) < 2:
            time.sleep(0.01)
        below = list(descendants.below(mine.pid))
        other = subprocess.Popen(["sleep", "60"])
        print(descendants.sweep(orphans_but=[other.pid]), other.poll())
        descendants.sweep()
        while descendants.command_lines(below):
            time.sleep(0.01)
    """
    assert said(script) == ["3", "None"]


def test_a_group_that_multiplies_is_ended_as_one():
    """Each of its processes starts the next and goes, faster than they could be killed one by one."""
    script = """
        chain = "import os, time\\nend = time.time() + 20\\nwhile time.time() < end:\\n    if os.fork(): os._exit(0)"
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        subprocess.Popen([sys.executable, "-c", chain], start_new_session=True)
        time.sleep(0.3)
        descendants.sweep()
        print(descendants.children())
    """
    assert said(script) == ["[]"]


def test_what_is_below_a_process_may_be_nested_deeper_than_python_calls(monkeypatch: pytest.MonkeyPatch):
    """A thousand forks, each by the one before: counting them ended the host."""
    monkeypatch.setattr(descendants, "children", lambda pid=None: [pid + 1] if pid < 5000 else [])
    assert list(descendants.below(1)) == list(range(2, 5001))
