"""Whose process is whose: what a sweep ends, and what it leaves to others. In a process of its own, since a sweep ends
every child of the one that calls it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from bot.toolhost import descendants


def said(script: str) -> list[str]:
    beginning = "import ctypes, os, signal, subprocess, sys, time\nfrom bot.toolhost import descendants\n"
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
        print(descendants.sweep_orphans(lambda pid: pid != spared.pid), spared.wait())
    """
    assert said(script) == ["1", "7"]


def test_only_what_was_asked_for_is_ended_with_all_below_it() -> None:
    script = """
        mine = subprocess.Popen(["sh", "-c", "setsid sh -c 'sleep 60 & wait' & wait"], start_new_session=True)
        while len(list(descendants.below(mine.pid))) < 2:
            time.sleep(0.01)
        below = list(descendants.below(mine.pid))
        other = subprocess.Popen(["sleep", "60"])
        print(descendants.sweep_orphans(lambda pid: pid == mine.pid), descendants.children() == [other.pid])
        descendants.sweep()
        while any(map(descendants.command_line, below)):
            time.sleep(0.01)
    """
    assert said(script) == ["3", "True"]


def test_a_group_that_multiplies_is_ended_as_one() -> None:
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


def test_what_is_below_a_process_may_be_nested_deeper_than_python_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand forks, each by the one before: counting them ended the host."""
    monkeypatch.setattr(descendants, "children", lambda pid=None: [pid + 1] if pid < 5000 else [])
    assert list(descendants.below(1)) == list(range(2, 5001))
