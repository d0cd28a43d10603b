"""Whose process is whose: what a sweep ends, and what it leaves to others. In a process of its own, since a sweep ends
every child of the one that calls it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def said(script: str) -> list[str]:
    beginning = "import os, signal, subprocess, sys, time\nfrom bot.workshop.host import descendants\n"
    done = subprocess.run(
        [sys.executable, "-c", beginning + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


def test_a_sweep_ends_and_reaps_all() -> None:
    script = """
        for _ in range(3):
            subprocess.Popen(["sleep", "60"])
        print(descendants.sweep(), descendants.children())
    """
    assert said(script) == ["3", "[]"]


def test_what_had_ended_by_itself_is_reaped_and_not_counted() -> None:
    script = """
        ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        print(descendants.sweep(), descendants.children())
    """
    assert said(script) == ["0", "[]"]


@pytest.mark.parametrize(
    ("command", "before"),
    [("exit 7", "os.waitid(os.P_PID, spared.pid, os.WEXITED | os.WNOWAIT)"), ("sleep 0.3; exit 7", "")],
    ids=["ended", "running"],
)
def test_the_exit_code_of_what_is_spared_is_left_to_its_owner(command: str, before: str) -> None:
    script = f"""
        other = subprocess.Popen(["sleep", "60"])
        spared = subprocess.Popen(["sh", "-c", {command!r}])
        {before}
        print(descendants.sweep(lambda pid: pid == spared.pid), spared.wait())
    """
    assert said(script) == ["1", "7"]


@pytest.mark.parametrize(
    ("environment", "belongs"),
    [("{}", False), ("{'MARK': 'x'}", True), ("{'MARK': 'xy'}", False), ("{'OTHER': 'MARK=x'}", False)],
)
def test_an_orphan_is_known_by_its_mark(environment: str, belongs: bool) -> None:
    script = f"""
        child = subprocess.Popen(["/bin/sleep", "60"], env={environment}, start_new_session=True)
        while b"sleep" not in open(f"/proc/{{child.pid}}/cmdline", "rb").read():
            time.sleep(0.01)  # Popen returns a moment before the kernel shows the new environment
        print(descendants.comes_from(child.pid, 1 << 30, b"MARK=x"))
        descendants.sweep()
    """
    assert said(script) == [str(belongs)]


def test_a_member_of_the_session_is_known_without_a_mark() -> None:
    script = """
        leader = subprocess.Popen(["sh", "-c", "env -i /bin/sleep 60 & wait"], start_new_session=True)
        while not (below := list(descendants.below(leader.pid))):
            time.sleep(0.01)
        print(descendants.comes_from(below[0], leader.pid, b"MARK=x"), descendants.command_line(below[0]) != "")
        descendants.signal_all(leader.pid, signal.SIGKILL)
        descendants.sweep()
    """
    assert said(script) == ["True", "True"]
