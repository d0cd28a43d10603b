"""What is shown of a run on a terminal, whatever the terminal and whoever wrote the words. On real pseudo-terminals."""

import argparse
import fcntl
import io
import json
import os
import re
import struct
import sys
import termios
import threading
from pathlib import Path

import pytest

from bot.agent.journal import Journal
from bot.cli.terminal.choose_viewer import choose_viewer
from bot.cli.terminal.live import Board, LiveViewer
from bot.cli.terminal.viewer import JsonViewer, LineViewer, Viewer, event_line
from bot.contracts.journal import (
    RECORDS,
    AgentStarted,
    CompactionRecord,
    DiagnosticsRecord,
    Note,
    Response,
    Result,
)
from bot.contracts.messages import FinishReason, ToolCall
from bot.contracts.progress import EVENTS, SCHEMA, BeginEvent, Event, Written
from bot.gate.redact import Redactor
from tests.support.progress import STARTED, answered, begun, called, listed, plain_lines, requested, spent
from tests.support.sessions import header
from tests.support.terminals import rendered

SECRET = "glpat-Zq8vT2rWx5Ky7Lm3Nb4P"
HOSTILE = (
    "a\x1b]0;owned\x07b\x1b[2J\x9b31mc\r\u202egnp.exe \x07[bold red]x[/] [link=http://evil]y[/link] :bomb:"
)


class Screen:
    """A terminal of `columns` that is written to as `stream`, and what it then shows."""

    def __init__(self, columns: int = 60, rows: int = 20, encoding: str = "utf-8") -> None:
        self._master, slave = os.openpty()
        self._slave = slave
        self.resize(columns, rows)
        self.stream = os.fdopen(slave, "w", encoding=encoding, errors="backslashreplace", closefd=False)
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def resize(self, columns: int, rows: int = 20) -> None:
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def closed(self) -> bytes:
        """All that was written."""
        self.stream.detach()
        os.close(self._slave)
        self._thread.join(60)
        return bytes(self._kept)

    def lines(self) -> list[str]:
        raw = self.closed()
        assert b"\x1b[?25l" not in raw
        return rendered(raw, self.columns, self.rows)

    def _read(self) -> None:
        try:
            while piece := os.read(self._master, 1 << 16):
                self._kept += piece
        except OSError:
            pass
        os.close(self._master)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def tell(screen: Screen, *events: Event, verbose: bool = False) -> None:
    """A whole run on a screen."""
    live = LiveViewer(screen.stream, verbose=verbose)
    for event in events:
        live.tell(event)
    live.close()


def shown(screen: Screen, *events: Event, verbose: bool = False) -> list[str]:
    """What a screen shows once the run is over."""
    tell(screen, *events, verbose=verbose)
    lines = screen.lines()
    while lines and not lines[-1]:
        lines.pop()
    return lines


def test_what_was_done_stays_and_what_was_drawn_goes():
    lines = shown(
        Screen(), Note("setup: make"), STARTED, requested(1), called("view", "a.py"),
        listed(("Mend", "pending")), called("bash", "make", failed=True),
        called("bash", "curl x", failed=True, denied=True), answered(2, "Done."),
    )  # fmt: skip
    assert lines == [
        "     setup: make", "  1  view a.py", "  1  todo", "  1  bash make (failed)",
        "  1  bash curl x (denied)", "  2  Done.",
    ]  # fmt: skip


def test_the_step_the_list_and_the_cost_are_drawn_below():
    seconds = iter([0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 75.0])
    board = Board(lambda: next(seconds))
    todo = listed(("Look", "completed"), ("Mend", "in_progress"), ("Check", "pending"))
    call = begun("bash", "make test", 3)
    for event in (STARTED, requested(3), todo, spent(3, 1234, 0.5), call):
        board.take(event)
    step, used, *items = [line for line, _ in board.lines()]
    assert step.endswith("bash make test (65 s)")
    assert items == ["  [x] Look", "  [>] Mend", "  [ ] Check"]
    assert used == "1:15 · $0.5000 of $5.00 · turn 3 of 80 · 1,234 tokens"


@pytest.mark.parametrize("verbose", [False, True])
def test_no_word_of_anybody_is_a_sequence_or_markup(verbose: bool):
    """The screen refuses every sequence and control character that is not ours."""
    screen = Screen(200)
    events = (
        Note(HOSTILE), STARTED, begun(HOSTILE, HOSTILE), listed((HOSTILE, "in_progress")),
        called("view", HOSTILE, HOSTILE), answered(1, HOSTILE),
        Written(AgentStarted(1, "c1", HOSTILE, "", "")), requested(1, HOSTILE),
        called("ls", "x", HOSTILE, agent=HOSTILE),
    )  # fmt: skip
    text = "\n".join(shown(screen, *events, verbose=verbose))
    assert "\u202e" not in text
    assert "[bold red]x[/] [link=http://evil]y[/link]" in text


def test_a_narrow_terminal_is_never_written_over_its_edge():
    screen = Screen(12, 4)
    wide = "\N{FULLWIDTH LATIN CAPITAL LETTER W}" * 30
    todo = listed(*((f"A rather long thing to do, {n}", "pending") for n in range(9)))
    shown(screen, STARTED, todo, begun("bash", wide), requested(2))


def test_a_list_that_does_not_fit_is_shown_from_what_is_open_on():
    board = Board(lambda: 0.0)
    board.take(listed(*((str(n), "completed" if n < 9 else "pending") for n in range(20))))
    items = [line.split()[-1] for line, _ in board.lines()[2:]]
    assert items == ["8", "9", "10", "11", "12", "13", "14", "15"]


def test_after_a_resize_nothing_above_is_lost():
    screen = Screen(80)
    live = LiveViewer(screen.stream)
    live.tell(STARTED)
    live.tell(called("view", "first.py"))
    screen.resize(30)
    live.tell(called("view", "second.py"))
    screen.resize(120)
    live.tell(called("view", "third.py"))
    live.close()
    lines = screen.lines()
    assert [line for line in lines if "view" in line] == [
        "  1  view first.py", "  1  view second.py", "  1  view third.py",
    ]  # fmt: skip


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()
    tell(screen, called("view", "a.py", failed=True))
    raw = screen.closed()
    assert b"\x1b[31m" not in raw
    assert b"view a.py (failed)" in raw


def test_lines_of_several_threads_do_not_tear():
    screen = Screen(80, 70)
    live = LiveViewer(screen.stream)
    live.tell(STARTED)

    def write(name: str) -> None:
        for n in range(20):
            live.tell(called("view", f"{name}{n}.py"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.close()
    print("after it", file=screen.stream)
    *lines, last = filter(None, screen.lines())
    expected = {f"  1  view {name}{n}.py" for name in "abc" for n in range(20)}
    assert set(lines) == expected
    assert (len(lines), last) == (len(expected), "after it")


def test_nothing_is_drawn_before_there_is_something_to_tell():
    screen = Screen()
    tell(screen, BeginEvent(1, "0", "fix"))
    assert screen.closed() == b""


def test_a_log_has_a_line_a_call_and_with_v_its_results_first_lines():
    event = called("bash", "ls", "a\n\x1b[31mb")
    assert plain_lines(event) == ["  1  bash ls"]
    assert plain_lines(event, verbose=True) == ["  1  bash ls", "       a", "       b"]
    inside = called("bash", "ls", agent="explore-1")
    assert plain_lines(inside) == []
    assert plain_lines(inside, verbose=True) == ["  1  explore-1: bash ls"]


def test_with_v_a_log_says_how_many_problems_a_change_made():
    """The result's first lines seldom reach as far as what is said of them there."""
    [line] = plain_lines(
        Written(DiagnosticsRecord(1, "c1", (("ty", "complete"),), new_count=2)), verbose=True
    )
    assert line == "     2 new problems in what the next call changed"
    none = Written(DiagnosticsRecord(1, "c2", (("ty", "complete"),)))
    assert plain_lines(none, verbose=True) == []


def test_a_view_is_told_each_line_of_the_journal_masked_and_with_its_call(tmp_path: Path):
    told: list[Event] = []
    view = Viewer()
    view.tell = told.append  # type: ignore[method-assign]  # instead of a display
    with Journal(tmp_path / "j", Redactor({"FORGE_TOKEN": SECRET}).text, view=view) as journal:
        journal.write(header())
        call = ToolCall("c1", "bash", json.dumps({"command": f"echo {SECRET}"}))
        journal.write(Response(1, (call,), FinishReason.TOOL_USE, ""))
        journal.write(Result(1, "c1", "bash", f"{'x' * 990} {SECRET}"), "explore-1")
        journal.write(Result(1, "c1", "bash", f"{'x' * 990} {SECRET}"))
    assert [event_line(event) for event in told] == (tmp_path / "j").read_text().splitlines()
    assert SECRET not in (tmp_path / "j").read_text()
    calls = [event.call is not None for event in told if isinstance(event, Written)]
    assert calls == [False, False, False, True]
    lines = "".join(line for event in told for line in plain_lines(event, verbose=True))
    assert SECRET[:8] not in lines
    assert "  1  bash echo" in lines


def test_a_display_that_breaks_ends_no_run_and_the_journal_says_why(tmp_path: Path):
    def broken(event: Event) -> None:
        raise ValueError("no such terminal")

    view = Viewer()
    view.tell = broken  # type: ignore[method-assign]  # instead of a display
    with Journal(tmp_path / "j", str, view=view) as journal:
        journal.write(header())
        journal.write(Note("on we go"))
    texts = [json.loads(line).get("text") for line in (tmp_path / "j").read_text().splitlines()]
    assert texts == [None, "What goes on is not shown any more: ValueError: no such terminal", "on we go"]


def test_a_reader_that_goes_away_is_told_nothing_more():
    said: list[str] = []

    def gone(line: str) -> None:
        said.append(line)
        raise BrokenPipeError

    lines = LineViewer(gone)
    lines.tell(Note("one"))
    lines.tell(Note("two"))
    assert said == ["     one"]


def arguments(**given: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"quiet": False, "verbose": False, "json_events": False, **given})


def test_who_looks_on_is_chosen_by_what_there_is(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen.stream)
    monkeypatch.setattr(sys, "stdin", screen.stream)

    def chosen(environment: dict[str, str], **given: bool) -> tuple[type, bool]:
        viewer = choose_viewer(arguments(**given), environment, None)
        return type(viewer), viewer.person is not None

    there = {"TERM": "xterm"}
    assert chosen(there) == (LiveViewer, True)
    assert chosen(there, quiet=True) == (Viewer, True)
    assert chosen(there, json_events=True) == (JsonViewer, False)
    assert chosen({"TERM": "dumb"}) == chosen({}) == (LineViewer, True)
    assert (
        chosen({**there, "CI": "true"}) == chosen({**there, "GITHUB_ACTIONS": "true"}) == (LineViewer, False)
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert chosen(there) == (LiveViewer, False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert chosen(there) == (LineViewer, False)
    screen.closed()
    narrow = Screen(encoding="iso-8859-1")
    monkeypatch.setattr(sys, "stderr", narrow.stream)
    monkeypatch.setattr(sys, "stdin", narrow.stream)
    assert chosen(there) == (LineViewer, False)
    narrow.closed()


def test_the_events_are_those_on_the_page_of_the_command_line():
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    table = page[page.index("| `type` | when |") : page.index("## Review a branch")]
    told = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) - {"type"}
    assert told == {*EVENTS.values(), *RECORDS}
    assert f"schema {SCHEMA}" in page


@pytest.mark.parametrize(
    ("agent", "failure", "said"),
    [
        ("", "", "the conversation was summed up to fit the model's window: about 180,000 tokens are 12,000 now"),
        ("explore-1", "", "explore-1's conversation was summed up to fit the model's window"),
        ("", "It is empty.", "does not fit the model's window, and could not be summed up: It is empty."),
    ],
)  # fmt: skip
def test_it_is_told_when_a_conversation_is_summed_up(agent: str, failure: str, said: str):
    record = CompactionRecord(31, "short", 4, 180_000, 12_000, failure=failure)
    (line,) = plain_lines(Written(record, b"", agent))
    assert said in line
