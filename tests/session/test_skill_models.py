"""Which model a skill gets: the session's own, or one that the policy lists, for as long as the skill has the turn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from bot.contracts.errors import UsageError
from bot.policy.load import load_policy
from bot.session.tools.run_models import connect_model
from bot.session.tools.skills import SkillModels
from tests.support.scripted import INFO, ScriptedProvider

LISTED = "options: {models: [anthropic/claude-*, replay/*]}\n"


@dataclass
class Doors:
    """Connects to whatever is asked for, but for what ends in `-down`."""

    made: list[ScriptedProvider] = field(default_factory=list)

    def __call__(self, name: str) -> ScriptedProvider:
        if name.endswith("-down"):
            raise UsageError("ANTHROPIC_API_KEY is not set.")
        self.made.append(ScriptedProvider([], replace(INFO, name=name)))
        return self.made[-1]


def lent(policy: str = LISTED, connect: Doors | None = None) -> SkillModels:
    return SkillModels(lambda: "anthropic/own", load_policy(policy), connect or Doors())


@pytest.mark.parametrize("name", ["", "inherit", "anthropic/own", "own"])
def test_the_sessions_own_needs_no_permission(name: str) -> None:
    models = lent("version: 1\n")
    assert models.is_own(name)
    models.begin(name)
    assert models.provider is None


@pytest.mark.parametrize(
    ("policy", "name", "said"),
    [
        ("version: 1\n", "anthropic/claude-x", "lists none that a skill may have"),
        ("options: {models: []}\n", "anthropic/claude-x", "lists none that a skill may have"),
        (LISTED, "openai/gpt-x", "does not list it"),
        (LISTED, "opus", "does not list it"),
        (LISTED, "replay//etc/passwd", "does not list it"),
        (LISTED, "anthropic/claude-down", "ANTHROPIC_API_KEY is not set"),
    ],
)
def test_another_is_refused_with_the_rule_and_nothing_changes(policy: str, name: str, said: str) -> None:
    models = lent(policy)
    assert said in models.refusal(name)
    models.begin(name)
    assert models.provider is None


def test_a_listed_one_is_lent_until_the_turn_ends_and_connected_once() -> None:
    doors = Doors()
    models = lent(connect=doors)
    for _ in range(2):
        assert models.refusal("anthropic/claude-x") == ""
    assert models.provider is None, "only the skill's text makes it begin"
    models.begin("anthropic/claude-x")
    assert [models.provider] == doors.made
    models.end()
    assert models.provider is None
    models.begin("anthropic/claude-x")
    models.begin("inherit")
    assert models.provider is None
    assert len(doors.made) == 1


def test_another_conversation_has_one_of_its_own() -> None:
    doors = Doors()
    models = lent(connect=doors)
    models.refusal("anthropic/claude-x")
    models.begin("anthropic/claude-x")
    other = models.for_agent()
    assert other.provider is None
    assert other.refusal("anthropic/claude-x") == ""
    other.begin("anthropic/claude-x")
    assert [models.provider, other.provider] == doors.made


def test_what_the_policy_knows_of_a_model_holds_for_a_lent_one_too() -> None:
    known = "{window: 77000, max_output: 7000, price: {input: 1, output: 2}}"
    policy = load_policy(f"{LISTED}models:\n  anthropic/claude-x: {known}\n")
    models = SkillModels(str, policy, lambda name: connect_model(name, {"ANTHROPIC_API_KEY": "k"}))
    assert models.refusal("anthropic/claude-x") == ""
    models.begin("anthropic/claude-x")
    assert models.provider is not None
    assert models.provider.info.context_window == 77_000
    models.close()
    assert models.provider is None
