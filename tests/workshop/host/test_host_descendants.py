"""Ending what multiplies: a bomb that forks while each of its processes is looked at leaves nobody else any time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.workshop.host import descendants

MANY = 90

SWEPT = f"""
import os, subprocess, time
from bot.workshop.host import descendants
for _ in range({MANY}): subprocess.Popen(["sleep", "60"])
looked = []
below, descendants.below = descendants.below, lambda pid: looked.append(pid) or below(pid)
state, descendants._state = descendants._state, lambda pid: looked.append(pid) or state(pid)
codes = {{}}
descendants.give_way(os.getpid())
nice = {{os.getpriority(os.PRIO_PROCESS, pid) for pid in descendants.children()}}
print(nice, descendants.sweep(codes), len(set(looked)), set(codes.values()), descendants.children())
"""


def test_what_is_below_a_process_may_be_nested_deeper_than_python_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand forks, each by the one before: counting them ended the host."""
    monkeypatch.setattr(descendants, "children", lambda pid=None: [pid + 1] if pid < 5000 else [])
    assert list(descendants.below(1)) == list(range(2, 5001))


def test_of_many_all_give_way_and_are_killed_before_any_is_looked_into() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWEPT], capture_output=True, text=True, timeout=120, check=True
    )
    nice, swept, looked, rest = done.stdout.split(maxsplit=3)
    assert (nice, swept, rest) == ("{19}", str(MANY), "{-9} []\n")
    assert int(looked) < MANY, "only of the few that were left in the end"
