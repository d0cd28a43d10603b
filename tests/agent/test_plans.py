"""`submit_plan` and `ask_user`: typed, saying what to mend, and a question ends the run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.agent.handover import AskUser, SubmitPlan
from bot.agent.toolbox import CallExecution, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import StopReason
from bot.contracts.plan import MAX_STEPS, PlanStep


def call(tool: SubmitPlan | AskUser, **arguments: Any) -> CallExecution:
    toolbox = Toolbox([tool.spec], {tool.spec.name: tool}, lambda name, values: Permission(True))
    return toolbox.execute(ToolCall("a", tool.spec.name, json.dumps(arguments)), CancelToken())


def step(text: str = "Do it", *paths: str) -> dict[str, Any]:
    return {"text": text, "paths": list(paths)}


def test_the_last_plan_wins() -> None:
    submit = SubmitPlan()
    call(submit, title="First", steps=[step()])
    executed = call(
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
    executed = call(submit, **{"title": "t", "steps": [step()], **arguments})
    assert executed.result.is_error
    assert said in executed.result.content
    assert submit.plan is None


def test_a_plan_that_is_not_taken_leaves_the_one_before_it() -> None:
    submit = SubmitPlan()
    call(submit, title="Good", steps=[step()])
    executed = call(submit, title="Bad", steps=[step("x", "/")])
    assert "The plan submitted before stands." in executed.result.content
    assert submit.plan is not None
    assert submit.plan.title == "Good"


def test_half_a_character_does_not_reach_a_file() -> None:
    submit = SubmitPlan()
    call(submit, title="t\ud800", steps=[step("x\udfff")])
    assert submit.plan is not None
    submit.plan.title.encode()
    submit.plan.steps[0].text.encode()


def test_a_question_ends_the_run() -> None:
    ask = AskUser()
    assert ask.stop() is None
    assert not call(ask, question=" Cents or dollars? ").result.is_error
    stop = ask.stop()
    assert stop is not None
    assert stop.stop is StopReason.NEEDS_INPUT
    assert ask.question == "Cents or dollars?"


def test_there_is_one_question() -> None:
    ask = AskUser()
    call(ask, question="First?")
    assert call(ask, question="Second?").result.is_error
    assert ask.question == "First?"


def test_a_blank_question_is_none() -> None:
    ask = AskUser()
    assert call(ask, question=" \n ").result.is_error
    assert ask.stop() is None
