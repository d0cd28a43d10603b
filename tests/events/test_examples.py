"""GitHub's own example payloads, all of them: each gives a request or one sentence why not, never a traceback."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import UsageError
from bot.contracts.request import Request, Tier
from bot.events.event_request import EventRequest
from bot.github.values import Permission
from bot.verbs.registry import NAMES
from tests.events.requests import Event, NoRequest, Refusal, build_request, parse_event_request
from tests.support.npm import package_file
from tests.support.policies import admitting
from tests.support.threads import Threads, pull_request

PACKAGE, VERSION = "@octokit/webhooks-examples", "7.6.1"
FILE = "api.github.com/index.json"
SHA256 = "09d8f0c617876ae9dad22e26fea5510bfcaad50ee7e602659f6db25b87b25815"

POLICY = admitting(
    verbs={Tier.MAINTAINER: frozenset(NAMES), Tier.SCHEDULE: frozenset(NAMES)},
    bots={},
    labels={"bug": "fix"},
    assignee="Codertocat",
    reviews=("opened", "reopened", "ready_for_review", "synchronize"),
    failed_runs=True,
)

TRIGGERS = {
    *((name, action) for name in ("issues", "pull_request") for action in ("labeled", "assigned")),
    *(("pull_request", action) for action in POLICY.review.on),
}

pytestmark = pytest.mark.node

Payload = dict[str, Any]


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, Payload]]:
    events = json.loads(package_file(PACKAGE, VERSION, FILE, SHA256).read_text())
    return [(event["name"], example) for event in events for example in event["examples"]]


def _decide(name: str, payload: Payload, folder: Path) -> Request | Refusal | NoRequest:
    """With a GitHub on which whoever asks may do everything."""
    event = Event(name, payload)
    asked = parse_event_request(event)
    asker = asked.actor if isinstance(asked, EventRequest) else None
    head = asked.head_sha if isinstance(asked, EventRequest) else ""
    reader = Threads(
        Permission("admin", asker.id if asker else 0, "User", private=False),
        pull_answer=pull_request(base_ref="master", **({"head_sha": head} if head else {})),
    )
    return build_request(event, reader, lambda: POLICY)


def test_every_example_is_answered(examples: list[tuple[str, Payload]], tmp_path: Path):
    assert len(examples) == 329
    for name, payload in examples:
        answer = _decide(name, payload, tmp_path)
        if isinstance(answer, Request):
            assert answer.repository == payload["repository"]["full_name"]
        else:
            assert answer.reason.endswith(".")


def test_a_trigger_that_the_policy_names_makes_requests_of_examples(
    examples: list[tuple[str, Payload]], tmp_path: Path
):
    requests = [
        (name, payload["action"])
        for name, payload in examples
        if isinstance(_decide(name, payload, tmp_path), Request)
    ]
    assert set(requests) == TRIGGERS


PLACES: dict[str, tuple[str, str]] = {
    "issue_comment": ("created", "comment"),
    "issues": ("opened", "issue"),
    "pull_request_review": ("submitted", "review"),
    "pull_request_review_comment": ("created", "comment"),
}


@pytest.mark.parametrize("event_name", PLACES)
def test_a_command_in_any_example_of_something_new_is_found(
    examples: list[tuple[str, Payload]], event_name: str
):
    action, where = PLACES[event_name]
    new = [copy.deepcopy(one) for name, one in examples if name == event_name and one["action"] == action]
    assert len(new) >= 3
    for payload in new:
        payload[where]["body"] = "/agent fix it"
        asked = parse_event_request(Event(event_name, payload))
        assert isinstance(asked, EventRequest)
        assert asked.command is not None
        assert asked.actor is not None


@pytest.mark.parametrize(
    "event_name", [*PLACES, "pull_request", "workflow_run", "workflow_dispatch", "repository_dispatch"]
)
def test_every_field_of_an_example_may_be_null(
    examples: list[tuple[str, Payload]], tmp_path: Path, event_name: str
):
    action, where = PLACES.get(event_name, ("", ""))
    payload = next(
        copy.deepcopy(one)
        for name, one in examples
        if name == event_name and (not action or one["action"] == action)
    )
    if where:
        payload[where]["body"] = "/agent fix it"
    for parent in list(_objects(payload, depth=3)):
        for key in list(parent):
            kept, parent[key] = parent[key], None
            try:
                answer = _decide(event_name, payload, tmp_path)
            except UsageError as error:
                assert key in str(error)
            else:
                assert isinstance(answer, Request) or answer.reason.endswith(".")
            parent[key] = kept


def _objects(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        yield value
        if depth:
            for one in value.values():
                yield from _objects(one, depth - 1)
