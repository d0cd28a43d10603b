"""Programs that the host starts for itself: bounded, killable, never waited for longer than they live."""

import threading
import time
from pathlib import Path

import pytest

from bot.toolhost.programs import Cancellation, ProgramResult, run_program

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def run(script: str, *, timeout: float = 10, cap: int = 1 << 20, stdin: bytes = b"") -> ProgramResult:
    return run_program(
        ["bash", "-c", script],
        cwd=Path("/"),
        environment=ENVIRONMENT,
        timeout=timeout,
        cap=cap,
        cancelled=Cancellation(),
        stdin=stdin,
    )


def test_output_errors_and_exit_code_are_told_apart():
    finished = run("echo out; echo err >&2; exit 3")
    assert (finished.output, finished.errors, finished.exit_code) == (b"out\n", b"err\n", 3)


def test_a_program_that_is_not_there_raises():
    with pytest.raises(OSError):
        run_program(
            ["no-such-program"], cwd=Path("/"), environment={}, timeout=1, cap=1, cancelled=Cancellation()
        )


def test_output_over_the_cap_stops_the_program():
    finished = run("yes", cap=1000, timeout=600)
    assert finished.capped
    assert finished.output == b"y\n" * 500


def test_sigterm_ignored_and_output_without_end_is_killed_all_the_same():
    finished = run("trap '' TERM; while :; do echo still here; sleep 0.02; done", timeout=0.2, cap=1 << 30)
    assert finished.timed_out
    assert finished.exit_code == -9


def test_cancellation_wakes_at_once():
    cancelled = Cancellation()
    threading.Timer(0.1, cancelled.set).start()
    started = time.monotonic()
    finished = run_program(
        ["sleep", "3600"], cwd=Path("/"), environment=ENVIRONMENT, timeout=600, cap=1, cancelled=cancelled
    )
    assert finished.cancelled
    assert not finished.timed_out
    assert time.monotonic() - started < 60


def test_the_end_of_the_process_is_the_end_even_when_a_child_keeps_the_pipe():
    started = time.monotonic()
    assert run("sleep 3600 & echo hi", timeout=600).output == b"hi\n"
    assert time.monotonic() - started < 60
