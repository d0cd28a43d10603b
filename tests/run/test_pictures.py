"""A picture in a thread, from the event to the model, and in what is left of the run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from bot.agent.journal import read_journal
from bot.agent.repair import rebuilt
from bot.contracts.journal import Note, UserText
from bot.contracts.messages import Image
from bot.forge import Forge
from bot.forge.bundled import MAINTAINER
from tests.attachments.pictures import noise, opened
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.stage import Stage, open_stage

pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, list[Any], str]]:
    """One run, the parts of its first message, and what the bot then said in the thread."""
    with Forge() as forge:
        stage = open_stage(forge, tmp_path_factory.mktemp("pictures") / "stage")
        address = forge.attach(stage.repo, MAINTAINER, noise(1600, 40))
        broken = forge.attach(stage.repo, MAINTAINER, b"\x89PNG\r\n\x1a\n")
        number = stage.new_issue(body=f"See ![the dashboard]({address}) and ![another]({broken}).")
        with ModelServer([Say("It shows 60 seconds.")]) as server:
            ran = stage.run(model=server, event=stage.ask("/agent explain", number=number))
            assert ran.code == 0, ran.said
            parts = server.requests[0].json["messages"][0]["content"]
        yield stage, parts, ran.said


def test_the_model_is_shown_the_picture_and_told_where_it_stands(
    explained: tuple[Stage, list[Any], str],
) -> None:
    _, parts, _ = explained
    assert [part["type"] for part in parts] == ["text", "image"]
    assert parts[1]["source"]["media_type"] == "image/png"
    assert opened(base64.b64decode(parts[1]["source"]["data"])).size == (1568, 39)
    text = parts[0]["text"]
    assert ") [this is picture 1] and" in text
    assert ") [image not shown: it is broken or cut off]." in text
    assert "picture 1, in the issue, 1568 × 39" in text.partition("# Pictures")[2]


def test_the_journal_in_the_bundle_brings_the_same_message_back(
    explained: tuple[Stage, list[Any], str],
) -> None:
    stage, parts, _ = explained
    journal = read_journal(stage.bundle / "journal.jsonl")
    first = rebuilt(journal).messages[0]
    [image] = [part for part in first.parts if isinstance(part, Image)]
    assert base64.b64encode(image.data).decode() == parts[1]["source"]["data"]
    assert next(journal.records(UserText)).images == (image,)
    notes = [note.text for note in journal.records(Note)]
    assert "picture 1, in the issue, 1568 × 39" in notes
    assert "An image in the issue is not shown to the model: it is broken or cut off." in notes


def test_nothing_of_the_decoding_is_left(explained: tuple[Stage, list[Any], str]) -> None:
    stage, _, _ = explained
    assert stage.left_over() == []
    assert not list(stage.temp.rglob("workshop-pictures"))
    assert "token=" not in json.dumps(stage.outcome())
