"""Which problems are new, and what the model reads of them: short, exact, and never "clean" without an answer."""

import pytest

from bot.contracts.evidence import Answer, Problem, Severity
from bot.toolhost.lsp.diagnosing import Report, in_order, new_problems

BOTH = (("ty", Answer.COMPLETE), ("ruff", Answer.COMPLETE))
LATE = (("ty", Answer.TIMED_OUT),)


def problem(message: str = "wrong", line: int = 1, *, snippet: str = "x", **more: str) -> Problem:
    given = {"tool": "ty", "path": "src/a.py", "code": "bad", "severity": "error"} | more
    severity = Severity(given["severity"])
    return Problem(given["tool"], given["path"], line, 5, severity, given["code"], message, snippet=snippet)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([problem(), problem("other", 2)], [problem(line=8), problem("other", 9)]),
        ([problem(snippet="f(1)")], [problem(snippet="f(1, 2)")]),
        ([problem("redefined, see line 12")], [problem("redefined, see line 14")]),
    ],
    ids=["moved", "line edited", "line in the message"],
)
def test_an_old_problem_is_not_new(before: list[Problem], now: list[Problem]) -> None:
    assert new_problems(before, now) == []


def test_the_same_once_more_is_new_and_it_is_the_right_one() -> None:
    now = [problem(line=1, snippet="new()"), problem(line=5, snippet="old()")]
    assert new_problems([problem(snippet="old()")], now) == [now[0]]


@pytest.mark.parametrize("differs", [{"code": "d"}, {"tool": "ruff"}, {"severity": "warning"}])
def test_another_code_tool_or_severity_is_another_problem(differs: dict[str, str]) -> None:
    assert new_problems([problem()], [problem(**differs)]) == [problem(**differs)]


def test_errors_come_first_then_the_changed_file_and_a_position_has_one_tool() -> None:
    first, second = problem(path="b.py"), problem(path="a.py")
    warning = problem(path="b.py", severity="warning", line=2)
    every = [warning, second, first, problem(path="a.py", tool="ruff")]
    assert in_order(every, ["b.py"]) == [first, second, warning]


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report(BOTH, ()), "Diagnostics: no new problems (ty, ruff)"),
        (Report(LATE, (), limit=2.0, late=["ty"]), "Diagnostics: ty did not answer in 2 s; state unknown"),
        (
            Report((*LATE, BOTH[1]), (), limit=2.0, late=["ty"]),
            "Diagnostics: no new problems (ruff); ty did not answer in 2 s; state unknown",
        ),
        (Report((("ty", Answer.UNAVAILABLE),), ()), ""),
        (Report((), (), notes=["ty is not available: no"]), "Diagnostics: ty is not available: no"),
        (Report(BOTH, [problem()]), "Diagnostics (ty, ruff; complete): 1 new (all shown before)"),
        (
            Report(BOTH, [problem("a", 12), problem("b")], [problem("a", 12, snippet="  f(x)")]),
            """\
Diagnostics (ty, ruff; complete): 2 new (1 shown before)
src/a.py:12:5 error ty:bad a
    12 |   f(x)""",
        ),
    ],
)
def test_the_text_says_what_is_known(report: Report, text: str) -> None:
    assert report.text() == text


def test_ten_problems_are_shown_and_the_rest_is_counted() -> None:
    many = [problem(str(number), snippet="") for number in range(12)]
    report = Report(BOTH, many, many)
    lines = report.text().splitlines()
    assert (len(lines), lines[-1]) == (12, "[2 more new ones are not shown]")
    record = report.record()
    assert (record["new_count"], len(record["new"])) == (12, 10)
