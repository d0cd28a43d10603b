"""What a tool host says of reports is believed by its shape alone, and only where it was asked."""

from typing import Any

import pytest

from bot.contracts.evidence import Answer, Problem, Severity, TestCounts
from bot.contracts.tools import ToolOutcome
from bot.evidence.tests import NameCounts
from bot.session.checks.host_reports import InvalidReport, parse_checker_run, parse_suite

GOOD: dict[str, Any] = {
    "source": "JUnit report",
    "whole": True,
    "named": True,
    "names": {"passed": ["a", "a"], "failed": ["b"], "skipped": []},
    "counts": {"passed": 2, "failed": 1, "skipped": 0},
    "note": "",
}


def test_a_good_answer_is_a_reading():
    parsed = parse_suite(GOOD)
    assert parsed is not None
    assert parsed.tests == {"a": NameCounts(2, 0, 0), "b": NameCounts(0, 1, 0)}
    assert parsed.counts == TestCounts(2, 1, 0)
    assert parse_suite(None) is None


def test_a_name_is_one_line_without_terminal_sequences():
    parsed = parse_suite({**GOOD, "names": {"passed": ["a\x1b[31m\nb\u202e"], "failed": [], "skipped": []}})
    assert parsed is not None
    assert ["a b" in name and "\x1b" not in name and "\n" not in name for name in parsed.tests] == [True]


def test_a_reason_is_one_line_and_of_a_test_that_failed():
    parsed = parse_suite({**GOOD, "reasons": {"b": "no\n::error::x\x1b[2J", "a": "it passed"}})
    assert parsed is not None
    assert list(parsed.reasons) == ["b"]
    assert parsed.reasons["b"] == "no ::error::x"


@pytest.mark.parametrize(
    "change",
    [
        {"names": []}, {"names": {"passed": "abc"}}, {"names": {"passed": ["x" * 401]}},
        {"names": {"eaten": []}}, {"names": {"passed": ["a"] * 100_001}},
        {"counts": {"passed": -1, "failed": 0, "skipped": 0}},
        {"counts": {"passed": True, "failed": 0, "skipped": 0}},
        {"counts": {"passed": 1 << 40, "failed": 0, "skipped": 0}}, {"whole": 1}, {"note": "x" * 401},
        {"reasons": {"b": "x" * 401}}, {"reasons": {f"b{number}": "" for number in range(2_001)}},
        [], "x", 3, True,
    ],
    ids=lambda change: str(change)[:60],
)  # fmt: skip
def test_an_answer_of_another_shape_is_not_believed(change: Any):
    with pytest.raises(InvalidReport):
        parse_suite({**GOOD, **change} if isinstance(change, dict) else change)


ROW = ["a.py", 3, 5, "error", "code", "message", "x = y"]
GOOD_RUN = {"state": "complete", "note": "", "version": "ty 1", "outside": 0, "rows": [ROW]}


def read(**changed: Any) -> Any:
    return parse_checker_run("ty", ToolOutcome("", metadata=GOOD_RUN | changed), 1.5)


def test_rows_become_problems():
    parsed = read()
    assert parsed.problems == (Problem("ty", "a.py", 3, 5, Severity.ERROR, "code", "message", "x = y"),)
    assert (parsed.run.answer, parsed.run.problems, parsed.run.duration) == (Answer.COMPLETE, 1, 1.5)
    assert parsed.version == "ty 1"


@pytest.mark.parametrize(
    "rows",
    [
        None, {}, "x", [None], [ROW[:6]], [[*ROW, 1]], [["/etc/passwd", *ROW[1:]]], [["../a.py", *ROW[1:]]],
        [["a/../../b", *ROW[1:]]], [[".git/config", *ROW[1:]]], [["", *ROW[1:]]],
        [["a\x1b[31m.py", *ROW[1:]]], [["a\u202e.py", *ROW[1:]]], [["a.py", "3", *ROW[2:]]],
        [["a.py", float("nan"), *ROW[2:]]], [["a.py", -1, *ROW[2:]]], [["a.py", 10**9, *ROW[2:]]],
        [[*ROW[:3], "fatal", *ROW[4:]]], [[*ROW[:3], ["error"], *ROW[4:]]], [[*ROW[:5], "m" * 301, ROW[6]]],
        [[*ROW[:5], None, ROW[6]]], [ROW] * 20_001,
    ],
)  # fmt: skip
def test_what_is_no_problem_ends_the_comparison(rows: Any):
    parsed = read(rows=rows)
    assert (parsed.run.answer, parsed.problems, parsed.run.problems) == (Answer.UNAVAILABLE, (), 0)
    assert parsed.run.note.startswith("its output was not passed on as problems: ")


def test_words_are_made_harmless():
    row = [*ROW[:4], "c\x1b[2J", "one\r\ntwo\x07\x9b31m", "\tx"]
    (problem,) = read(rows=[row]).problems
    assert (problem.code, problem.message, problem.snippet) == ("c", "one two", "x")
    note = read(state="unavailable", note="bad\n\x1b]0;title\x07" + "n" * 5_000).run.note
    assert note.startswith("bad nnn")
    assert len(note) == 300


@pytest.mark.parametrize("state", [None, "clean", 7, ["complete"], {}])
def test_a_state_that_is_none_is_no_answer(state: Any):
    assert read(state=state).run.answer is Answer.UNAVAILABLE


def test_an_answer_that_did_not_come_has_no_problems():
    for state in ("timed_out", "unavailable"):
        parsed = read(state=state, note="it did not end")
        assert (parsed.run.answer.value, parsed.problems, parsed.run.note) == (state, (), "it did not end")
    broken = parse_checker_run("ty", ToolOutcome("The tool failed", is_error=True), 0)
    assert broken.run.note == "it could not be run: The tool failed"


def test_what_was_outside_is_said():
    assert read(outside=2).run.note == "2 problems outside the repository left out"
    assert read(outside="2").run.answer is Answer.UNAVAILABLE
