"""Waiting: for threads and processes that the system has no room for at first, and for somebody who sends nothing."""

import sys
import textwrap
import threading

import pytest

from bot.contracts.capacity import CapacityError, retry_at_capacity
from bot.contracts.errors import AgentError
from bot.contracts.idle import IdleReporter
from tests.support.programs import run_program

# A limit of memory is what holds for every user: a thread's stack does not fit, and Python says of it what it says
# of a limit of processes.
BEGINNING = """
import resource, threading
from bot.contracts.capacity import CapacityError, retry_at_capacity

threading.stack_size(256 << 20)
soft, hard = resource.getrlimit(resource.RLIMIT_AS)

def full():
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), hard))
"""


def said(script: str) -> str:
    done = run_program([sys.executable, "-c", BEGINNING + textwrap.dedent(script)], check=True, timeout=60)
    return done.stdout.strip()


def test_one_that_never_can_be_started_is_said_in_words():
    script = """
        full()
        try:
            retry_at_capacity(threading.Thread(target=print).start, patience=0.3)
        except CapacityError as error:
            print(error)
    """
    assert "refused another process or thread for 0.3 s" in said(script)


def test_a_process_start_is_retried_until_there_is_capacity():
    refused = BlockingIOError(11, "Resource temporarily unavailable")
    refusals = iter([refused, RuntimeError("can't start new thread"), refused])

    def start() -> str:
        for refusal in refusals:
            raise refusal
        return "started"

    assert retry_at_capacity(start, patience=5) == "started"


@pytest.mark.parametrize(
    "error", [RuntimeError("threads can only be started once"), FileNotFoundError("git")]
)
def test_what_is_no_want_of_room_is_raised_at_once(error: Exception):
    tries: list[int] = []

    def start() -> None:
        tries.append(1)
        raise error

    with pytest.raises(type(error)):
        retry_at_capacity(start)
    assert len(tries) == 1


def test_who_handles_what_the_system_refuses_handles_this():
    assert issubclass(CapacityError, OSError)
    assert issubclass(CapacityError, AgentError)


def test_a_silence_is_told_of_once_and_then_seldom():
    told: list[str] = []
    heard = threading.Event()

    def say(line: str) -> None:
        told.append(line)
        heard.set()

    with IdleReporter("GitHub", say, first=0.05, again=600).waiting():
        assert heard.wait(30)
    assert told == ["GitHub has sent nothing for 0 s; still waiting"]


def test_our_own_pause_is_no_silence_of_the_peer():
    told: list[str] = []
    over = threading.Event()
    silence = IdleReporter("the provider", told.append, first=0.3)
    with silence.waiting():
        silence.reset(pause=600)
        over.wait(0.6)
    assert told == []
