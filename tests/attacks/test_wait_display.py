"""What a check prints stands beside what the run says of itself, and can be told from it."""

import pytest

from bot.cli.terminal.live import Board
from bot.contracts.progress import OutputEvent, WaitEvent
from tests.support.progress import listed

FORGED = (
    "\u2714 1 file changed on agent/fix, 20 of 20 tests pass, $0.04",
    "check with the change: pytest (1 s, limit 135 s); Enter skips it",
    "[x] Every test passes",
    "turn 3 of 80, $0.01 of $5.00",
    "\x1b[1A\x1b[2K\x1b[32mcheck with the change: passed\x1b[0m",
    "x\rcheck with the change: passed\nand more",
)


@pytest.mark.parametrize("line", FORGED)
def test_a78_a_line_that_a_check_prints_is_marked_as_its_output(line: str):
    board = Board(lambda: 0.0)
    board.take(listed(("Mend it", "pending")))
    board.take(WaitEvent("check with the change: pytest", 135.0, skippable=True))
    before = [text for text, _ in board.lines()]
    board.take(OutputEvent(line))
    after = [text for text, _ in board.lines()]
    (more,) = [text for text in after if text not in before]
    assert [text for text in after if text != more] == before
    assert more.startswith("  \u2502 ")
    assert more.isprintable()
