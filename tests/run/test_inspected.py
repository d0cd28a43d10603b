"""What the host says of a checker is a stranger's word."""

from __future__ import annotations

from typing import Any

import pytest

from bot.contracts.problems import Answer, Problem, Severity
from bot.contracts.tools import ToolOutcome
from bot.run.inspected import inspected

ROW = ["a.py", 3, 5, 3, 9, "error", "code", "message", "x = y"]
GOOD = {"state": "complete", "note": "", "version": "ty 1", "python": True, "outside": 0, "rows": [ROW]}


def read(**changed: Any) -> Any:
    return inspected("ty", ToolOutcome("", metadata=GOOD | changed), 1.5)


def test_rows_become_problems() -> None:
    found = read()
    assert found.problems == (Problem("ty", "a.py", 3, 5, Severity.ERROR, "code", "message", 3, 9, "x = y"),)
    assert (found.run.answer, found.run.problems, found.run.duration) == (Answer.COMPLETE, 1, 1.5)
    assert (found.version, found.python) == ("ty 1", True)


@pytest.mark.parametrize(
    "rows",
    [
        None,
        {},
        "x",
        [None],
        [ROW[:8]],
        [[*ROW, 1]],
        [["/etc/passwd", *ROW[1:]]],
        [["../a.py", *ROW[1:]]],
        [["a/../../b", *ROW[1:]]],
        [["./a.py", *ROW[1:]]],
        [[".git/config", *ROW[1:]]],
        [["", *ROW[1:]]],
        [["a\x1b[31m.py", *ROW[1:]]],
        [["a\u202e.py", *ROW[1:]]],
        [["a.py", "3", *ROW[2:]]],
        [["a.py", True, *ROW[2:]]],
        [["a.py", 3.0, *ROW[2:]]],
        [["a.py", float("nan"), *ROW[2:]]],
        [["a.py", -1, *ROW[2:]]],
        [["a.py", 10**9, *ROW[2:]]],
        [[*ROW[:5], "fatal", *ROW[6:]]],
        [[*ROW[:5], ["error"], *ROW[6:]]],
        [[*ROW[:7], "m" * 301, ROW[8]]],
        [[*ROW[:7], None, ROW[8]]],
        [ROW] * 20_001,
    ],
)
def test_what_is_no_problem_ends_the_comparison(rows: Any) -> None:
    found = read(rows=rows)
    assert (found.run.answer, found.problems, found.run.problems) == (Answer.UNAVAILABLE, (), 0)
    assert found.run.note.startswith("its output was not passed on as problems: ")


def test_words_are_made_harmless() -> None:
    row = [*ROW[:6], "c\x1b[2J", "one\r\ntwo\x07\x9b31m", "\tx"]
    (problem,) = read(rows=[row]).problems
    assert (problem.code, problem.message, problem.snippet) == ("c", "one two", "x")
    note = read(state="unavailable", note="bad\n\x1b]0;title\x07" + "n" * 5_000).run.note
    assert note.startswith("bad nnn")
    assert len(note) == 300


@pytest.mark.parametrize("state", [None, "clean", 7, ["complete"], {}])
def test_a_state_that_is_none_is_no_answer(state: Any) -> None:
    assert (
        inspected("ty", ToolOutcome("why", metadata=GOOD | {"state": state}), 0).run.answer
        is Answer.UNAVAILABLE
    )


def test_an_answer_that_did_not_come_has_no_problems() -> None:
    for state in ("timed_out", "unavailable"):
        found = read(state=state, note="it did not end in 120 s")
        assert (found.run.answer.value, found.problems, found.run.note) == (
            state,
            (),
            "it did not end in 120 s",
        )
    broken = inspected("ty", ToolOutcome("The tool failed", is_error=True), 0)
    assert broken.run.note == "it could not be run: The tool failed"


def test_what_was_outside_is_said() -> None:
    assert read(outside=2).run.note == "2 problems outside the repository left out"
    assert read(outside="2").run.note == ""
