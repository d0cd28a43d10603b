"""Which tools may be called now, as each wire format says it (S-151 to S-157)."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, ToolCall, ToolResult
from bot.contracts.model import ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.choice import anthropic_choice, openai_choice
from bot.providers.connect import connect
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, ask, completed, user

TOOLS = tuple(
    ToolSpec(name, "does", {"type": "object", "properties": {}}) for name in ("bash", "edit", "view")
)


def wanting(choice: Any = "auto", allowed: tuple[str, ...] | None = None) -> ModelRequest:
    return replace(ask(tools=TOOLS), tool_choice=choice, allowed=allowed)


def flat(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def nested(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("choice", "allowed", "wanted"),
    [
        ("auto", None, None),
        ("none", None, "none"),
        ("required", None, "required"),
        ("auto", (), "none"),
        ("required", ("view",), flat("view")),
        ("none", ("view",), "none"),
        ("auto", ("nothing",), "none"),
        (
            "auto",
            ("view", "bash"),
            {"type": "allowed_tools", "mode": "auto", "tools": [flat("bash"), flat("view")]},
        ),
        (
            "required",
            ("view", "bash", "gone"),
            {"type": "allowed_tools", "mode": "required", "tools": [flat("bash"), flat("view")]},
        ),
    ],
)
def test_responses_takes_every_mode_and_a_list(
    choice: str, allowed: tuple[str, ...] | None, wanted: object
) -> None:
    assert openai_choice(wanting(choice, allowed), takes_allowed=True, nested=False) == wanted


def test_chat_names_the_same_in_its_own_way() -> None:
    listed = {"mode": "auto", "tools": [nested("bash"), nested("view")]}
    wanted = {"type": "allowed_tools", "allowed_tools": listed}
    assert openai_choice(wanting("auto", ("bash", "view")), takes_allowed=True, nested=True) == wanted
    assert openai_choice(wanting("required", ("view",)), takes_allowed=True, nested=True) == nested("view")


def test_a_server_that_knows_no_list_is_told_the_mode_alone() -> None:
    assert openai_choice(wanting("auto", ("bash",)), takes_allowed=False, nested=True) is None
    assert (
        openai_choice(wanting("required", ("bash", "view")), takes_allowed=False, nested=True) == "required"
    )


@pytest.mark.parametrize(
    ("choice", "allowed", "forced", "wanted"),
    [
        ("auto", None, True, None),
        ("auto", ("bash",), True, None),
        ("none", None, True, {"type": "none"}),
        ("auto", (), True, {"type": "none"}),
        ("required", None, True, {"type": "any"}),
        ("required", ("bash", "view"), True, {"type": "any"}),
        ("required", ("view",), True, {"type": "tool", "name": "view"}),
        ("required", None, False, None),
        ("required", ("view",), False, None),
        ("none", None, False, {"type": "none"}),
    ],
)
def test_messages_knows_three_modes_and_forces_nothing_while_the_model_thinks(
    choice: str, allowed: tuple[str, ...] | None, forced: bool, wanted: object
) -> None:
    assert anthropic_choice(wanting(choice, allowed), forced=forced) == wanted


def test_without_tools_nothing_is_said_of_them() -> None:
    bare = replace(wanting("required", ("bash",)), tools=())
    assert openai_choice(bare, takes_allowed=True, nested=False) is None
    assert anthropic_choice(bare, forced=True) is None


def test_a_model_that_thinks_is_never_forced_whatever_the_policy_says_of_its_thinking() -> None:
    for name, forced in (("claude-sonnet-5-5", False), ("claude-opus-4-1", True)):
        with ModelServer([Say("ok")]) as server:
            provider = connect(f"anthropic/{name}", server.environment())
            completed(list(provider.stream(wanting("required"), CancelToken())))
            provider.close()
            assert ("tool_choice" in server.requests[0].json) is forced


@pytest.mark.parametrize("model", MODELS)
def test_what_may_be_called_changes_no_byte_before_the_end_and_takes_no_tool_away(model: str) -> None:
    """Tools that the history used stay in every request, and the cache of everything before stays good."""
    history = (
        user("q"),
        Message("assistant", (ToolCall("a", "bash", "{}"),)),
        Message("tool", (ToolResult("a", "bash", "hi"),)),
    )
    wishes = list(itertools.product(("auto", "required", "none"), (None, (), ("bash",), ("bash", "view"))))
    with ModelServer([Say("ok") for _ in wishes]) as server:
        provider = connect(model, server.environment())
        for choice, allowed in wishes:
            request = replace(ask(*history, tools=TOOLS), tool_choice=choice, allowed=allowed)
            completed(list(provider.stream(request, CancelToken())))
        provider.close()
        bodies = [request.body for request in server.requests]
    assert all(body.startswith(bodies[0].removesuffix(b"}")) for body in bodies)
    assert all(len(json.loads(body)["tools"]) == 3 for body in bodies)
