"""`model_settings`: what holds for one run, and what is refused."""

from __future__ import annotations

import pytest

from bot.contracts.request import Tier
from bot.policy.load import load_policy
from bot.policy.model_settings import ModelSettings
from bot.policy.problems import PolicyError
from bot.policy.values import Policy

TEXT = """
version: 1
model: anthropic/claude-opus-5-5
model_settings:
  effort: low
  fallback: [openai/gpt-6.2-sol, anthropic/claude-sonnet-5-5]
  small: anthropic/claude-haiku-5-5
  tiers:
    contributor: {effort: minimal, fallback: []}
    maintainer: {effort: high}
  verbs:
    review: {effort: max}
  tasks:
    update-dependencies: {small: openai/gpt-6-luna}
"""
ALL = ("openai/gpt-6.2-sol", "anthropic/claude-sonnet-5-5")
HAIKU = "anthropic/claude-haiku-5-5"


def read(text: str = TEXT) -> Policy:
    return load_policy(text, "agent.yml")


@pytest.mark.parametrize(
    ("verb", "tier", "task", "settings"),
    [
        ("fix", Tier.BOT, "", ModelSettings("low", ALL, HAIKU)),
        ("fix", Tier.CONTRIBUTOR, "", ModelSettings("minimal", (), HAIKU)),
        ("review", Tier.CONTRIBUTOR, "", ModelSettings("max", (), HAIKU)),
        ("fix", Tier.LOCAL, "", ModelSettings("high", ALL, HAIKU)),
        ("fix", Tier.SCHEDULE, "update-dependencies", ModelSettings("low", ALL, "openai/gpt-6-luna")),
        ("review", Tier.SCHEDULE, "another", ModelSettings("max", ALL, HAIKU)),
    ],
)
def test_a_task_comes_before_a_verb_and_that_before_a_tier(
    verb: str, tier: Tier, task: str, settings: ModelSettings
) -> None:
    assert read().model_settings.of(verb, tier, task) == settings


def test_without_the_key_nothing_is_set() -> None:
    assert read("version: 1").model_settings.of("fix", Tier.MAINTAINER, "") == ModelSettings()


def test_every_named_model_is_known_once() -> None:
    assert read().model_names == ("anthropic/claude-opus-5-5", *ALL, HAIKU, "openai/gpt-6-luna")


@pytest.mark.parametrize(
    "text",
    [
        "{effort: highest}",
        "{effort: [low]}",
        "{fallback: gpt-6.2-sol}",
        "{fallback: [gpt-6.2-sol]}",
        "{fallback: [a/b, a/b]}",
        "{fallback: [a/b, a/c, a/d, a/e, a/f, a/g]}",
        "{small: haiku}",
        "{verbs: {fixx: {effort: low}}}",
        "{verbs: {fix: {verbs: {}}}}",
        "{tiers: {local: {effort: low}}}",
        "{tasks: {../x: {effort: low}}}",
        "{model: a/b}",
    ],
)
def test_what_is_wrong_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(PolicyError, match=r"line 2|:2:"):
        read(f"version: 1\nmodel_settings: {text}\n")


def test_levels_of_a_model_can_be_set() -> None:
    policy = read("version: 1\nmodels: {vllm/gpt-oss: {efforts: [low, high]}}\n")
    assert policy.models["vllm/gpt-oss"].efforts == ("low", "high")
