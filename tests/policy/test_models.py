"""The key `models`: what a policy knows better of a model."""

from __future__ import annotations

import re

import pytest

from bot.contracts.model import ModelOverride
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError

WHOLE = """
models:
  ollama/qwen3-coder:
    window: 256000
    max_output: 32000
    price: { input: 1.5, output: 6, cache_read: 0.1, cache_write: 2 }
    vision: true
    thinking: "budget"
    streams_tools: true
    min_cacheable: 2048
    allowed_tools: false
    forced_choice: false
"""


def test_everything_that_can_be_said_of_a_model_is_read() -> None:
    assert load_policy(WHOLE, "agent.yml").models == {
        "ollama/qwen3-coder": ModelOverride(
            256_000, 32_000, 1.5, 6.0, 0.1, 2.0, True, "budget", True, 2048, False, False
        )
    }


def test_what_is_not_said_stays_as_it_is() -> None:
    assert load_policy("models: { openai/x: { window: 9 } }", "a").models == {"openai/x": ModelOverride(9)}
    assert load_policy("version: 1", "a").models == {}


def test_without_prices_for_the_cache_nothing_of_it_is_cheaper() -> None:
    read = load_policy("models: { openai/x: { price: { input: 3, output: 9 } } }", "a").models["openai/x"]
    assert (read.cache_read_price, read.cache_write_price) == (3.0, 3.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: [a]", "expected a mapping"),
        ("models: { qwen: {} }", "expected provider/name"),
        ("models: { openai/x: { windows: 9 } }", "windows"),
        ("models: { openai/x: { window: 0 } }", "whole number from 1"),
        ("models: { openai/x: { window: many } }", "whole number from 1"),
        ("models: { openai/x: { price: { input: 3 } } }", "has no `output`"),
        ("models: { openai/x: { price: 3 } }", "expected a mapping"),
        ("models: { openai/x: { vision: yes } }", "expected true or false"),
        ("models: { openai/x: { thinking: hard } }", "off, adaptive, budget"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(said)):
        load_policy(text, "agent.yml")


def test_a_model_given_twice_is_a_problem() -> None:
    with pytest.raises(PolicyError, match="twice"):
        load_policy("models:\n  openai/x: {}\n  openai/x: {}\n", "agent.yml")
