"""What counts as new: by file, tool, code and message, as often as it is there, and never by line."""

from __future__ import annotations

import pytest

from bot.contracts.evidence import Problem, Severity
from bot.toolhost.lsp.baseline import Change, certain, compare, merge


def problem(message: str = "wrong", line: int = 1, *, snippet: str = "x", **more: str) -> Problem:
    given = {"tool": "ty", "path": "a.py", "code": "c"} | more
    severity = Severity(given.pop("severity", "error"))
    return Problem(given["tool"], given["path"], line, 1, severity, given["code"], message, snippet=snippet)


def test_what_only_moved_is_not_new() -> None:
    before = [problem(line=1), problem("other", line=2)]
    assert compare(before, [problem(line=8), problem("other", line=9)]) == Change(remaining=2)


def test_the_same_once_more_is_new_and_it_is_the_right_one() -> None:
    before = [problem(line=1, snippet="old()")]
    change = compare(before, [problem(line=1, snippet="new()"), problem(line=5, snippet="old()")])
    assert [one.snippet for one in change.new] == ["new()"]
    assert (change.fixed, change.remaining) == (0, 1)


def test_an_edit_of_the_line_that_a_problem_stands_on_is_no_new_problem() -> None:
    assert compare([problem(snippet="f(1)")], [problem(snippet="f(1, 2)")]) == Change(remaining=1)


def test_a_line_that_a_message_names_makes_no_difference() -> None:
    before, now = problem("redefined, first seen on line 12"), problem("redefined, first seen on line 14")
    assert compare([before], [now]) == Change(remaining=1)


def test_what_is_gone_is_counted_as_fixed() -> None:
    assert compare([problem("a"), problem("b"), problem("b")], [problem("b")]) == Change(fixed=2, remaining=1)


def test_what_a_new_error_may_only_hide_is_not_fixed() -> None:
    warned = compare([problem("a")], [problem("b", severity="warning")])
    assert certain(warned).fixed == 1
    assert certain(compare([problem("a")], [problem("b")])).fixed == 0


@pytest.mark.parametrize("differs", [{"code": "d"}, {"tool": "ruff"}, {"severity": "warning"}])
def test_another_code_tool_or_severity_is_another_problem(differs: dict[str, str]) -> None:
    change = compare([problem()], [problem(**differs)])
    assert (len(change.new), change.fixed) == (1, 1)


def test_errors_come_first_and_one_line_has_a_problem_once() -> None:
    found = [
        problem("b", line=9),
        problem("w", line=1, severity="warning"),
        problem("Undefined name `y`", line=5, tool="ruff", code="F821"),
        problem("the same", line=9, tool="ruff", code="F821"),
        problem("b", line=9),
    ]
    shown = merge([Change(tuple(found), 1, 2), Change(fixed=1)])
    assert [(one.tool, one.line) for one in shown.new] == [("ruff", 5), ("ty", 9), ("ty", 1)]
    assert (shown.fixed, shown.remaining) == (2, 2)
    first = merge([Change((problem(), problem(path="z.py")))], ["z.py"])
    assert [one.path for one in first.new] == ["z.py", "a.py"]
