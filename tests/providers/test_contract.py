"""The contract of every adapter: one form of response, whatever the wire format. What only a server that misbehaves at
will can play is in `test_event_grammar.py`.
"""

import json
from typing import Any

import pytest

from bot.contracts.messages import FinishReason, Message, Thinking, ToolCall, ToolResult
from bot.contracts.model import Complete, Failed, OnRetry, Retrying, unreported
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Part, Say, Status, Step, Think, Tokens, Turn
from tests.support.provider_runs import MODELS, ask, completed, failed, run, stop_word, user, without_extras

pytestmark = pytest.mark.parametrize("model", MODELS)


def turn(model: str, *parts: Part, stop: str = "", **more: Any) -> Turn:
    """In pieces; `stop` by its meaning."""
    return Turn(parts, stop=stop_word(model, stop), pieces=7, interleave=True, **more)


def played(
    model: str, step: Step, *more: Message, attempts: int = 1, retrying: OnRetry = unreported
) -> Complete | Failed:
    policy = RetryPolicy(attempts=attempts, base=0.0)
    return run(model, [step] * attempts, ask(user("hello"), *more), policy=policy, retrying=retrying)[0]


@pytest.mark.parametrize("arguments", ['{"command":"ls"}', '{"command": "ls",}'], ids=["JSON", "no JSON"])
def test_a_call_with_its_id_and_its_arguments_word_for_word(model: str, arguments: str):
    end = completed(played(model, turn(model, Call("bash", arguments, "call_a"))))
    assert without_extras(end.message) == (ToolCall("call_a", "bash", arguments),)
    assert end.finish is FinishReason.TOOL_USE


def test_parallel_calls_and_the_loop_that_answers_them(model: str):
    calls = [
        ("c1", "bash", {"command": "one"}),
        ("c2", "bash", {"command": "two"}),
        ("c3", "view", {"path": "a.py"}),
    ]
    made = [Call(name, arguments, id) for id, name, arguments in calls]
    first = completed(played(model, turn(model, Say("I will look."), *made)))
    assert first.message.text == "I will look."
    assert [(call.id, call.name, json.loads(call.arguments)) for call in first.message.calls] == calls
    answers = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in first.message.calls))
    second = completed(played(model, Say("The answer is hi."), first.message, answers))
    assert second.message.text == "The answer is hi."


def test_a_tool_loop_with_reasoning_goes_round(model: str):
    reasoned = turn(model, Think("First look."), Call("bash", {"command": "ls"}, "call_r"))
    first = completed(played(model, reasoned))
    thinking = first.message.parts[0]
    assert isinstance(thinking, Thinking)
    assert thinking.text == "First look."
    answers = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in first.message.calls))
    second = completed(played(model, Say("It is there."), first.message, answers))
    assert second.message.text == "It is there."


def test_a_call_that_the_token_limit_cut_is_not_whole(model: str):
    text = '{"path": "a", "conte'
    end = completed(played(model, turn(model, Call("write", text, "call_c"), stop="length")))
    assert end.finish is FinishReason.MAX_TOKENS
    assert without_extras(end.message) == (ToolCall("call_c", "write", text, complete=False),)


def test_a_whole_answer_with_an_unknown_reason_ends_the_turn(model: str):
    end = completed(played(model, turn(model, Say("Hm."), stop="a_reason_of_next_year")))
    assert (end.finish, end.raw_reason) == (FinishReason.END_TURN, "a_reason_of_next_year")


def test_an_overload_is_tried_again_with_one_event_an_attempt(model: str):
    retries: list[Retrying] = []
    overloaded = Status(503, "busy", kind="overloaded_error")
    end = played(model, overloaded, attempts=3, retrying=retries.append)
    assert [event.attempt for event in retries] == [1, 2]
    assert failed(end).status == 503


def test_usage_counts_input_without_the_cache_and_output_whole(model: str):
    usage = completed(played(model, turn(model, Say("Counted."), tokens=Tokens(120, 30)))).usage
    assert (usage.input, usage.cache_read, usage.output) == (120, 0, 30)
