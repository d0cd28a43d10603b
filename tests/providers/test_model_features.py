"""Effort, what is cached and refusals in each wire format: what a server does not take is left out and said."""

import json
from datetime import date
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import EFFORTS, Complete, ModelRequest
from bot.providers.connect import apply_overrides, connect
from bot.providers.models import DEFAULTS, apply_override, effort_notes, effort_of, guess_notes, model_info
from bot.providers.replay import ReplayProvider
from bot.providers.streaming import StreamingProvider
from tests.support.model_script import Hangup, Raw, Say, Status, Think, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, ask, chunk, completed, failed, run, sse

TODAY = date(2026, 11, 27)
KEYS = {
    "ANTHROPIC_API_KEY": "k",
    "OPENAI_API_KEY": "k",
    "AZURE_OPENAI_API_KEY": "k",
    "AZURE_OPENAI_ENDPOINT": "https://us.openai.azure.com",
    "OPENROUTER_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "ANTHROPIC_VERTEX_ACCESS_TOKEN": "t",
    "ANTHROPIC_VERTEX_PROJECT_ID": "p",
    "CLOUD_ML_REGION": "global",
}


def params(model: str, *, environment: dict[str, str] = KEYS, **fields: Any) -> dict[str, Any]:
    """The body of a request with `fields`, which is not sent."""
    provider = connect(model, environment, today=TODAY)
    assert isinstance(provider, StreamingProvider)
    request = ask()
    fields = {"system": request.system, "tools": request.tools, "messages": request.messages, **fields}
    body = dict(provider.params(ModelRequest(**fields)))
    provider.close()
    return body


def sent_effort(body: dict[str, Any]) -> str:
    levels = (
        body.get("output_config", {}).get("effort"),
        body.get("reasoning", {}).get("effort"),
        body.get("reasoning_effort"),
    )
    return next(filter(None, levels), "")


@pytest.mark.parametrize(
    ("model", "wanted", "level"),
    [
        ("anthropic/claude-sonnet-5-5", "xhigh", "xhigh"),
        ("anthropic/claude-haiku-5-5", "max", "max"),
        ("anthropic/claude-opus-4-6", "xhigh", "high"),
        ("anthropic/claude-opus-4-5", "max", "high"),
        ("anthropic/claude-opus-5-5", "none", "low"),
        ("anthropic/claude-haiku-4-5", "high", ""),
        ("anthropic/claude-of-next-year", "high", ""),
        ("openai/gpt-6.2-sol", "max", "max"),
        ("openai/gpt-6.2-sol", "minimal", "low"),
        ("openai/gpt-5.6-sol", "minimal", "none"),
        ("openai/gpt-5.5", "max", "xhigh"),
        ("openai/gpt-5.1", "xhigh", "high"),
        ("openai/gpt-4.1", "high", ""),
        # Chat Completions refuses an effort beside tools for the newer models.
        ("openai-chat/gpt-6.2-sol", "high", ""),
        ("openai-chat/gpt-5.1", "high", "high"),
        ("azure/gpt-5.1", "low", "low"),
        ("azure/our-deployment", "low", ""),
        ("openrouter/anthropic/claude-sonnet-5-5", "high", ""),
        ("gemini/gemini-3-pro", "high", ""),
        ("vllm/gpt-oss", "high", ""),
        ("vertex/claude-opus-5-5", "xhigh", "xhigh"),
        ("vertex/claude-haiku-4-5@20251001", "low", ""),
    ],
)
def test_an_effort_is_sent_as_the_nearest_lower_level_or_left_out_and_said(
    model: str, wanted: str, level: str
):
    assert sent_effort(params(model, effort=wanted)) == level
    assert sent_effort(params(model)) == ""
    provider = connect(model, KEYS, today=TODAY)
    notes = effort_notes(provider.info, wanted)
    provider.close()
    assert len(notes) == (level != wanted)
    assert all(wanted in note and (level or "left out") in note for note in notes)


def test_every_listed_level_is_one_of_the_known_ones():
    for name in ("claude-sonnet-5-5", "claude-opus-4-6", "gpt-6.2-sol", "gpt-5", "o3", "gpt-5.6-luna"):
        info = model_info(name)
        assert set(info.efforts) <= set(EFFORTS)
        assert all(effort_of(info, level) in info.efforts for level in EFFORTS)


@pytest.mark.parametrize("model", MODELS)
def test_a_server_of_ones_own_gets_no_field_that_it_may_not_know(model: str):
    request = ModelRequest("Be brief.", (), ask().messages, effort="high", long_cache=True)
    end, [received] = run(model, [Say("Hi.")], request)
    assert isinstance(end, Complete)
    assert sent_effort(received.json) == ""
    assert "ttl" not in received.body.decode()


def marks(body: dict[str, Any]) -> list[dict[str, str]]:
    blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
    return [block["cache_control"] for block in blocks if "cache_control" in block]


def test_a_long_cache_marks_all_for_an_hour_since_none_may_outlast_one_before_it():
    body = params("anthropic/claude-sonnet-5-5", long_cache=True)
    assert marks(body) == [{"type": "ephemeral", "ttl": "1h"}] * 2
    plain = params("anthropic/claude-sonnet-5-5")
    assert marks(plain) == [{"type": "ephemeral"}] * 2
    for one in (body, plain):
        for block in (
            *one["system"],
            *(block for message in one["messages"] for block in message["content"]),
        ):
            block.pop("cache_control", None)
    assert json.dumps(body) == json.dumps(plain)


@pytest.mark.parametrize("model", ["vertex/claude-opus-5-5", "anthropic/claude-of-next-year"])
def test_where_an_hour_is_not_known_to_be_taken_the_marks_stay_as_they_are(model: str):
    assert {"type": "ephemeral", "ttl": "1h"} not in marks(params(model, long_cache=True))


def test_what_is_cached_for_an_hour_costs_twice_the_input():
    info = model_info("claude-sonnet-5-5")
    assert info.cost(Usage(cache_write=1_000_000)) == pytest.approx(2.5)
    assert info.cost(Usage(cache_write=1_000_000, hour_write=1_000_000)) == pytest.approx(4.0)
    haiku = model_info("claude-haiku-5-5")
    assert haiku.cost(Usage(cache_write=1_000_000, hour_write=1_000_000)) == pytest.approx(1.0)


def messages_end(delta: dict[str, Any], usage: dict[str, Any]) -> Raw:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage}
    return sse(
        {"type": "message_start", "message": message},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def test_tokens_cached_for_an_hour_are_counted():
    kept = {"ephemeral_1h_input_tokens": 30, "ephemeral_5m_input_tokens": 10}
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 40, "cache_creation": kept}
    end, _ = run(MODELS[0], [messages_end({"stop_reason": "end_turn"}, usage)])
    assert completed(end).usage == Usage(1, 0, 40, 1, 0, 30)


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ({"category": "cyber"}, ["'cyber'", "attacks on computers"]),
        ({"category": "bio", "explanation": "It could\nharm."}, ["'bio'", "the vendor says: It could harm."]),
        ({"category": "of_next_year", "explanation": None}, ["'of_next_year'"]),
        ({"category": None, "explanation": None}, []),
        ({"category": 7, "explanation": ["x"]}, []),
        ("cyber", []),
    ],
)
def test_the_category_of_a_refusal_is_said(details: Any, words: list[str]):
    delta = {"stop_reason": "refusal", "stop_details": details}
    end, _ = run(MODELS[0], [messages_end(delta, {"input_tokens": 1})])
    end = completed(end)
    assert (end.finish, end.raw_reason, bool(end.refusal)) == (FinishReason.ERROR, "refusal", bool(words))
    assert all(word in end.refusal for word in words)


def test_what_a_content_filter_found_is_said():
    results = {"hate": {"filtered": False}, "violence": {"filtered": True, "severity": "high"}}
    frame = chunk("content_filter")
    frame["choices"][0]["content_filter_results"] = results
    end, _ = run(MODELS[1], [sse(frame, done=True)])
    end = completed(end)
    assert (end.finish, end.refusal) == (FinishReason.ERROR, "filtered for violence")


def test_a_filtered_prompt_names_its_categories():
    inner = {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {"jailbreak": {"filtered": True}},
    }
    body = json.dumps({"error": {"message": "Filtered.", "code": "content_filter", "innererror": inner}})
    end, requests = run(MODELS[1], [Status(400, body=body)])
    assert "Filtered. (filtered for jailbreak)" in failed(end).message
    assert len(requests) == 1


@pytest.mark.parametrize("model", MODELS[1:])
def test_a_models_own_refusal_is_its_reason(model: str):
    if model.startswith("openai-chat"):
        step: Any = sse(chunk(refusal="I will not."), chunk("stop"), done=True)
    else:
        step = Say("I will not.", refusal=True)
    end, _ = run(model, [step])
    end = completed(end)
    assert (end.finish, end.refusal) == (FinishReason.ERROR, "it says: I will not.")


LATER = {"retry-after": "61"}
BUSY = {"type": "overloaded_error", "message": "busy"}


@pytest.mark.parametrize(
    ("steps", "unavailable"),
    [
        ([Status(529, headers=LATER)], True),
        ([Status(429, headers=LATER)], True),
        ([Status(503)] * 6, True),
        ([Hangup()] * 6, True),
        ([Turn((), error=BUSY)] * 6, True),
        ([Status(429, kind="insufficient_quota")], True),
        ([Status(402)], True),
        ([Status(429, headers={"x-should-retry": "false"})], True),
        ([Turn((Say("Half"),), error=BUSY)] * 3, False),
        ([Turn((Say("Half"),), error=BUSY), Status(529, headers=LATER)], False),
        ([Turn((Think("Hm"),), error=BUSY), Status(529, headers=LATER)], False),
        ([Status(400)], False),
        ([Status(401)], False),
        ([Status(403)], False),
        ([Status(404)], False),
        ([Status(413)], False),
        ([Status(400, "prompt is too long")], False),
        ([Status(302, headers={"location": "http://x"})], False),
        ([Raw(b"<html>", "text/html")], False),
    ],
)
@pytest.mark.parametrize("model", MODELS[:2])
def test_another_model_may_answer_only_for_a_server_that_is_unavailable_and_said_nothing(
    model: str, steps: list[Any], unavailable: bool
):
    end, _ = run(model, steps)
    assert failed(end).unavailable is unavailable


# The list of models


@pytest.mark.parametrize(
    ("name", "thinking", "forced"),
    [
        ("claude-sonnet-5-5", "adaptive", False),
        ("claude-fable-5-2", "adaptive", False),
        ("claude-sonnet-4-6", "adaptive", False),
        ("claude-haiku-4-5", "budget", False),
        ("claude-opus-4-1", "off", False),
        ("gpt-6.2-sol", "effort", True),
        ("gpt-4.1", "off", True),
    ],
)
def test_what_a_listed_model_can_do(name: str, thinking: str, forced: bool):
    info = model_info(name)
    assert (info.thinking, info.forced_choice) == (thinking, forced)
    assert info.known
    assert info.vision


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-5", "claude-sonnet-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
    ],
)
def test_a_clouds_name_of_a_model_is_the_listed_one(name: str, listed: str):
    found, wanted = model_info(name), model_info(listed)
    assert found.known
    assert (found.context_window, found.output_price) == (wanted.context_window, wanted.output_price)


def test_an_unknown_model_sees_nothing_is_asked_for_nothing_and_is_doubted():
    info = model_info("model-of-next-year")
    assert not (info.known or info.vision or info.allowed_tools or info.streams_tools or info.forced_choice)
    assert info.thinking == "off"
    (said,) = guess_notes(info)
    assert "128,000 tokens" in said
    assert "`models:`" in said
    assert guess_notes(model_info(DEFAULTS["openai"])) == ()


def test_a_policy_overrides_what_it_says_and_no_more():
    info = apply_override(model_info("claude-opus-5-5"), {"context_window": 200_000, "vision": False})
    assert (info.context_window, info.vision, info.max_output) == (200_000, False, 128_000)
    assert info.known


def test_whoever_gives_window_and_prices_knows_the_model():
    guess = model_info("qwen")
    assert not apply_override(guess, {"context_window": 9}).known
    known = apply_override(
        guess, {"context_window": 9, "input_price": 1.0, "output_price": 2.0, "cache_read_price": 0.5}
    )
    assert guess_notes(known) == ()
    assert known.cost(Usage(1_000_000, 1_000_000, 0, 1_000_000)) == pytest.approx(3.5)


def test_what_the_policy_says_reaches_the_wire():
    with ModelServer([Say("ok")]) as server:
        provider = connect("anthropic/claude-sonnet-5-5", server.environment())
        override = {"max_output": 9_000, "thinking": "budget"}
        provider = apply_overrides(
            provider, {"anthropic/claude-sonnet-5-5": override, "openai/x": {"context_window": 1}}
        )
        completed(provider.respond(ask(), CancelToken()))
        provider.close()
        body = json.loads(server.requests[0].body)
    assert provider.info.max_output == body["max_tokens"] == 9_000
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4_500}


def test_a_recording_is_what_it_was_whatever_the_policy_says():
    provider = ReplayProvider((), model_info("gpt-5"))
    assert apply_overrides(provider, {"openai/gpt-5": {"context_window": 1}}) is provider
