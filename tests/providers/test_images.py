"""Pictures: as each wire format takes them, and as a line of text for a model that cannot see."""

import json
from typing import Any

import pytest

from bot.contracts.messages import Image, Message, Text, ToolCall, ToolResult
from tests.support.model_script import Say
from tests.support.provider_runs import MODELS, ask, run, user

PNG = Image("image/png", b"\x89PNG\0bytes", "screenshot.png")
DATA = "iVBORwBieXRlcw=="
URL = f"data:image/png;base64,{DATA}"
BLIND = (
    "anthropic/model-of-next-year",
    "openai-chat/model-of-next-year",
    "openai-responses/model-of-next-year",
)
UNSEEN = "[image: screenshot.png, image/png; this model cannot see images]"


def rows(model: str, *messages: Message) -> list[dict[str, Any]]:
    _, requests = run(model, [Say("ok")], ask(*messages, system=""))
    body = json.loads(requests[0].body.replace(b',"cache_control":{"type":"ephemeral"}', b""))
    found: list[dict[str, Any]] = body.get("messages") or body["input"]
    return found


ASKED = Message("user", (Text("What is this?"), PNG))
CALLS = Message("assistant", (ToolCall("a", "view", "{}"), ToolCall("b", "view", "{}")))
RESULTS = Message(
    "tool", (ToolResult("a", "view", "a picture", images=(PNG,)), ToolResult("b", "view", "none"))
)


@pytest.mark.parametrize(
    ("model", "text", "image"),
    [
        (
            MODELS[0],
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        ),
        (
            MODELS[1],
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": URL}},
        ),
        (
            MODELS[2],
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": URL},
        ),
    ],
)
def test_a_persons_picture_is_in_their_message(model: str, text: object, image: object):
    assert rows(model, ASKED)[0]["content"] == [text, image]


def test_a_results_picture_is_in_the_result_for_messages():
    blocks = rows(MODELS[0], user("q"), CALLS, RESULTS)[2]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    assert blocks[0]["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "source": source},
    ]
    assert blocks[1]["content"] == "none"


def test_a_results_picture_follows_all_results_as_the_users_for_the_others():
    chat = rows(MODELS[1], user("q"), CALLS, RESULTS)[2:]
    assert [row["role"] for row in chat] == ["tool", "tool", "user"]
    assert chat[2]["content"] == [{"type": "image_url", "image_url": {"url": URL}}]
    responses = rows(MODELS[2], user("q"), CALLS, RESULTS)[3:]
    kinds = [row["type"] for row in responses]
    assert kinds == ["function_call_output", "function_call_output", "message"]
    assert responses[2]["content"] == [{"type": "input_image", "image_url": URL}]


@pytest.mark.parametrize("model", BLIND)
def test_a_model_that_cannot_see_gets_its_name_in_words(model: str):
    sent = json.dumps(rows(model, ASKED, CALLS, RESULTS))
    assert sent.count(UNSEEN) == 2
    assert DATA not in sent


def test_a_name_that_is_hostile_stays_text():
    odd = Image("image/png", b"x", 'a"\n\ud800\0.png')
    for model in BLIND:
        assert 'a\\"\\n\\ufffd\\ufffd.png' in json.dumps(rows(model, Message("user", (odd,))))
