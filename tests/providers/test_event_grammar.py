"""The events of a response, run over all adapters against the scripted server, which can misbehave at will."""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason
from bot.contracts.model import Complete, Failed
from bot.providers.connect import connect
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Raw, Say, Think, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import FRAMES, MODELS, ask, completed, failed, run, stop_word, without_extras

ONCE = RetryPolicy(attempts=1)
pytestmark = pytest.mark.parametrize("model", MODELS)


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
