"""What is said of a run while it goes on, and what it waits for."""

import os
import threading
from pathlib import Path

import pytest

from bot.cli.terminal.live import Board, LiveViewer
from bot.cli.terminal.viewer import LineViewer, waiting_line
from bot.contracts.messages import ToolCall
from bot.contracts.progress import OutputEvent, WaitEvent
from tests.support.progress import answered, called, plain_lines, requested, spent
from tests.support.runs import make_run


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("bash", {"command": "make\n  test"}, "  7  bash make test"),
        ("view", {"path": "a.py", "offset": 3}, "  7  view a.py"),
        ("grep", {"path": "src", "pattern": "def f"}, "  7  grep def f"),
        ("describe_change", {"title": "Mend it", "summary": "x"}, "  7  describe_change Mend it"),
        ("ls", {}, "  7  ls"),
        ("task", {"prompt": "Find it"}, "  7  task Find it"),
        ("bash_output", {"id": 3}, "  7  bash_output 3"),
        ("bash", {"command": 5}, "  7  bash 5"),
    ],
)
def test_a_call_is_a_line_with_its_subject(name: str, arguments: dict[str, object], line: str):
    assert plain_lines(called(name, turn=7, arguments=arguments)) == [line]


@pytest.mark.parametrize("arguments", ["", '{"path": ', "[1]", "[" * 100_000])
def test_arguments_that_cannot_be_read_leave_the_name(arguments: str):
    event = called("view", failed=True)._replace(call=ToolCall("c1", "view", arguments))
    assert plain_lines(event) == ["  1  view (failed)"]


def test_a_long_subject_is_cut_and_a_failure_still_seen():
    [line] = plain_lines(called("bash", "x" * 500, failed=True))
    assert len(line) == 100
    assert line.endswith("x… (failed)")


def test_what_the_model_said_is_told_by_its_first_paragraph():
    assert plain_lines(answered(7, "\nDone: it is\nmended.\n\nMore.")) == ["  7  Done: it is mended."]
    assert plain_lines(answered(7, " \n")) == []


def test_what_is_waited_for_is_one_line():
    assert waiting_line("setup: make\n  deps") == "     setup: make deps"


def test_a_wait_shows_name_time_limit_and_the_last_line():
    now = [0.0]
    board = Board(lambda: now[0])
    board.take(WaitEvent("check with the change: pytest", 135.0, skippable=True))
    board.take(OutputEvent("tests/test_a.py .... [ 40%]"))
    now[0] = 12.0
    events = [line for line, _ in board.lines()]
    assert events[0].endswith("check with the change: pytest (12 s, limit 135 s); Enter skips it")
    assert events[1] == "  │ tests/test_a.py .... [ 40%]"
    board.take(requested(3))
    assert "40%" not in "".join(line for line, _ in board.lines())


def test_the_model_is_not_said_to_think_once_its_answer_is_here():
    board = Board(lambda: 0.0)
    board.take(requested(1))
    assert "the model is thinking" in board.lines()[0][0]
    board.take(spent(1, 10, 0.01))
    assert "thinking" not in board.lines()[0][0]


def test_a_log_has_a_line_for_a_wait_and_none_for_its_output():
    assert plain_lines(WaitEvent("check with the change: pytest", 135.0)) == [
        "     check with the change: pytest (limit 135 s)"
    ]
    assert plain_lines(OutputEvent("x")) == []


def test_after_a_stop_no_further_wait_is_told(tmp_path: Path):
    lines: list[str] = []
    run = make_run(tmp_path, view=LineViewer(lines.append))
    run.show_wait("the checkers before the change", 60)
    run.show_output("x")
    run.cancel_run.fire("signal")
    run.show_wait("check with the change: two")
    assert lines == ["     the checkers before the change (limit 60 s)"]


def test_enter_skips_what_is_waited_for_and_nothing_else():
    ours, theirs = os.openpty()
    skipped = threading.Event()
    with open(os.devnull, "w") as nowhere:
        live = LiveViewer(nowhere, theirs)
        live.on_enter(skipped.set)
        os.write(ours, b"\n")
        assert skipped.wait(30)
        live.on_enter(None)
    os.close(ours)
