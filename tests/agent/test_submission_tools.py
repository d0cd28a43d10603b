"""`describe_change`, `submit_plan` and `ask_user`: typed, saying what to mend, and a question ends the run."""

from typing import Any

import pytest

from bot.agent.submission_tools import AskUser, DescribeChange, SubmitPlan
from bot.contracts.outcome import Description, StopReason
from bot.contracts.plan import MAX_STEPS, PlanStep
from tests.support.sessions import execute


def test_the_last_description_wins() -> None:
    describe = DescribeChange()
    execute(describe, title="First", summary="One.", notes="n")
    executed = execute(describe, title=" Second\n line ", summary=" Two. ")
    assert executed.result.content == "Noted."
    assert describe.description == Description("Second line", "Two.", "")


@pytest.mark.parametrize(
    ("title", "said"),
    [("x" * 80, "title: expected at most 72 characters, got 80"), (" \n ", "only white space")],
)
def test_a_title_that_is_none_is_sent_back(title: str, said: str) -> None:
    describe = DescribeChange()
    assert said in execute(describe, title=title, summary="s").result.content
    assert describe.description == Description()


def step(text: str = "Do it", *paths: str) -> dict[str, Any]:
    return {"text": text, "paths": list(paths)}


def test_the_last_plan_wins() -> None:
    submit = SubmitPlan()
    execute(submit, title="First", steps=[step()])
    executed = execute(
        submit, title=" Second\n line ", steps=[step(" One. ", "./a.py", "a.py"), {"text": "Two"}],
        risks=" r ", estimate_turns=7,
    )  # fmt: skip
    assert executed.result.content == "Noted."
    plan = submit.plan
    assert plan is not None
    assert (plan.title, plan.risks, plan.estimate_turns) == ("Second line", "r", 7)
    assert plan.steps == (PlanStep("One.", ("a.py",)), PlanStep("Two"))
    assert executed.outcome.metadata["plan"] == plan.hash


WRONG = {
    "no steps": ({"steps": []}, "steps: expected at least 1"),
    "steps as text": ({"steps": "do it"}, "steps: expected"),
    "too many steps": ({"steps": [step()] * (MAX_STEPS + 1)}, f"at most {MAX_STEPS}"),
    "a step without text": ({"steps": [{"paths": ["a"]}]}, "steps[0].text"),
    "a blank step": ({"steps": [step("  ")]}, "steps.0.text"),
    "a path upwards": ({"steps": [step("x", "../etc/passwd")]}, "'../etc/passwd' is no path inside"),
    "an absolute path": ({"steps": [step("x", "/etc/passwd")]}, "'/etc/passwd' is no path inside"),
    "a blank title": ({"title": " \n"}, "title: expected one line"),
    "a negative estimate": ({"estimate_turns": -1}, "estimate_turns"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_plan_is_said(name: str) -> None:
    arguments, said = WRONG[name]
    submit = SubmitPlan()
    executed = execute(submit, **{"title": "t", "steps": [step()], **arguments})
    assert executed.result.is_error
    assert said in executed.result.content
    assert submit.plan is None


def test_a_plan_that_is_not_taken_leaves_the_one_before_it() -> None:
    submit = SubmitPlan()
    execute(submit, title="Good", steps=[step()])
    executed = execute(submit, title="Bad", steps=[step("x", "/")])
    assert "The plan submitted before stands." in executed.result.content
    assert submit.plan is not None
    assert submit.plan.title == "Good"


def test_half_a_character_does_not_reach_a_file() -> None:
    submit = SubmitPlan()
    execute(submit, title="t\ud800", steps=[step("x\udfff")])
    assert submit.plan is not None
    submit.plan.title.encode()
    submit.plan.steps[0].text.encode()


def test_a_question_ends_the_run() -> None:
    ask = AskUser()
    assert ask.stop() is None
    assert not execute(ask, question=" Cents or dollars? ").result.is_error
    stop = ask.stop()
    assert stop is not None
    assert stop.stop is StopReason.NEEDS_INPUT
    assert ask.question == "Cents or dollars?"


def test_there_is_one_question() -> None:
    ask = AskUser()
    execute(ask, question="First?")
    assert execute(ask, question="Second?").result.is_error
    assert ask.question == "First?"


def test_a_blank_question_is_none() -> None:
    ask = AskUser()
    assert execute(ask, question=" \n ").result.is_error
    assert ask.stop() is None
