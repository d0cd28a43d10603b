"""What a run waits for, as a terminal and a log show it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckState
from bot.contracts.progress import Asking, Event, Person, Printed, Spent, Waiting
from bot.evidence.detect import Check
from bot.run.checks import SKIPPED, Wanted, run_checks
from bot.run.waits import Waits
from bot.terminal.board import Board
from bot.terminal.live import LiveLooking
from bot.terminal.looking import plain_lines
from tests.support.workshops import Bench, make_tree


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
    board.take(Waiting("check with the change: pytest", 135.0, skippable=True))
    board.take(Printed("tests/test_a.py .... [ 40%]"))
    now[0] = 12.0
    shown = [line for line, _ in board.lines(100, 10, unicode=False)]
    assert shown[0].endswith("check with the change: pytest (12 s of 135 s at most); Enter skips it")
    assert shown[1] == "  | tests/test_a.py .... [ 40%]"
    board.take(Asking(3))
    assert "40%" not in "".join(line for line, _ in board.lines(100, 10))


def test_the_model_is_not_said_to_think_once_its_answer_is_here() -> None:
    board = Board(lambda: 0.0)
    board.take(Asking(1))
    assert "the model is thinking" in board.lines(80, 5)[0][0]
    board.take(Spent(1, 10, 0.01))
    assert "thinking" not in board.lines(80, 5)[0][0]


def test_a_log_has_a_line_for_a_wait_and_none_for_its_output() -> None:
    assert list(plain_lines(Waiting("check with the change: pytest", 135.0))) == [
        "     check with the change: pytest (135 s at most)"
    ]
    assert list(plain_lines(Printed("x"))) == []


def test_without_somebody_to_look_on_a_wait_is_said_in_a_line() -> None:
    told: list[str] = []
    waits = Waits(told.append)
    waits.begin("the checkers before the change", 60)
    waits.printed("x")
    waits.end()
    assert told == ["the checkers before the change"]


def test_what_a_check_prints_comes_out_masked_and_without_sequences_while_it_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, make_tree(tmp_path / "tree", {"a": "1\n"}))
    seen, heard = Seen(), threading.Event()
    waits = Waits(lambda line: None, seen, lambda text: text.replace("hunter2", "[masked]"))

    def printed(line: str) -> None:
        waits.printed(line)
        heard.set()
        token.fire(SKIPPED)

    token = CancelToken()
    wanted = Wanted(begin=lambda number, limit: token, printed=printed)
    command = r"printf 'first\n\033]0;title\007\033[2Jpassword hunter2\n\n'; sleep 60"
    try:
        [ran] = run_checks(bench.start(), [Check("t", command, 60)], CancelToken(), "", wanted)
    finally:
        bench.close()
    assert heard.is_set()
    assert seen.events == [Printed("password [masked]")]
    assert (ran.run.state, ran.run.note) == (CheckState.NOT_RUN, SKIPPED), "and Enter ended it"


def test_enter_skips_what_is_waited_for_and_nothing_else() -> None:
    ours, theirs = os.openpty()
    skipped = threading.Event()
    with open(os.devnull, "w") as nowhere:
        live = LiveLooking(nowhere, theirs)
        live.on_enter(skipped.set)
        os.write(ours, b"\n")
        assert skipped.wait(30)
        live.on_enter(None)
    os.close(ours)
