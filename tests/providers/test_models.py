"""The table of models, and a policy that knows better."""

import json

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Usage
from bot.providers.connect import apply_overrides, connect
from bot.providers.models import DEFAULTS, apply_override, guess_notes, model_info
from bot.providers.replay import ReplayProvider
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.provider_runs import ask, completed


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
