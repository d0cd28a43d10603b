"""Models and providers that their vendors ended are refused before any request, with what to use instead."""

from datetime import date

import pytest

from bot.contracts.errors import UsageError
from bot.providers.connect import check_model, connect
from bot.providers.models import _TABLE, DEFAULTS, end_of, model_info
from tests.support.model_script import Say
from tests.support.model_server import ModelServer

KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
TODAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        ("anthropic/claude-3-opus-20240229", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-3-5-sonnet-latest", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-3-7-sonnet-20250219", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-3-haiku-20240307", "anthropic/claude-haiku-5-5"),
        ("anthropic/claude-opus-4-1-20250805", "anthropic/claude-opus-5-5"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-2.1", "anthropic/claude-sonnet-5-5"),
        ("openai/gpt-4-turbo-2024-04-09", "openai/gpt-6.2-sol"),
        ("openai/gpt-4-0613", "openai/gpt-6.2-sol"),
        ("openai/gpt-4o-2024-05-13", "openai/gpt-6.2-sol"),
        ("openai/o4-mini-2025-04-16", "openai/gpt-6.1-terra"),
        ("openai-responses/gpt-4.1-nano", "openai-responses/gpt-6-luna"),
        ("openai-chat/gpt-3.5-turbo-0125", "openai-chat/gpt-6.1-terra"),
    ],
)
def test_an_ended_model_is_refused_with_the_day_and_what_to_use(model: str, instead: str):
    with pytest.raises(UsageError, match=f"ended on 20..-..-..: use {instead} instead"):
        connect(model, KEYS, today=TODAY)


@pytest.mark.parametrize(
    ("model", "last"),
    [
        ("anthropic/claude-sonnet-4-5", date(2026, 11, 29)),
        ("anthropic/claude-opus-4-5-20251101", date(2027, 1, 21)),
        ("openai/gpt-5-mini", date(2026, 12, 10)),
        ("openai/gpt-4o", date(2027, 1, 13)),
    ],
)
def test_a_model_works_up_to_the_day_before(model: str, last: date):
    check_model(model, KEYS, last)
    with pytest.raises(UsageError, match="ended on"):
        check_model(model, KEYS, date.fromordinal(last.toordinal() + 1))


def test_another_server_and_a_cloud_may_keep_a_model():
    with ModelServer([Say("Hi.")]) as server:
        connect("anthropic/claude-opus-4-1", server.environment(), today=TODAY).close()
        connect("openai/gpt-4", server.environment(), today=TODAY).close()
        assert server.requests == []
    check_model("vertex/claude-opus-4-1", {}, TODAY)
    check_model("bedrock/anthropic.claude-3-opus-20240229-v1:0", {}, TODAY)
    azure = {"AZURE_OPENAI_ENDPOINT": "https://us.openai.azure.com", "AZURE_OPENAI_API_KEY": "k"}
    check_model("azure/gpt-4", azure, TODAY)


def test_a_closed_provider_is_refused_with_the_ways_out():
    with pytest.raises(UsageError, match=r"closed on 2026-07-30.*openrouter/"):
        connect("github/openai/gpt-4.1", {"GITHUB_MODELS_TOKEN": "t"})


def test_no_default_and_no_replacement_has_an_end():
    for name in DEFAULTS.values():
        assert end_of(name) is None
    for name in _TABLE:
        end = end_of(name)
        if end is not None:
            assert end_of(end.instead) is None
            assert model_info(end.instead).known
