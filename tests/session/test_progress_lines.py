"""What is said of a run while it goes on, and what it waits for."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

import pytest

from bot.agent.conversation_context import TurnInfo
from bot.cli.terminal.board import Board
from bot.cli.terminal.live import LiveViewer
from bot.cli.terminal.viewer import plain_lines
from bot.contracts.messages import ToolCall, ToolResult, Usage
from bot.contracts.progress import OutputEvent, RequestEvent, UsageEvent, WaitEvent
from bot.session.event.progress_comment import RunReport
from bot.session.progress.reporter import Waits, turn_lines, waiting_line
from tests.support.runs import make_run


def turn(*calls: tuple[str, str, bool], text: str = "") -> TurnInfo:
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, (name, arguments, _) in enumerate(calls))
    results = tuple(
        ToolResult(f"c{n}", name, "", is_error=failed) for n, (name, _, failed) in enumerate(calls)
    )
    return TurnInfo(7, text, made, results, Usage(), 0.0, frozenset())


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
        ("bash", {"command": 5}, "  7  bash"),
    ],
)
def test_a_call_is_a_line_with_its_subject(name: str, arguments: dict[str, object], line: str) -> None:
    assert list(turn_lines(turn((name, json.dumps(arguments), False)))) == [line]


@pytest.mark.parametrize("arguments", ["", '{"path": ', "[1]", "[" * 100_000])
def test_arguments_that_cannot_be_read_leave_the_name(arguments: str) -> None:
    assert list(turn_lines(turn(("view", arguments, True)))) == ["  7  view (failed)"]


def test_one_that_was_denied_is_not_called_failed() -> None:
    told = turn(("bash", '{"command": "curl x"}', True), ("view", '{"path": "a"}', True))
    lines = list(turn_lines(told._replace(denied=frozenset({"c0"}))))
    assert lines == ["  7  bash curl x (denied)", "  7  view a (failed)"]


def test_a_long_subject_is_cut_and_a_failure_still_seen() -> None:
    [line] = turn_lines(turn(("bash", json.dumps({"command": "x" * 500}), True)))
    assert len(line) == 100
    assert line.endswith("x… (failed)")


def test_what_the_model_said_is_told_by_its_first_paragraph() -> None:
    said = "\nDone: it is\nmended.\n\nMore."
    assert list(turn_lines(turn(text=said))) == ["  7  Done: it is mended."]
    assert list(turn_lines(turn(("ls", "{}", False), text=said))) == ["  7  Done: it is mended.", "  7  ls"]


def test_a_turn_that_says_nothing_is_no_line() -> None:
    assert list(turn_lines(turn())) == []


def test_what_is_waited_for_is_one_line() -> None:
    assert waiting_line("setup: make\n  deps") == "     setup: make deps"


SECRET = "glpat-Zq8vT2rWx5Ky7Lm3Nb4P"


@pytest.mark.parametrize("before", range(60, 110, 3))
def test_a_secret_across_the_end_of_a_line_is_masked_whole(before: int) -> None:
    said: list[str] = []
    log = RunReport(said.append, {"FORGE_TOKEN": SECRET})
    text = f"{'x' * before} {SECRET}"
    log.turn(turn(("bash", json.dumps({"command": text}), False)))
    log.turn(turn(text=text))
    log.turn(turn((text, "{}", False)))
    log.waiting(f"{'x' * before}{text}")
    assert len(said) == 4
    assert not any(SECRET[:8] in line for line in said)


def test_an_encoded_secret_is_not_in_the_log_of_a_job() -> None:
    said: list[str] = []
    twice = base64.b64encode(f"A=1\nTOKEN={SECRET}\n".encode().hex().encode()).decode()
    RunReport(said.append, {"FORGE_TOKEN": SECRET}).waiting(f"the command said {twice}")
    assert said == ["     (withheld: it holds FORGE_TOKEN in a disguise)"]


def test_a_wait_shows_name_time_limit_and_the_last_line() -> None:
    now = [0.0]
    board = Board(lambda: now[0])
    board.take(WaitEvent("check with the change: pytest", 135.0, skippable=True))
    board.take(OutputEvent("tests/test_a.py .... [ 40%]"))
    now[0] = 12.0
    events = [line for line, _ in board.lines(100, 10)]
    assert events[0].endswith("check with the change: pytest (12 s, limit 135 s); Enter skips it")
    assert events[1] == "  │ tests/test_a.py .... [ 40%]"
    board.take(RequestEvent(3))
    assert "40%" not in "".join(line for line, _ in board.lines(100, 10))


def test_the_model_is_not_said_to_think_once_its_answer_is_here() -> None:
    board = Board(lambda: 0.0)
    board.take(RequestEvent(1))
    assert "the model is thinking" in board.lines(80, 5)[0][0]
    board.take(UsageEvent(1, 10, 0.01))
    assert "thinking" not in board.lines(80, 5)[0][0]


def test_a_log_has_a_line_for_a_wait_and_none_for_its_output() -> None:
    assert list(plain_lines(WaitEvent("check with the change: pytest", 135.0))) == [
        "     check with the change: pytest (limit 135 s)"
    ]
    assert list(plain_lines(OutputEvent("x"))) == []


def test_without_somebody_to_look_on_a_wait_is_a_line_and_after_a_stop_none(tmp_path: Path) -> None:
    lines: list[str] = []
    run = make_run(tmp_path, say=lines.append)
    waits = Waits(run)
    waits.begin("the checkers before the change", 60)
    waits.printed("x")
    waits.end()
    run.stop.fire("signal")
    waits.begin("check with the change: two")
    assert lines == ["the checkers before the change"]


def test_enter_skips_what_is_waited_for_and_nothing_else() -> None:
    ours, theirs = os.openpty()
    skipped = threading.Event()
    with open(os.devnull, "w") as nowhere:
        live = LiveViewer(nowhere, theirs)
        live.on_enter(skipped.set)
        os.write(ours, b"\n")
        assert skipped.wait(30)
        live.on_enter(None)
    os.close(ours)
