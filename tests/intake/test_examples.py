"""GitHub's own example payloads, all of them: each gives a value or one sentence, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import UsageError
from bot.intake.command import Command
from bot.intake.event import CommentEvent, read_event
from bot.intake.request import Ignored, recognise
from tests.support.npm import package_file
from tests.support.threads import write_payload

PACKAGE, VERSION = "@octokit/webhooks-examples", "7.6.1"
FILE = "api.github.com/index.json"
SHA256 = "09d8f0c617876ae9dad22e26fea5510bfcaad50ee7e602659f6db25b87b25815"

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, dict[str, Any]]]:
    events = json.loads(package_file(PACKAGE, VERSION, FILE, SHA256).read_text())
    return [(event["name"], example) for event in events for example in event["examples"]]


def test_every_example_is_read_and_recognised(
    examples: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    assert len(examples) == 329
    for name, payload in examples:
        answer = recognise(read_event(name, write_payload(tmp_path, payload)))
        assert isinstance(answer, Ignored)
        assert answer.reason.endswith(".")


def test_a_command_in_any_example_of_a_new_comment_is_found(
    examples: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    created = [
        payload for name, payload in examples if name == "issue_comment" and payload["action"] == "created"
    ]
    assert len(created) == 5
    for payload in created:
        payload["comment"]["body"] = "/agent fix it"
        event = read_event("issue_comment", write_payload(tmp_path, payload))
        assert isinstance(event, CommentEvent)
        assert event.author is not None
        assert isinstance(recognise(event), Command)


def test_every_field_of_an_example_may_be_null(
    examples: list[tuple[str, dict[str, Any]]], tmp_path: Path
) -> None:
    payload = next(one for name, one in examples if name == "issue_comment" and one["action"] == "created")
    for parent in (
        payload,
        payload["issue"],
        payload["comment"],
        payload["repository"],
        payload["comment"]["user"],
    ):
        for key in list(parent):
            kept, parent[key] = parent[key], None
            try:
                recognise(read_event("issue_comment", write_payload(tmp_path, payload)))
            except UsageError as error:
                assert key in str(error)
            parent[key] = kept
