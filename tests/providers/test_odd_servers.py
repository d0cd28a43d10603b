"""Streams of servers that only resemble the vendors' own: each row is written anew from a public report, its source."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from bot.agent.message_history import max_response
from bot.contracts.messages import FinishReason, Thinking, ToolCall
from bot.providers.models import apply_override, model_info
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Raw, Say
from tests.support.provider_runs import MODELS, ask, chunk, completed, failed, run, sse

MESSAGES, CHAT, _ = MODELS


def call(arguments: Any, id: str | None = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk(tool_calls=[{**({"id": id} if id else {}), "function": function, **more}])


ONE, TWO = '{"n":1}', '{"n":2}'
BOTH = [("view", ONE), ("bash", TWO)]

CALLS: dict[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "every call has index 0": (
        "https://github.com/ollama/ollama/issues/15457",
        (call(ONE, "a", "view", index=0), call(TWO, "b", "bash", index=0), chunk("tool_calls")),
    ),
    "no index at all": (
        "https://github.com/AstrBotDevs/AstrBot/pull/6692",
        (call(ONE, "a", "view"), call(TWO, "b", "bash"), chunk("tool_calls")),
    ),
    "pieces with the id and no index": (
        "https://github.com/agno-agi/agno/pull/8880",
        (call("", "a", "view"), call("", "b", "bash"), call(ONE, "a"), call(TWO, "b"), chunk("tool_calls")),
    ),
    "a second call begins at index 0 and goes on at 1": (
        "https://github.com/agno-agi/agno/pull/8880",
        (
            call(ONE, "a", "view", index=0),
            call('{"n"', "b", "bash", index=0),
            call(":2}", "b", index=1),
            chunk("tool_calls"),
        ),
    ),
    "an index written as text": (
        "https://github.com/EricLBuehler/mistral.rs/pull/1507",
        (
            call('{"n"', "a", "view", index="0"),
            call('{"n"', "b", "bash", index="1"),
            call(":1}", index="0"),
            call(":2}", index="1"),
            chunk("tool_calls"),
        ),
    ),
    "no ids, the index reused": (
        "https://github.com/huggingface/smolagents/pull/1958",
        (call(ONE, name="view", index=0), call(TWO, name="bash", index=0), chunk("tool_calls")),
    ),
    "id and name repeated on every piece": (
        "https://github.com/NousResearch/hermes-agent/pull/3468",
        (
            call('{"n"', "a", "view", index=0),
            call(":1}", "a", "view", index=0),
            call(TWO, "b", "bash", index=1),
            chunk("tool_calls"),
        ),
    ),
    "arguments as an object, stop beside calls": (
        "https://github.com/BerriAI/litellm/pull/37792",
        (call({"n": 1}, "a", "view", index=0), call({"n": 2}, "b", "bash", index=0), chunk("stop")),
    ),
    "stop beside reasoning, before the calls": (
        "https://github.com/openclaw/openclaw/issues/91604",
        (
            chunk("stop", reasoning_content="hm"),
            call(ONE, "a", "view", index=0),
            call(TWO, "b", "bash", index=1),
            chunk("stop"),
        ),
    ),
    "an empty finish reason on every chunk": (
        "https://github.com/ollama/ollama/issues/4357",
        (chunk("", role="assistant"), call(ONE, "a", "view"), call(TWO, "b", "bash"), chunk("tool_calls")),
    ),
    "content beside every call": (
        "https://github.com/ai-dynamo/dynamo/pull/4723",
        (
            call(ONE, "a", "view", index=0),
            chunk(content="\n", tool_calls=None),
            call(TWO, "b", "bash", index=0),
            chunk("tool_calls"),
        ),
    ),
    "an engine that aborted after whole calls": (
        "https://github.com/vllm-project/vllm/issues/57082",
        (call(ONE, "a", "view", index=0), call(TWO, "b", "bash", index=1), chunk("abort")),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_two_calls_stay_two_calls(name: str):
    source, frames = CALLS[name]
    end, requests = run(CHAT, [sse(*frames, done=True)])
    end = completed(end)
    made = [part for part in end.message.parts if isinstance(part, ToolCall)]
    assert [(one.name, one.arguments) for one in made] == BOTH, source
    assert end.finish is FinishReason.TOOL_USE
    assert all(one.complete for one in made)
    ids = [one.id for one in made]
    assert len({*ids}) == 2 or ids == ["", ""], "the history names calls without an id"
    assert len(requests) == 1


@pytest.mark.parametrize("word", ["stop", "eos", "tool_calls", "length"])
def test_messages_with_the_words_of_chat_completions(word: str):
    """https://github.com/QuantumNous/new-api/issues/5870"""
    body = sse(
        {"type": "message_start", "message": {"usage": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Whole."}},
        {"type": "message_delta", "delta": {"stop_reason": word}},
    )
    end = completed(run(MESSAGES, [body])[0])
    wanted = FinishReason.MAX_TOKENS if word == "length" else FinishReason.END_TURN
    assert (end.message.text, end.finish) == ("Whole.", wanted)


def test_messages_whose_blocks_are_never_ended():
    """https://github.com/xemantic/anthropic-sdk-kotlin/pull/147 and
    https://github.com/esengine/DeepSeek-Reasonix/pull/8756: nor is the message."""
    frames = [{"type": "message_start", "message": {}}]
    for index, (name, arguments) in enumerate(BOTH):
        block = {"type": "tool_use", "id": f"call_{index}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
        frames += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
        ]
    frames.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    end, requests = run(MESSAGES, [sse(*frames)])
    end = completed(end)
    assert [(one.name, one.arguments, one.complete) for one in end.message.calls] == [
        (name, arguments, True) for name, arguments in BOTH
    ]
    assert len(requests) == 1


def test_messages_with_the_whole_input_in_the_first_event():
    """https://github.com/anomalyco/opencode/pull/38733"""
    block = {"type": "tool_use", "id": "a", "name": "view", "input": {"n": 1}}
    body = sse(
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    assert [one.arguments for one in completed(run(MESSAGES, [body])[0]).message.calls] == [ONE]


def test_content_as_a_list_of_typed_pieces():
    """https://github.com/symfony/ai/issues/2422"""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    frames = (
        chunk(content=[thinking]),
        chunk(content=[{"type": "text", "text": "Who"}]),
        chunk(content="le."),
        chunk("stop", content=[]),
    )
    end = completed(run(CHAT, [sse(*frames, done=True)])[0])
    assert end.message.text == "Whole."
    assert [part.text for part in end.message.parts if isinstance(part, Thinking)] == ["hm"]


class Reported(NamedTuple):
    """An error in a stream that began with success: `requests` counts those of three attempts."""

    source: str
    body: Raw
    words: str
    requests: int


SAID = "the model is not loaded"
REPORTED = {
    "an error without a status": Reported(
        "https://github.com/aaif-goose/goose/pull/8027", sse({"error": {"message": SAID}}), SAID, 3
    ),
    "an error that is a text": Reported("https://github.com/Blaizzy/nativ/pull/195", sse({"error": SAID}), SAID, 3),
    "an object of the kind error": Reported(
        "https://github.com/sgl-project/sglang/issues",
        sse({"object": "error", "message": SAID, "code": 400}),
        SAID,
        1,
    ),
    "a named event": Reported(
        "https://github.com/tobocop2/lilbee/pull/324",
        Raw(b"event: error\n" + sse({"message": SAID, "code": 400}).body),
        SAID,
        1,
    ),
    "a detail": Reported("https://github.com/vllm-project/vllm/issues", sse({"detail": SAID}), SAID, 3),
    "an error inside the choice": Reported(
        "https://openrouter.ai/docs/api-reference/errors",
        sse({"choices": [{"index": 0, "delta": {}, "error": {"code": 400, "message": SAID}}]}),
        SAID,
        1,
    ),
    "quota": Reported(
        "https://github.com/apache/rocketmq-dashboard/issues/2178",
        sse({"error": {"message": "quota exceeded", "code": "insufficient_quota"}}, done=True),
        "quota exceeded",
        1,
    ),
    "a code as text": Reported(
        "https://github.com/vercel/ai/pull/17279",
        sse({"error": {"message": "Context length exceeded", "code": "context_length_exceeded"}}),
        "Context length exceeded",
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTED)
def test_the_servers_own_words_reach_people_and_what_stays_wrong_is_asked_once(name: str):
    row = REPORTED[name]
    end, requests = run(CHAT, lambda _: row.body, policy=RetryPolicy(attempts=3, base=0.0))
    assert row.words in failed(end).message, row.source
    assert len(requests) == row.requests


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "body", [{"error": {"message": SAID}}, {"detail": SAID}, {"object": "error", "message": SAID}]
)
def test_success_with_an_error_in_place_of_a_stream_keeps_its_words(model: str, body: Mapping[str, Any]):
    """https://github.com/apache/rocketmq-dashboard/issues/2178"""
    raw = Raw(json.dumps(body).encode(), "application/json")
    end, _ = run(model, [raw], policy=RetryPolicy(attempts=1))
    assert SAID in failed(end).message


@pytest.mark.parametrize("word", ["insufficient_system_resource", "error"])
def test_no_room_is_asked_again(word: str):
    """https://api-docs.deepseek.com/api/create-chat-completion"""
    end, requests = run(CHAT, [sse(chunk(content="Ha"), chunk(word), done=True), Say("Whole.")])
    assert completed(end).message.text == "Whole."
    assert len(requests) == 2


def test_one_without_a_limit_of_its_own_is_sent_the_policys():
    """https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (`n_predict`: -1 is infinity)"""
    guessed = model_info("small")
    capped = apply_override(guessed, {"max_output": 60})
    assert (max_response(guessed), max_response(capped)) == (0, 60)
    request = ask()._replace(max_output=max_response(capped))
    _, [received] = run(CHAT, [Say("Whole.")], request)
    assert received.json["max_tokens"] == 60
