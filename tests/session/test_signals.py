"""What Ctrl-C does to a process that is at work: once, twice by one press, and twice."""

import sys

import pytest

from tests.support.programs import run_program
from tests.support.stage import processes_naming

_PROGRAM = """
import os, signal, subprocess, time
from bot.contracts.cancel import CancelToken
from bot.session.interruption import cancelled_by_signals

def cut_off():
    print("cut off, and what ran ended by", shell.wait(0.4), flush=True)
    subprocess.Popen(["setsid", "sleep", "{seconds}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

cancel = CancelToken()
with cancelled_by_signals(cancel, cut_off=cut_off):
    shell = subprocess.Popen(["sh", "-c", "setsid sleep {seconds} & exec sleep {seconds}"], stdout=subprocess.DEVNULL)
    os.kill(os.getpid(), signal.SIGINT)
    {between}
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    try:
        {then}
    except BaseException as error:
        print("an exception in the middle of it", error)
    shell.kill()
print("ended", cancel.reason, flush=True)
"""


def _run(between: str, then: str, seconds: str = "0.1") -> tuple[int, str, str]:
    program = _PROGRAM.format(between=between, then=then, seconds=seconds)
    done = run_program([sys.executable, "-P", "-c", program], timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_the_second_ends_the_process_wherever_it_is_and_what_it_started():
    """Before there is a word of it, and once more after that."""
    seconds = "71235.5"
    ended = _run("assert cancel.wait(60); time.sleep(0.1)", "time.sleep(600)", seconds)
    assert ended == (
        130,
        "cut off, and what ran ended by -9\n",
        "SIGINT: stopping; the work so far is kept\n",
    )
    assert not processes_naming(f"sleep {seconds}")


@pytest.mark.slow
def test_one_press_that_arrives_twice_is_one():
    assert _run("pass", "pass")[:2] == (0, "ended signal\n")
