"""The result of a run in a terminal: the headline first, what to do next, details, notes for the reviewer."""

import pytest

from bot.cli.print_result import headline, print_result
from bot.cli.terminal.printer import Printer
from bot.contracts.evidence import TestChanges
from bot.contracts.outcome import (
    CheckResult,
    CheckRun,
    CheckState,
    Denial,
    Description,
    Outcome,
    Status,
    StopReason,
    WithheldFile,
)
from bot.contracts.pulls import Finding, Review, Severity
from tests.cli.terminal.test_viewer import HOSTILE, Screen
from tests.support.outcomes import EVIDENCE, FAILED, OUTCOME, PASSED, REQUEST, make_outcome, result_lines
from tests.support.terminals import rendered

CHANGED = "1 did not run, 1 flaky, 2 fixed, 1 appeared"
NOTHING = OUTCOME._replace(files=(), checks=(), description=Description())
QUESTION = NOTHING._replace(status=Status.NO_CHANGE, request=REQUEST._replace(instruction="why 60s?"))
BROKEN = CheckResult("t", "make test", PASSED, FAILED)
LATE = CheckRun(CheckState.TIMED_OUT, None, 600.0)
FINDINGS = tuple(
    Finding("a.py", 1, severity, "t", "b") for severity in (Severity.MAJOR, Severity.NOTE, Severity.NOTE)
)


@pytest.mark.parametrize(
    ("outcome", "mark", "text"),
    [
        (OUTCOME, "good", "1 file changed on agent/x, 3 of 3 tests pass, $0.04"),
        (OUTCOME._replace(cost=0.0), "good", "1 file changed on agent/x, 3 of 3 tests pass"),
        (EVIDENCE, "good", "2 files changed on agent/x, 43 of 43 tests pass (2 fixed, 1 flaky), $0.04"),
        (OUTCOME._replace(checks=(BROKEN,), stop_reason=StopReason.CHECKS_FAILING), "bad",
         "1 file changed on agent/x, 1 check fails that passed before, $0.04"),
        (OUTCOME._replace(checks=()), "doubt",
         "1 file changed on agent/x, not verified: no test was run, $0.04"),
        (OUTCOME._replace(checks=(CheckResult("t", "make test", LATE, LATE),)), "doubt",
         "1 file changed on agent/x, not verified: the tests did not end in time, $0.04"),
        (OUTCOME._replace(status=Status.PARTIAL, stop_reason=StopReason.BUDGET), "doubt",
         "Not finished (the budget is spent): 1 file changed on agent/x, 3 of 3 tests pass, $0.04"),
        (NOTHING._replace(status=Status.NO_CHANGE), "doubt", "Nothing was changed, $0.04"),
        (QUESTION._replace(answer="Because."), "good", "Answered, no file was changed, $0.04"),
        (NOTHING._replace(status=Status.NO_CHANGE, answer="No."), "doubt",
         "Answered, no file was changed, $0.04"),
        (NOTHING._replace(status=Status.ANSWERED, answer="So."), "good", "Answered, $0.04"),
        (NOTHING._replace(status=Status.NEEDS_INPUT, question="Which?"), "doubt",
         "The agent has a question, $0.04"),
        (NOTHING._replace(status=Status.FAILED, stop_reason=StopReason.PROVIDER_ERROR), "bad",
         "Failed (the model's provider failed), nothing was changed, $0.04"),
        (NOTHING._replace(status=Status.FAILED, stop_reason=StopReason.CANCELED), "bad",
         "Cancelled, nothing was changed, $0.04"),
    ],
)  # fmt: skip  # fmt: skip
def test_the_headline_is_what_came_of_it(outcome: Outcome, mark: str, text: str):
    assert headline(outcome, "on agent/x") == (mark, text)


@pytest.mark.parametrize(
    ("findings", "mark", "text"),
    [((), "good", "No findings, $0.04"), (FINDINGS, "doubt", "3 findings (1 major, 2 note), $0.04")],
)
def test_the_headline_of_a_review_counts_its_findings(findings: tuple[Finding, ...], mark: str, text: str):
    assert headline(NOTHING, "", Review("a", "b", "", findings)) == (mark, text)


def test_a_review_that_a_limit_ended_is_not_one_without_findings():
    outcome = NOTHING._replace(status=Status.FAILED, stop_reason=StopReason.TURNS)
    review = Review("a", "b", "", ())
    assert headline(outcome, "", review) == ("bad", "Not finished (all turns are used): no findings, $0.04")


def test_a_reason_for_which_many_files_are_withheld_is_printed_once():
    held = tuple(WithheldFile(f"a{number}.py", "gone") for number in range(56))
    lines = result_lines(OUTCOME._replace(withheld=(*held, WithheldFile("b.py", "too large"))))
    assert [line for line in lines if line.startswith("  withheld")] == [
        "  withheld  a0.py, a1.py, a2.py, a3.py, a4.py and 51 more: gone",
        "  withheld  b.py: too large",
    ]


def test_after_the_headline_comes_what_to_do_and_last_what_is_for_the_reviewer():
    lines = result_lines(
        OUTCOME, where="on agent/x", next=[("look", "git diff HEAD...agent/x")], notes=["Mind."]
    )
    assert lines[:4] == [
        "✔ 1 file changed on agent/x, 3 of 3 tests pass, $0.04",
        "",
        "  look      git diff HEAD...agent/x",
        "",
    ]
    assert "  note      Mind." in lines
    assert lines[-5:] == [
        "Round totals once, at the end",
        "Totals were rounded line by line. They are now summed exactly and rounded once.",
        "",
        "For the reviewer",
        "`Invoice.total` is the only caller.",
    ]


def test_an_answer_is_told_whole_and_as_it_was_written():
    answer = (
        "## Why\n\nIt is rounded *late*.\n\n```python\nfor unit in UNITS:\n    pass\n```\n" + "More.\n" * 400
    )
    text = "\n".join(result_lines(QUESTION._replace(answer=answer, reason="The model ended its turn.")))
    assert answer.rstrip() in text
    assert "last words" not in text
    assert "The model ended its turn" not in text


def test_why_a_run_came_to_nothing_is_below_its_headline():
    failed = NOTHING._replace(
        status=Status.FAILED, stop_reason=StopReason.PROVIDER_ERROR, reason="It answered 529."
    )
    assert result_lines(failed)[1] == "  why       It answered 529."


def test_a_check_that_fails_is_printed_with_the_end_of_its_output():
    output = "".join(f"line {number}\n" for number in range(30)) + "E  assert 59 == 60\x1b[2J\n"
    failed = CheckRun(CheckState.FAILED, 1, 2.0, output)
    lines = result_lines(make_outcome(checks=(CheckResult("t", "make test", PASSED, failed),)))
    at = lines.index("  why       Output of make test after the change ends:")
    assert lines[at + 10] == "            │ E  assert 59 == 60"
    assert lines[at + 1] == "            │ line 21"
    before = OUTCOME._replace(checks=(CheckResult("t", "make test", failed, PASSED),))
    assert not any("assert 59" in line for line in result_lines(before))


def test_beside_named_tests_each_other_failing_check_has_the_last_lines_of_its_output():
    failed = CheckRun(CheckState.FAILED, 1, 2.0, "".join(f"line {number}\n" for number in range(30)))
    broken = CheckResult("p", "pytest", PASSED, failed, tests=TestChanges(broken=("a::b",)))
    lines = result_lines(make_outcome(checks=(broken, CheckResult("t", "tox", failed, failed))))
    at = lines.index("  why       Output of tox after the change ends:")
    assert lines[at + 1 : at + 4] == [f"            │ line {number}" for number in (27, 28, 29)]
    assert "  why       Output of pytest after the change ends:" not in lines


def test_a_denied_call_is_told_once_with_its_rule():
    by_policy = Denial("bash", "git push", "rules[0]", "not yours to do")
    built_in = Denial("bash", "git push", "the built-in rule git-push", "no")
    lines = result_lines(make_outcome(denials=(by_policy, by_policy, built_in)))
    assert [line for line in lines if line.startswith("  denied")] == [
        "  denied    bash git push: not yours to do (rule rules[0], 2 times)",
        "  denied    bash git push: no (the built-in rule git-push)",
    ]


# On terminals


def on_terminal(outcome: Outcome, screen: Screen, **environment: str) -> bytes:
    variables = {"TERM": "xterm-256color", **environment}
    next = [("report", "/a/very/long/path/that/fits/no/terminal/of/fifty/columns")]
    print_result(outcome, Printer(screen.stream, variables), "on agent/round-totals-once", next)
    return screen.closed()


def test_a_terminal_gets_colours_and_markdown():
    raw = on_terminal(QUESTION._replace(answer="It is **late**.\n\n- one\n- two"), Screen(80))
    assert raw.lstrip().startswith(
        "\x1b[32;1m✔\x1b[0m \x1b[32;1mAnswered, no file was changed, $0.04\x1b[0m".encode()
    )
    lines = [line.strip() for line in rendered(raw, 80, 40)]
    assert "It is late." in lines
    assert "• one" in lines


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_without_colour_there_is_no_sequence(environment: dict[str, str]):
    raw = on_terminal(QUESTION._replace(answer="It is **late**."), Screen(80), **environment)
    assert b"\x1b" not in raw
    assert b"It is **late**." in raw


@pytest.mark.parametrize("columns", [50, 80])
def test_lines_are_wrapped_at_words_behind_their_label(columns: int):
    screen = Screen(columns, 60)
    raw = on_terminal(EVIDENCE._replace(description=Description()), screen, NO_COLOR="1")
    lines = raw.decode().replace("\r\n", "\n").splitlines()
    assert max(len(line) for line in lines if not line.startswith("  report")) < columns
    [at] = [number for number, line in enumerate(lines) if line.startswith("  check ")]
    assert lines[at + 1].startswith(" " * 12)
    folded = " ".join(" ".join(lines).split())
    assert CHANGED in folded
    assert "  report    /a/very/long/path/that/fits/no/terminal/of/fifty/columns" in "".join(lines)
    assert (
        "2 files changed on agent/round-totals-once, 43 of 43 tests pass (2 fixed, 1 flaky), $0.04" in folded
    )


def test_what_the_locale_lacks_is_an_escape():
    raw = on_terminal(EVIDENCE, Screen(80, encoding="ascii"), NO_COLOR="1")
    assert raw.lstrip().startswith(b"\\u2714 2 files changed")


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
def test_no_word_of_a_model_is_a_sequence_or_a_hidden_link(environment: dict[str, str]):
    hostile = f"{HOSTILE} [the docs](https://evil.example/x)"
    outcome = QUESTION._replace(answer=hostile, reason=hostile, notes=(hostile,), model=hostile)
    raw = on_terminal(outcome, Screen(200, 60), **environment)
    assert b"\x1b]" not in raw
    assert b"\x1b[2J" not in raw
    assert "\u202e".encode() not in raw
    assert b"https://evil.example/x" in raw


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("The conversation fills the model's window.", "the conversation is too long for the model"),
        ("The model reached its output limit in the middle of its answer.", "the model's answer was cut off"),
    ],
)
def test_a_conversation_that_is_too_long_is_no_answer_that_was_cut_off(reason: str, why: str):
    outcome = NOTHING._replace(status=Status.FAILED, stop_reason=StopReason.MAX_TOKENS, reason=reason)
    assert why in headline(outcome)[1]
