"""The key `agent`: what the stop hook may say, which instruction files are looked for."""

from __future__ import annotations

import pytest

from bot.contracts.errors import ExitCode
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.running import AgentPolicy, StopHookPolicy


def test_the_default() -> None:
    assert load_policy("version: 1\n").agent == AgentPolicy(
        StopHookPolicy(todos=True, diagnostics=True, checks=True),
        (
            "AGENTS.md",
            "CLAUDE.md",
            ".claude/CLAUDE.md",
            "GEMINI.md",
            ".github/copilot-instructions.md",
        ),
    )


def test_each_key_is_read() -> None:
    policy = load_policy(
        "agent: {stop_hook: {todos: false, diagnostics: false, checks: false}, instructions: [RULES.md]}\n"
    )
    assert policy.agent == AgentPolicy(
        StopHookPolicy(todos=False, diagnostics=False, checks=False), ("RULES.md",)
    )


def test_no_instructions_can_be_asked_for() -> None:
    assert load_policy("agent: {instructions: []}\n").agent.instructions == ()


WRONG = {
    "agent: {stop_hok: {}}": "`stop_hok`",
    "agent: {stop_hook: {todos: maybe}}": "expected true or false",
    "agent: {instructions: [../AGENTS.md]}": "expected the name of a file",
    "agent: {instructions: [/AGENTS.md]}": "expected the name of a file",
    "agent: {instructions: ['..']}": "expected the name of a file",
    "agent: {instructions: [A.md, A.md]}": "listed twice",
    "agent: {instructions: AGENTS.md}": "expected a list",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place(text: str) -> None:
    with pytest.raises(PolicyError, match=r"1:\d+") as caught:
        load_policy(text)
    assert caught.value.exit_code is ExitCode.USAGE
    assert WRONG[text] in str(caught.value)
