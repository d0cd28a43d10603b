"""Programs beside commands that multiply. In a process of its own, since what is lost there is ended."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGINNING = """
import ctypes, os, time
from bot.workshop.host import descendants
from bot.workshop.host.keepers import Keepers
from bot.workshop.host.limits import Limits

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
nothing = open(os.devnull, "w")
keepers = Keepers(Limits(processes=60), alone=True)
keepers.prepare()
keeper = keepers.take()
keepers.tidy()

def begin(script):
    return keepers.start_beside(["sh", "-c", script], start_new_session=True, stdout=nothing, stderr=nothing)

def become(number):
    end = time.monotonic() + 30
    while (found := sum(" 60.42" in descendants.command_line(pid) for pid in descendants.below(os.getpid()))) != number:
        if time.monotonic() > end:
            return found
        time.sleep(0.05)
    return True
"""
END = """
print(descendants.state(keeper.pid) not in descendants.OVER)
descendants.sweep()
"""


def said(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + textwrap.dedent(script) + END],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.split()


def test_a49_one_that_starts_too_many_is_ended_with_all_of_them() -> None:
    """Breaks: bot/workshop/host/lookout.py "descendants.kill("."""
    script = """
        begun = begin("for n in $(seq 200); do setsid sleep 60.42 & done; wait")
        print(begun.wait(30), become(0))
    """
    assert said(script) == ["-9", "True", "True"]


def test_a49_those_that_lost_their_parent_count_as_well() -> None:
    """Breaks: bot/workshop/host/lookout.py "*descendants.orphans(lost)"."""
    script = """
        begun = begin("(for n in $(seq 100); do setsid sleep 60.42 & done); exec sleep 60")
        print(begun.wait(30), become(0))
    """
    assert said(script) == ["-9", "True", "True"]


def test_a49_those_that_outlive_it_count_too() -> None:
    """Breaks: bot/workshop/host/lookout.py "any(map(_lives, descendants.orphans(lost)))"."""
    script = """
        begun = begin("(sleep 1; for n in $(seq 100); do setsid sleep 60.42 & done; sleep 60) & exit 3")
        print(begun.wait(30))
        time.sleep(1.5)
        print(become(0))
    """
    assert said(script) == ["3", "True", "True"]


def test_a49_too_many_are_seen_where_the_machine_had_more_before() -> None:
    """Breaks: bot/workshop/host/lookout.py "due and self._many()"."""
    script = """
        from bot.workshop.host import own
        begin("sleep 50")
        others = own.start(["sh", "-c", "for n in $(seq 200); do sleep 50 & done; wait"], start_new_session=True)
        time.sleep(1.5)
        os.killpg(others.pid, 9)
        others.wait()
        time.sleep(0.5)
        begun = begin("for n in $(seq 70); do setsid sleep 60.42 & done; wait")
        print(begun.wait(30), become(0))
    """
    assert said(script) == ["-9", "True", "True"]


def test_what_was_ended_is_waited_for_while_another_goes_on() -> None:
    """Else each keeps its number, of which there are as many as the kernel lets all of them have.
    Breaks: bot/workshop/host/lookout.py "descendants.reap_orphans"."""
    script = """
        begun = begin("for n in $(seq 200); do setsid sleep 60.42 & done; wait")
        print(begun.wait(30), become(0))
        kept = begin("sleep 5")
        end = time.monotonic() + 4
        while len(descendants.children()) > 3 and time.monotonic() < end:
            time.sleep(0.1)
        print(len(descendants.children()) <= 3, kept.poll())
    """
    assert said(script) == ["-9", "True", "True", "None", "True"]


def test_a_program_of_the_host_s_own_is_left_alone() -> None:
    """Breaks: bot/workshop/host/own.py "_begun.append(process)"."""
    script = """
        from bot.workshop.host import own
        git = own.start(["sh", "-c", "sleep 2; exit 7"], start_new_session=True)
        begun = begin("for n in $(seq 200); do setsid sleep 60.42 & done; wait")
        print(begun.wait(30), become(0))
        keepers.collect()
        print(git.wait(30))
    """
    assert said(script) == ["-9", "True", "7", "True"]


def test_a_few_go_on_and_are_ended_with_the_next_command() -> None:
    """Breaks: bot/workshop/host/keepers.py "self._used = True  # it may"."""
    script = """
        begun = begin("for n in $(seq 30); do setsid sleep 60.42 & done; sleep 1; exit 3")
        print(become(30), begun.wait(30), become(30))
        keepers.tidy()
        print(become(0))
    """
    assert said(script) == ["True", "3", "True", "True", "True"]


@pytest.mark.bubblewrap
def test_a49_the_kernel_counts_them_where_the_user_is_the_sandbox_s_own() -> None:
    """Breaks: bot/workshop/host/limits.py "wanted[resource.RLIMIT_NPROC]"."""
    script = (
        "import resource; from bot.workshop.host.limits import Limits, for_a_child; "
        "for_a_child(Limits(processes=60))(); print(resource.getrlimit(resource.RLIMIT_NPROC))"
    )
    confined = ["bwrap", "--unshare-user", "--uid", "1000", "--ro-bind", "/", "/", "--proc", "/proc"]
    done = subprocess.run(
        [*confined, sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("(240, ")
