"""The events of a response, run over all adapters against the scripted server, which can misbehave at will."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Text, ToolCall
from bot.contracts.model import Complete
from bot.providers.connect import connect
from bot.providers.retry import RetryPolicy
from tests.support.model_cases import stop_word
from tests.support.model_script import Call, Raw, Say, Think, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import (
    FRAMES,
    MODELS,
    ask,
    check_grammar,
    completed,
    failed,
    run,
    without_extras,
)

ONCE = RetryPolicy(attempts=1)
pytestmark = pytest.mark.parametrize("model", MODELS)


def test_text_that_comes_in_pieces_is_whole(model: str) -> None:
    events, _ = run(model, [Turn((Say("Hello, wörld ✓"),), pieces=4)])
    check_grammar(events)
    end = completed(events)
    assert without_extras(end.message) == (Text("Hello, wörld ✓"),)
    assert 0 < end.first_token < 60
    assert (end.finish, end.message.role) == (FinishReason.END_TURN, "assistant")


def test_interleaved_parallel_calls_are_kept_apart(model: str) -> None:
    calls = (
        Call("bash", {"command": "one"}, "c1"),
        Call("view", {"path": "two"}, "c2"),
        Call("ls", {}, "c3"),
    )
    events, _ = run(model, [Turn((Say("Look:"), *calls), pieces=3, interleave=True)])
    check_grammar(events)
    kept = tuple(part for part in without_extras(completed(events).message) if isinstance(part, ToolCall))
    assert kept == tuple(ToolCall(call.id, call.name, call.text) for call in calls)


def test_a_call_cut_at_the_token_limit_is_not_complete(model: str) -> None:
    stop = stop_word(model, "length")
    calls = (Call("bash", {"command": "ls"}, "c1"), Call("write", '{"path": "a", "conte', "c2"))
    events, _ = run(model, [Turn(calls, stop=stop)])
    check_grammar(events)
    end = completed(events)
    assert (end.finish, end.raw_reason) == (FinishReason.MAX_TOKENS, stop)
    assert [call.complete for call in end.message.calls] == [True, False]


def test_a_call_without_any_arguments_at_the_token_limit_is_not_complete(model: str) -> None:
    stop = stop_word(model, "length")
    events, _ = run(model, [Turn((Call("bash", ""),), stop=stop)])
    assert [call.complete for call in completed(events).message.calls] == [False]


def test_calls_decide_over_a_reason_that_knows_none(model: str) -> None:
    stop = {"anthropic": "end_turn", "openai-chat": "stop"}.get(model.partition("/")[0], "completed")
    events, _ = run(model, [Turn((Call("bash", {"command": "ls"}),), stop=stop)])
    end = completed(events)
    assert (end.finish, end.raw_reason) == (FinishReason.TOOL_USE, stop)


def test_a_reason_that_promises_calls_without_any_ends_the_turn(model: str) -> None:
    stop = {"anthropic": "tool_use", "openai-chat": "tool_calls"}.get(model.partition("/")[0], "completed")
    events, _ = run(model, [Turn((Say("Done."),), stop=stop)])
    assert completed(events).finish is FinishReason.END_TURN


@pytest.mark.parametrize("reason", ["refusal", "content_filter"])
def test_a_refusing_reason_is_an_error_that_keeps_the_word(model: str, reason: str) -> None:
    events, _ = run(model, [Turn((Say("I"),), stop=reason)])
    check_grammar(events)
    end = completed(events)
    assert (end.finish, end.raw_reason) == (FinishReason.ERROR, reason)


def test_an_answer_with_no_text_and_no_call_is_complete_and_empty(model: str) -> None:
    events, _ = run(model, [Turn(())])
    assert [type(event) for event in events] == [Complete]
    assert completed(events).message.parts == ()


def test_an_error_inside_the_stream_after_text_fails_with_what_had_come(model: str) -> None:
    error = {"type": "server_error", "message": "the model fell over"}
    events, requests = run(model, [Turn((Say("Half"),), error=error)], policy=ONCE)
    check_grammar(events)
    end = failed(events)
    assert "the model fell over" in end.message
    assert (end.status, end.canceled) == (500, False)
    assert end.partial is not None
    assert end.partial.text == "Half"
    assert len(requests) == 1


def test_a_call_open_when_the_stream_breaks_is_kept_but_not_complete(model: str) -> None:
    parts = (Say("So:"), Call("bash", {"command": "xyzzy"}))
    body = FRAMES[model](Turn(parts), 0)
    events, _ = run(model, [Turn(parts, drop=body.index(b"xyzzy"))], policy=ONCE)
    check_grammar(events)
    partial = failed(events).partial
    assert partial is not None
    assert [call.complete for call in partial.calls] == [False]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 6000), max_size=60).map(tuple), pieces=st.integers(1, 40))
def test_any_split_of_the_bytes_gives_the_same_events(
    model: str, cuts: tuple[int, ...], pieces: int, shared_servers: dict[str, Any]
) -> None:
    parts = (
        Think("hm … ✓"),
        Say("Grüße\u2028, 世界 🎉"),
        Call("bash", {"command": "echo ✓"}, "c1"),
        Call("ls", {}, "c2"),
    )
    streams = []
    for cut in ((), cuts):
        shared_servers["turn"] = Turn(parts, pieces=pieces, interleave=True, cuts=cut)
        streams.append(list(shared_servers[model].stream(ask(), CancelToken())))
    whole, split = streams
    check_grammar(split)
    assert split[:-1] == whole[:-1]
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
) -> None:
    shared_raw["body"] = "".join(f"event: x\ndata: {json.dumps(frame)}\n\n" for frame in frames).encode()
    check_grammar(list(shared_raw[model].stream(ask(), CancelToken())))


@pytest.fixture
def shared_raw() -> Any:
    shared: dict[str, Any] = {}
    with ModelServer(lambda _: Raw(shared["body"])) as server:
        for name in MODELS:
            shared[name] = connect(name, server.environment(), policy=RetryPolicy(attempts=1))
        yield shared
        for name in MODELS:
            shared[name].close()


def test_halves_of_an_emoji_in_two_deltas_are_joined_and_a_lone_one_is_replaced(model: str) -> None:
    smile, half = chr(0x1F600), "\ud83d"
    text = f"a{half}\ude00b{half}c{half}"
    turn = Turn((Think(text), Say(text), Call("bash", {"command": text}, "c1")), pieces=2)
    events, _ = run(model, [turn])
    end = completed(events)
    shown = f"a{smile}b\ufffdc\ufffd"
    assert end.message.text == shown
    assert json.loads(end.message.calls[0].arguments)["command"].count(smile) == 1
    repr(end).encode()


@pytest.mark.slow
def test_an_answer_of_ten_megabytes_is_read(model: str) -> None:
    text = "word " * 1_000_000
    turn = Turn((Say(text), Call("bash", {"command": text}, "c1")), pieces=1_000_000)
    end = completed(run(model, [turn])[0])
    assert (end.message.text, json.loads(end.message.calls[0].arguments)) == (text, {"command": text})
