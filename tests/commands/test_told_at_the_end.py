"""The last lines of a run in a terminal: what was run and what it came to, flaky checks and new problems included."""

from __future__ import annotations

from dataclasses import replace

from bot.commands.progress import say_outcome
from bot.contracts.outcome import CheckResult, Denial, Outcome
from bot.contracts.problems import Answer, Compared, ToolRun
from tests.support.outcomes import EVIDENCE, FAILED, PASSED, make_outcome, problem

CHANGED = (
    "flaky: it passed when it was run again; 1 test did not run, 1 test flaky, 2 tests fixed, 1 test appeared"
)


def test_the_evidence_is_told_in_a_few_lines() -> None:
    assert [line for line in _lines(EVIDENCE) if line.startswith(("check", "problems", "coverage", " "))] == [
        f"check    python3 -m pytest -q: before failed (exit 1), after passed; {CHANGED}",
        "problems ruff 0.14.1: 1 new, 2 fixed",
        "problems ty 0.0.4: 1 new, 0 fixed",
        "problems tsc: not compared: tsc is not installed in this project",
        "         invoice.py:7 ty invalid-return-type: Return type does not match: expected `Decimal`, found `int`",
        "         invoice.py:3 ruff F401: `module_3` is never used",
        "coverage 7 of 9 changed lines run",
    ]


def test_a_flaky_check_is_not_told_as_a_failing_one() -> None:
    check = CheckResult("t", "make test", PASSED, FAILED, flaky=True)
    assert (
        "check    make test: before passed, after failed (exit 1); flaky: it passed when it was run again"
        in _lines(make_outcome(checks=(check,)))
    )


def test_of_many_problems_three_are_told_and_a_checker_without_an_answer_counts_for_nothing() -> None:
    done = ToolRun(Answer.COMPLETE, 9, 1.0)
    found = tuple(problem(number) for number in range(1, 10))
    many = Compared("ruff", "ruff 1.0", "ruff check", done, done, new=found, new_count=20)
    late = replace(many, tool="ty", version="", after=ToolRun(Answer.TIMED_OUT, note="stopped after 120 s"))
    lines = _lines(make_outcome(checks=(), diagnostics=(many, late)))
    at = lines.index("problems ruff 1.0: 20 new, 0 fixed")
    assert lines[at + 1] == "problems ty: not known: stopped after 120 s"
    assert lines[at + 2].startswith("         invoice.py:1 ruff F401: ")
    assert lines[at + 5] == "         and 17 more new problems"


def test_checkers_alone_are_not_told_as_if_tests_had_been_run() -> None:
    lines = _lines(replace(EVIDENCE, checks=()))
    assert any(
        line.startswith("         not verified. No test was run: no check is configured") for line in lines
    )


def test_a_denied_call_is_told_once_with_its_rule() -> None:
    denial = Denial("bash", "git push", "rules[0]", "not yours to do")
    lines = _lines(make_outcome(denials=(denial, denial)))
    told = "denied   bash git push: not yours to do (rule rules[0], 2 times)"
    assert [line for line in lines if line.startswith("denied")] == [told]


def _lines(outcome: Outcome) -> list[str]:
    lines: list[str] = []
    say_outcome(outcome, lines.append)
    return lines
