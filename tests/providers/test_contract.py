"""The contract of every adapter: one form of response, whatever the wire format. What only a server that misbehaves at
will can play is in `test_event_grammar.py`.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Thinking, ToolCall, ToolResult
from bot.contracts.model import Complete, Failed, OnRetry, Retrying, unreported
from bot.providers.connect import connect
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Part, Raw, Say, Status, Step, Think, Tokens, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import (
    FRAMES,
    MODELS,
    ask,
    completed,
    failed,
    run,
    stop_word,
    user,
    without_extras,
)

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


# The grammar of events


ONCE = RetryPolicy(attempts=1)


def test_a_call_without_any_arguments_at_the_token_limit_is_not_complete(model: str):
    stop = stop_word(model, "length")
    end, _ = run(model, [Turn((Call("bash", ""),), stop=stop)])
    assert [call.complete for call in completed(end).message.calls] == [False]


def test_calls_decide_over_a_reason_that_knows_none(model: str):
    stop = {"anthropic": "end_turn", "openai-chat": "stop"}.get(model.partition("/")[0], "completed")
    end, _ = run(model, [Turn((Call("bash", {"command": "ls"}),), stop=stop)])
    end = completed(end)
    assert (end.finish, end.raw_reason) == (FinishReason.TOOL_USE, stop)


def test_a_reason_that_promises_calls_without_any_ends_the_turn(model: str):
    stop = {"anthropic": "tool_use", "openai-chat": "tool_calls"}.get(model.partition("/")[0], "completed")
    end, _ = run(model, [Turn((Say("Done."),), stop=stop)])
    assert completed(end).finish is FinishReason.END_TURN


def test_an_answer_with_no_text_and_no_call_is_complete_and_empty(model: str):
    end, _ = run(model, [Turn(())])
    assert completed(end).message.parts == ()


def test_a_call_open_when_the_stream_breaks_is_kept_but_not_complete(model: str):
    parts = (Say("So:"), Call("bash", {"command": "xyzzy"}))
    body = FRAMES[model](Turn(parts), 0)
    end, _ = run(model, [Turn(parts, drop=body.index(b"xyzzy"))], policy=ONCE)
    partial = failed(end).partial
    assert partial is not None
    assert [call.complete for call in partial.calls] == [False]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 6000), max_size=60).map(tuple), pieces=st.integers(1, 40))
def test_any_split_of_the_bytes_gives_the_same_events(
    model: str, cuts: tuple[int, ...], pieces: int, shared_servers: dict[str, Any]
):
    parts = (
        Think("hm … ✓"),
        Say("Grüße\u2028, 世界 🎉"),
        Call("bash", {"command": "echo ✓"}, "c1"),
        Call("ls", {}, "c2"),
    )
    ends = []
    for cut in ((), cuts):
        shared_servers["turn"] = Turn(parts, pieces=pieces, interleave=True, cuts=cut)
        ends.append(shared_servers[model].respond(ask(), CancelToken()))
    whole, split = ends
    message = completed(split).message
    # The server puts the request's number into its ids.
    said, wanted = (
        re.sub(r"rs_\d+_", "rs_", repr(without_extras(one))) for one in (message, completed(whole).message)
    )
    assert said == wanted
    assert message.text == "Grüße\u2028, 世界 🎉"
    assert [call.arguments for call in message.calls] == [parts[2].text, parts[3].text]


@pytest.fixture
def shared_servers() -> Any:
    shared: dict[str, Any] = {}
    with ModelServer(lambda _: shared["turn"]) as server:
        for name in MODELS:
            shared[name] = connect(name, server.environment())
        yield shared
        for name in MODELS:
            shared[name].close()


_KEYS = ["type", "index", "delta", "content_block", "message", "usage", "choices", "tool_calls", "function"]
_KEYS += [
    "finish_reason",
    "id",
    "name",
    "arguments",
    "text",
    "partial_json",
    "stop_reason",
    "content",
    "error",
]
_WORDS = ["text", "tool_use", "content_block_start", "content_block_delta", "content_block_stop", "error"]
_WORDS += ["message_start", "message_delta", "stop", "text_delta", "thinking", "input_json_delta"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYS), inner | st.sampled_from(_WORDS), max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(_JSON, max_size=6))
def test_nothing_a_server_sends_makes_the_adapter_raise(
    model: str, frames: list[Any], shared_raw: dict[str, Any]
):
    shared_raw["body"] = "".join(f"event: x\ndata: {json.dumps(frame)}\n\n" for frame in frames).encode()
    assert isinstance(shared_raw[model].respond(ask(), CancelToken()), Complete | Failed)


@pytest.fixture
def shared_raw() -> Any:
    shared: dict[str, Any] = {}
    with ModelServer(lambda _: Raw(shared["body"])) as server:
        for name in MODELS:
            shared[name] = connect(name, server.environment(), policy=RetryPolicy(attempts=1))
        yield shared
        for name in MODELS:
            shared[name].close()


def test_halves_of_an_emoji_in_two_deltas_are_joined_and_a_lone_one_is_replaced(model: str):
    smile, half = chr(0x1F600), "\ud83d"
    text = f"a{half}\ude00b{half}c{half}"
    turn = Turn((Think(text), Say(text), Call("bash", {"command": text}, "c1")), pieces=2)
    end, _ = run(model, [turn])
    end = completed(end)
    shown = f"a{smile}b\ufffdc\ufffd"
    assert end.message.text == shown
    assert json.loads(end.message.calls[0].arguments)["command"].count(smile) == 1
    repr(end).encode()


@pytest.mark.slow
def test_an_answer_of_ten_megabytes_is_read(model: str):
    text = "word " * 1_000_000
    turn = Turn((Say(text), Call("bash", {"command": text}, "c1")), pieces=1_000_000)
    end = completed(run(model, [turn])[0])
    assert (end.message.text, json.loads(end.message.calls[0].arguments)) == (text, {"command": text})
