"""Which tools may be called now, as each wire format says it (S-151 to S-157)."""

import itertools
import json
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message, ToolCall, ToolResult
from bot.contracts.model import ModelRequest
from bot.contracts.tools import ToolSpec
from bot.providers.connect import connect
from bot.providers.openai_provider import openai_choice
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.provider_runs import INFO, MODELS, ask, completed, raw_values, user

TOOLS = tuple(
    ToolSpec(name, "does", {"type": "object", "properties": {}}) for name in ("bash", "edit", "view")
)


FORCED = INFO._replace(forced_choice=True)
TAKES_ALL = FORCED._replace(allowed_tools=True)


def wanting(required: bool = False, allowed: tuple[str, ...] | None = None) -> ModelRequest:
    return ask(tools=TOOLS)._replace(required=required, allowed=allowed)


def flat(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def nested(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("required", "allowed", "wanted"),
    [
        (False, None, None),
        (True, None, "required"),
        (False, (), "none"),
        (True, (), "none"),
        (True, ("view",), flat("view")),
        (False, ("nothing",), "none"),
        (False, ("view", "bash"), {"type": "allowed_tools", "mode": "auto", "tools": [flat("bash"), flat("view")]}),
        (
            True,
            ("view", "bash", "gone"),
            {"type": "allowed_tools", "mode": "required", "tools": [flat("bash"), flat("view")]},
        ),
    ],
)  # fmt: skip
def test_responses_takes_every_mode_and_a_list(
    required: bool, allowed: tuple[str, ...] | None, wanted: object
):
    assert openai_choice(wanting(required, allowed), TAKES_ALL, nested=False) == wanted


def test_chat_names_the_same_in_its_own_way():
    listed = {"mode": "auto", "tools": [nested("bash"), nested("view")]}
    wanted = {"type": "allowed_tools", "allowed_tools": listed}
    assert openai_choice(wanting(False, ("bash", "view")), TAKES_ALL, nested=True) == wanted
    assert openai_choice(wanting(True, ("view",)), TAKES_ALL, nested=True) == nested("view")


def test_a_server_that_knows_no_list_is_told_the_mode_alone():
    assert openai_choice(wanting(False, ("bash",)), FORCED, nested=True) is None
    assert openai_choice(wanting(True, ("bash", "view")), FORCED, nested=True) == "required"


def test_a_model_that_refuses_to_be_forced_is_only_told_what_is_allowed():
    listing = INFO._replace(allowed_tools=True)
    listed = {"type": "allowed_tools", "mode": "auto", "tools": [flat("view")]}
    assert openai_choice(wanting(True, ("view",)), listing, nested=False) == listed
    assert openai_choice(wanting(True, ("view",)), INFO, nested=False) is None


def test_without_tools_nothing_is_said_of_them():
    without_extras = wanting(True, ("bash",))._replace(tools=())
    assert openai_choice(without_extras, TAKES_ALL, nested=False) is None


LIST = {"type": "allowed_tools", "mode": "required", "tools": [flat("edit"), flat("view")]}
NESTED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [nested("edit"), nested("view")]},
}
STATES: dict[str, tuple[bool, tuple[str, ...] | None, object, object, object]] = {
    "auto: in between": (False, None, None, None, None),
    "required: the first answer looks": (True, ("view", "edit"), LIST, NESTED, None),
    "specified: the last one hands over": (True, ("edit",), flat("edit"), nested("edit"), None),
    "reply first: the last one is words": (False, (), "none", "none", "none"),
}


@pytest.mark.parametrize("state", STATES)
def test_each_state_as_each_wire_says_it(state: str):
    """Anthropic's cache drops all messages when `tool_choice` changes, and servers that speak alike may refuse it."""
    required, allowed, responses, chat, alike = STATES[state]
    doors = {
        "openai-responses/gpt-6.2-sol": responses,
        "openai-chat/gpt-6.2-sol": chat,
        "anthropic/claude-sonnet-5-5": None,
        "anthropic/claude-opus-4-1": None,
        "openai/qwen3-coder": alike,
        "openai/gpt-6.2-sol": alike,
    }
    for model, wanted in doors.items():
        with ModelServer([Say("ok")]) as server:
            environment = server.environment()
            if model.startswith("openai-"):
                environment |= {"OPENAI_BASE_URL": "http://api.openai.com/v1", "HTTP_PROXY": server.url}
            provider = connect(model, environment)
            completed(provider.respond(wanting(required, allowed), CancelToken()))
            provider.close()
            assert server.requests[0].json.get("tool_choice") == wanted, model


@pytest.mark.parametrize("model", MODELS)
def test_what_may_be_called_changes_nothing_else_and_takes_no_tool_away(model: str):
    """Tools that the history used stay in every request, and the cache of everything before stays good."""
    history = (
        user("q"),
        Message("assistant", (ToolCall("a", "bash", "{}"),)),
        Message("tool", (ToolResult("a", "bash", "hi"),)),
    )
    wishes = list(itertools.product((False, True), (None, (), ("bash",), ("bash", "view"))))
    with ModelServer([Say("ok") for _ in wishes]) as server:
        provider = connect(model, server.environment())
        for required, allowed in wishes:
            request = ask(*history, tools=TOOLS)._replace(required=required, allowed=allowed)
            completed(provider.respond(request, CancelToken()))
        provider.close()
        bodies = [raw_values(request.body) for request in server.requests]
    for body in bodies:
        body.pop("tool_choice", None)
    assert all(body == bodies[0] for body in bodies)
    assert len(json.loads(bodies[0]["tools"])) == 3
