"""What a run waits for, as a terminal and a log show it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from bot.cli.terminal.board import Board
from bot.cli.terminal.live import LiveViewer
from bot.cli.terminal.viewer import plain_lines
from bot.contracts.cancel import CancelToken
from bot.contracts.progress import Event, OutputEvent, Person, RequestEvent, UsageEvent, WaitEvent
from bot.session.progress.reporter import Waits


class Seen:
    """Somebody who looks on."""

    person: Person | None = None
    interrupted: Callable[[str], None] | None = None

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.skip: Callable[[], None] | None = None

    def tell(self, event: Event) -> None:
        self.events.append(event)

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        self.skip = skip

    def cut_off(self, text: str) -> None: ...


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


def test_without_somebody_to_look_on_a_wait_is_said_in_a_line() -> None:
    lines: list[str] = []
    waits = Waits(lines.append)
    waits.begin("the checkers before the change", 60)
    waits.printed("x")
    waits.end()
    assert lines == ["the checkers before the change"]


def test_after_the_run_was_stopped_no_wait_is_announced() -> None:
    lines: list[str] = []
    stop = CancelToken()
    waits = Waits(lines.append, stop=stop)
    waits.begin("check with the change: one")
    stop.fire("signal")
    waits.begin("check with the change: two")
    assert lines == ["check with the change: one"]


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
