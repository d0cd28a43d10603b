"""Pictures: as each wire format takes them, and as a line of text for a model that cannot see."""

import json
from typing import Any

import pytest

from bot.contracts.messages import Image, Message, Text
from tests.support.model_script import Say
from tests.support.provider_runs import MODELS, ask, run

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


@pytest.mark.parametrize("model", BLIND)
def test_a_model_that_cannot_see_gets_its_name_in_words(model: str):
    sent = json.dumps(rows(model, ASKED))
    assert sent.count(UNSEEN) == 1
    assert DATA not in sent


def test_a_name_that_is_hostile_stays_text():
    odd = Image("image/png", b"x", 'a"\n\ud800\0.png')
    for model in BLIND:
        assert 'a\\"\\n\\ufffd\\ufffd.png' in json.dumps(rows(model, Message("user", (odd,))))
