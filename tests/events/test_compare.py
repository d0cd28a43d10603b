"""A bundle's request against the event that the job is about: everything that decides something must be so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.plan import Plan, PlanStep
from bot.contracts.request import Actor, Request, Tier
from bot.contracts.threads import Permission, PushData
from bot.events.compare import difference
from bot.events.event import read_event
from bot.events.event_request import WorkflowInputs, parse_event_request
from bot.verbs.registry import NAMES
from tests.events.requests import build_request
from tests.support.policies import admitting
from tests.support.threads import (
    HEAD,
    Threads,
    comment_payload,
    issue_payload,
    on_pull,
    pull_payload,
    pull_request,
    review_comment_payload,
    review_payload,
    run_payload,
    write_payload,
)

POLICY = admitting(
    {Tier.MAINTAINER: frozenset(NAMES), Tier.SCHEDULE: frozenset(NAMES)},
    {},
    labels={"agent": "fix"},
    reviews=("opened",),
    failed_runs=True,
)
GIVEN = WorkflowInputs(
    "acme/calc", "fix the dead links", "dead-links", "2026-03-02T00:00:00Z", "https://github.example/r/1"
)
REPOSITORY = comment_payload()["repository"]
DISPATCH = {
    "inputs": {"instruction": "fix it", "number": "7"},
    "repository": REPOSITORY,
    "sender": comment_payload()["sender"],
}

EVENTS: dict[str, tuple[str, Any]] = {
    "a comment": ("issue_comment", comment_payload("/agent fix it --budget 2 --base release/1")),
    "a comment under a pull request": ("issue_comment", on_pull(f"/agent fix it --sha {HEAD}")),
    "a review": ("pull_request_review", review_payload()),
    "a review comment": ("pull_request_review_comment", review_comment_payload()),
    "a new issue": (
        "issues",
        issue_payload(issue__body="/agent fix it", issue__user=comment_payload()["sender"]),
    ),
    "a label": ("issues", issue_payload("labeled", label={"name": "agent"})),
    "a pull request": ("pull_request", pull_payload()),
    "a failed run": ("workflow_run", run_payload()),
    "a schedule": ("schedule", {"schedule": "0 4 * * *"}),
    "a dispatch": ("workflow_dispatch", DISPATCH),
    "an approval": ("issue_comment", comment_payload("/agent approve 1a2b3c4d")),
}
ON_PULLS = [
    "a comment under a pull request", "a review", "a review comment", "a pull request", "a failed run", "a dispatch",
]  # fmt: skip


def _made(folder: Path, what: str) -> Request:
    name, payload = EVENTS[what]
    event = read_event(name, write_payload(folder, payload))
    threads = Threads(push_list=[PushData("0" * 40, HEAD, "2026-03-01T11:00:00Z")])
    made = build_request(event, threads, lambda: POLICY, inputs=GIVEN, tries=lambda *_: 0)
    assert isinstance(made, Request), made
    return made


def _difference(folder: Path, what: str, request: Request, threads: Threads | None = None) -> str:
    name, payload = EVENTS[what]
    event = read_event(name, write_payload(folder, payload))
    parsed = parse_event_request(event, GIVEN)
    threads = threads or Threads()
    threads.remember(event)
    return difference(request, parsed, threads, lambda: POLICY)


@pytest.mark.parametrize("what", EVENTS)
def test_the_request_that_an_event_makes_is_the_events(tmp_path: Path, what: str) -> None:
    assert _difference(tmp_path, what, _made(tmp_path, what)) == ""


CHANGES: dict[str, Callable[[Request], Request]] = {
    "the repository": lambda one: replace(one, repository="acme/other"),
    "the comment": lambda one: replace(one, trigger=None),
    "the verb": lambda one: replace(one, verb="explain"),
    "the instruction": lambda one: replace(one, instruction="delete it"),
    "the options": lambda one: replace(one, options={"dry-run": "true"}),
    "the base branch": lambda one: replace(one, base_ref="lax"),
    "the task": lambda one: replace(one, task="another"),
    "who asked": lambda one: replace(one, actor=Actor("mallory", 666, Tier.MAINTAINER)),
    "the head that is vouched for": lambda one: replace(one, trusted_sha="e" * 40),
}


@pytest.mark.parametrize("changed", CHANGES)
@pytest.mark.parametrize("what", EVENTS)
def test_another_word_in_the_request_is_named(tmp_path: Path, what: str, changed: str) -> None:
    request = CHANGES[changed](_made(tmp_path, what))
    assert _difference(tmp_path, what, request) == changed


@pytest.mark.parametrize("what", EVENTS)
def test_another_thread_is_named(tmp_path: Path, what: str) -> None:
    request = _made(tmp_path, what)
    if request.thread is None:
        other = replace(request, thread=_made(tmp_path, "a comment").thread)
    else:
        other = replace(request, thread=replace(request.thread, number=8))
    assert _difference(tmp_path, what, other) == "the thread"


@pytest.mark.parametrize("what", ON_PULLS)
def test_another_pull_request_is_named(tmp_path: Path, what: str) -> None:
    request = _made(tmp_path, what)
    assert request.pull is not None
    other = replace(request, pull=replace(request.pull, number=8))
    assert _difference(tmp_path, what, other) == "the pull request"
    assert _difference(tmp_path, what, replace(request, pull=None)) == "the pull request"


def test_a_pull_request_under_an_issue_is_named(tmp_path: Path) -> None:
    request = replace(_made(tmp_path, "a comment"), pull=pull_request())
    assert _difference(tmp_path, "a comment", request) == "the pull request"


@pytest.mark.parametrize("what", ["a review", "a review comment", "a pull request", "a failed run"])
def test_another_head_than_the_payloads_is_named(tmp_path: Path, what: str) -> None:
    request = _made(tmp_path, what)
    assert request.pull is not None
    other = replace(request, pull=replace(request.pull, head_sha="e" * 40))
    assert _difference(tmp_path, what, other) == "the head"


def test_another_head_than_the_one_vouched_for_is_named(tmp_path: Path) -> None:
    what = "a comment under a pull request"
    request = _made(tmp_path, what)
    assert request.pull is not None
    for sha in ("e" * 40, f"{HEAD[:-1]}e"):
        other = replace(request, pull=replace(request.pull, head_sha=sha), trusted_sha=sha)
        assert _difference(tmp_path, what, other) == "the head that is vouched for"


@pytest.mark.parametrize("what", ["a review", "a review comment", "a pull request"])
def test_another_branch_is_named(tmp_path: Path, what: str) -> None:
    request = _made(tmp_path, what)
    assert request.pull is not None
    other = replace(request, pull=replace(request.pull, head_repository="mallory/calc"))
    assert _difference(tmp_path, what, other) == "the branch"


def test_another_review_thread_is_named(tmp_path: Path) -> None:
    request = _made(tmp_path, "a review comment")
    assert request.anchor is not None
    other = replace(request, anchor=replace(request.anchor, id=1))
    assert _difference(tmp_path, "a review comment", other) == "the review comment"


def test_another_plan_than_the_one_approved_is_named(tmp_path: Path) -> None:
    plan = Plan("Something else", (PlanStep("rm -rf"),))
    request = replace(_made(tmp_path, "an approval"), plan=plan)
    assert _difference(tmp_path, "an approval", request) == "the plan"


@pytest.mark.parametrize("what", ["a comment", "a label", "a dispatch"])
def test_a_tier_that_github_does_not_give_is_named(tmp_path: Path, what: str) -> None:
    threads = Threads(Permission("read", 583231, "User", private=False))
    assert _difference(tmp_path, what, _made(tmp_path, what), threads) == "who asked"


def test_without_the_policys_word_a_label_is_no_command(tmp_path: Path) -> None:
    request = _made(tmp_path, "a label")
    name, payload = EVENTS["a label"]
    event = read_event(name, write_payload(tmp_path, payload))
    assert difference(request, parse_event_request(event), Threads()) == "the event, which holds no command,"


def test_an_event_without_a_command_makes_no_request(tmp_path: Path) -> None:
    request = _made(tmp_path, "a comment")
    event = read_event("issue_comment", write_payload(tmp_path, comment_payload("thanks")))
    assert difference(request, parse_event_request(event), Threads()) == "the event, which holds no command,"
