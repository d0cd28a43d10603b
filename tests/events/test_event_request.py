"""What each kind of event asks for, by its payload alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.request import Tier, Trigger
from bot.events.event import read_event
from bot.events.event_request import Cause, EventRequest, NoRequest, WorkflowInputs, parse_event_request
from tests.support.threads import (
    AT,
    HEAD,
    MISSING,
    OCTOCAT,
    comment_payload,
    issue_payload,
    on_pull,
    pull_of_run,
    pull_payload,
    review_comment_payload,
    review_payload,
    run_payload,
    write_payload,
)

BOT = {"login": "renovate[bot]", "id": 29139614, "type": "Bot"}
REPOSITORY = comment_payload()["repository"]
GIVEN = WorkflowInputs(
    "acme/calc", now="2026-03-02T00:00:00Z", url="https://github.example/acme/calc/actions/runs/1"
)


def _asked(folder: Path, name: str, payload: object, given: WorkflowInputs = GIVEN) -> EventRequest:
    asked = parse_event_request(read_event(name, write_payload(folder, payload)), given)
    assert isinstance(asked, EventRequest), asked
    return asked


def _ignored(folder: Path, name: str, payload: object, given: WorkflowInputs = GIVEN) -> str:
    ignored = parse_event_request(read_event(name, write_payload(folder, payload)), given)
    assert isinstance(ignored, NoRequest), ignored
    return ignored.reason


WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a comment": ("issue_comment", comment_payload("/agent explain it")),
    "a comment under a pull request": ("issue_comment", on_pull("/agent explain it")),
    "a review": ("pull_request_review", review_payload("/agent explain it")),
    "a review comment": ("pull_request_review_comment", review_comment_payload("/agent explain it")),
    "a new issue": (
        "issues",
        issue_payload(issue__body="/agent explain it", issue__user=dict(OCTOCAT)),
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_command_may_stand_in(tmp_path: Path, what: str) -> None:
    name, payload = WRITTEN[what]
    asked = _asked(tmp_path, name, payload)
    assert asked.cause is Cause.COMMAND
    assert asked.command is not None
    assert (asked.command.verb, asked.command.instruction) == ("explain", "it")
    assert asked.actor is not None
    assert (asked.actor.login, asked.number, asked.trigger.event) == ("octocat", 7, name)


@pytest.mark.parametrize("what", WRITTEN)
def test_an_edit_is_no_command(tmp_path: Path, what: str) -> None:
    name, payload = WRITTEN[what]
    reason = _ignored(tmp_path, name, {**payload, "action": "edited"})
    assert reason.startswith("Nothing to do: the ")
    assert "was edited" in reason


def test_the_comment_that_asked_is_the_trigger(tmp_path: Path) -> None:
    asked = _asked(tmp_path, "pull_request_review_comment", review_comment_payload())
    url = "https://github.example/acme/calc/pull/7#discussion_r5000"
    assert asked.trigger == Trigger("pull_request_review_comment", 5000, url, AT)


def test_a_comment_of_a_review_asks_when_the_review_is_submitted(tmp_path: Path) -> None:
    payload = review_comment_payload(comment__created_at="2026-03-01T09:00:00Z", comment__updated_at=AT)
    assert _asked(tmp_path, "pull_request_review_comment", payload).trigger.at == AT


def test_a_comment_in_the_conversation_asks_when_it_is_created(tmp_path: Path) -> None:
    payload = comment_payload(comment__updated_at="2026-03-01T13:00:00Z")
    assert _asked(tmp_path, "issue_comment", payload).trigger.at == AT


def test_a_review_comment_has_its_lines(tmp_path: Path) -> None:
    asked = _asked(tmp_path, "pull_request_review_comment", review_comment_payload())
    hunk = "@@ -9,3 +9,4 @@\n def add(a, b):\n+    return a - b"
    assert asked.anchor == ReviewThread(4000, "calc/sum.py", 12, 10, Side.RIGHT, hunk, ())


def test_a_review_comment_on_a_line_that_is_gone_says_so(tmp_path: Path) -> None:
    asked = _asked(tmp_path, "pull_request_review_comment", review_comment_payload(comment__line=None))
    assert asked.anchor is not None
    assert (asked.anchor.line, asked.anchor.start_line, asked.anchor.outdated) == (0, 0, True)


def test_a_review_comment_on_a_file_is_about_the_file(tmp_path: Path) -> None:
    payload = review_comment_payload(comment__line=None, comment__subject_type="file")
    asked = _asked(tmp_path, "pull_request_review_comment", payload)
    assert asked.anchor is not None
    assert (asked.anchor.line, asked.anchor.outdated) == (0, False)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("pull_request_review", review_payload()),
        ("pull_request_review_comment", review_comment_payload()),
        ("pull_request", pull_payload()),
        ("pull_request_target", pull_payload("synchronize")),
        ("pull_request", pull_payload("labeled", label={"name": "x"})),
    ],
)
def test_the_head_of_the_payload_is_what_is_asked_about(
    tmp_path: Path, name: str, payload: dict[str, Any]
) -> None:
    assert _asked(tmp_path, name, payload).head_sha == HEAD


def test_a_comment_in_the_conversation_has_no_head(tmp_path: Path) -> None:
    asked = _asked(tmp_path, "issue_comment", on_pull())
    assert asked.subject is not None
    assert (asked.subject.is_pull_request, asked.head_sha) == (True, "")


@pytest.mark.parametrize("action", ["opened", "reopened", "ready_for_review", "synchronize"])
def test_a_pull_request_may_ask_for_a_review(tmp_path: Path, action: str) -> None:
    asked = _asked(tmp_path, "pull_request", pull_payload(action))
    assert (asked.cause, asked.detail, asked.command) == (Cause.PULL_REQUEST, action, None)


@pytest.mark.parametrize("action", ["closed", "edited", "locked", "unlabeled", "converted_to_draft"])
def test_what_else_is_done_to_a_pull_request_asks_for_nothing(tmp_path: Path, action: str) -> None:
    assert _ignored(tmp_path, "pull_request", pull_payload(action)) == (
        f"Nothing to do: the pull request was {action}, which asks for nothing."
    )


def test_a_pull_request_of_the_bots_own_branch_starts_nothing(tmp_path: Path) -> None:
    payload = pull_payload(pull_request__head__ref="agent/issue-7-sum")
    assert _ignored(tmp_path, "pull_request", payload) == (
        "Nothing to do: the pull request is of a branch of this bot's own."
    )


def test_a_forks_branch_is_not_the_bots_own_by_its_name(tmp_path: Path) -> None:
    payload = pull_payload(
        pull_request__head__ref="agent/issue-7-sum",
        pull_request__head__repo={"full_name": "mallory/calc"},
    )
    assert _asked(tmp_path, "pull_request", payload).cause is Cause.PULL_REQUEST


def test_a_label_asks_in_the_name_of_who_set_it(tmp_path: Path) -> None:
    payload = issue_payload("labeled", label={"name": "agent: fix"})
    asked = _asked(tmp_path, "issues", payload)
    assert (asked.cause, asked.detail) == (Cause.LABEL, "agent: fix")
    assert asked.actor is not None
    assert asked.actor.login == "octocat"


def test_what_a_label_knew_is_the_threads_last_change_before_it(tmp_path: Path) -> None:
    payload = issue_payload("labeled", label={"name": "x"}, issue__updated_at="2026-03-01T09:00:00Z")
    assert _asked(tmp_path, "issues", payload).trigger.at == "2026-03-01T09:00:00Z"


def test_an_assignment_asks_in_the_name_of_who_made_it(tmp_path: Path) -> None:
    payload = issue_payload("assigned", assignee={"login": "our-bot"})
    asked = _asked(tmp_path, "issues", payload)
    assert (asked.cause, asked.detail) == (Cause.ASSIGNMENT, "our-bot")


OWN = "/agent fix it\n\n<!-- slash-agent progress -->"


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("issue_comment", comment_payload(OWN)),
        ("issues", issue_payload(issue__body=OWN)),
        ("pull_request_review", review_payload(OWN)),
        ("pull_request_review_comment", review_comment_payload(OWN)),
    ],
)
def test_what_carries_the_bots_mark_starts_nothing(tmp_path: Path, name: str, payload: object) -> None:
    assert _ignored(tmp_path, name, payload).endswith("is this bot's own.")


# Dispatches and schedules


def _dispatch(**inputs: object) -> dict[str, Any]:
    return {"inputs": inputs, "ref": "refs/heads/main", "repository": REPOSITORY, "sender": dict(OCTOCAT)}


@pytest.mark.parametrize("instruction", ["review --full", "/agent review --full"])
def test_a_dispatch_says_what_to_do_in_its_input(tmp_path: Path, instruction: str) -> None:
    asked = _asked(tmp_path, "workflow_dispatch", _dispatch(instruction=instruction, number="12"))
    assert asked.command is not None
    assert (asked.command.verb, asked.command.options) == ("review", {"full": "true"})
    assert (asked.number, asked.trigger.at) == (12, GIVEN.now)
    assert asked.actor is not None


def test_a_repository_dispatch_says_it_in_its_payload(tmp_path: Path) -> None:
    payload = {"action": "tidy", "client_payload": {"instruction": "fix it", "number": 3}}
    asked = _asked(
        tmp_path, "repository_dispatch", {**payload, "repository": REPOSITORY, "sender": dict(OCTOCAT)}
    )
    assert asked.number == 3


def test_a_dispatch_that_says_nothing_does_what_the_workflow_says(tmp_path: Path) -> None:
    given = WorkflowInputs("acme/calc", instruction="explain the tests", now=GIVEN.now)
    asked = _asked(tmp_path, "workflow_dispatch", _dispatch(), given)
    assert asked.command is not None
    assert asked.command.verb == "explain"


@pytest.mark.parametrize("inputs", [{}, {"instruction": " "}, {"instruction": None, "number": ""}])
def test_a_dispatch_without_words_is_ignored(tmp_path: Path, inputs: dict[str, Any]) -> None:
    assert _ignored(tmp_path, "workflow_dispatch", _dispatch(**inputs)) == (
        "Nothing to do: the `workflow_dispatch` has neither an `instruction` nor a `task`."
    )


def test_a_dispatch_without_inputs_is_ignored(tmp_path: Path) -> None:
    payload = {**_dispatch(), "inputs": None}
    assert _ignored(tmp_path, "workflow_dispatch", payload).startswith("Nothing to do: ")


def test_a_schedule_has_its_own_tier_and_nobody_who_asked(tmp_path: Path) -> None:
    given = WorkflowInputs("acme/calc", instruction="fix the dead links", task="dead-links", now=GIVEN.now)
    asked = _asked(tmp_path, "schedule", {"schedule": "0 4 * * *"}, given)
    assert (asked.tier, asked.actor, asked.number) == (Tier.SCHEDULE, None, 0)
    assert (asked.repository.name, asked.task) == ("acme/calc", "dead-links")


def test_a_schedule_without_words_is_ignored(tmp_path: Path) -> None:
    assert _ignored(tmp_path, "schedule", {"schedule": "0 4 * * *"}) == (
        "Nothing to do: the `schedule` has neither an `instruction` nor a `task`."
    )


# Failed runs


def test_a_failed_run_on_a_pull_request_may_ask_for_a_fix(tmp_path: Path) -> None:
    asked = _asked(tmp_path, "workflow_run", run_payload())
    assert (asked.cause, asked.number, asked.head_sha) == (Cause.FAILED_RUN, 7, HEAD)
    assert asked.tier is Tier.SCHEDULE


RUNS: dict[str, dict[str, Any]] = {
    "`success`, and only a failed one": {"workflow_run__conclusion": "success"},
    "`requested`, and only a failed one": {"action": "requested"},
    "the event `push`, not of a pull request": {"workflow_run__event": "push"},
    "of a fork's pull request": {"workflow_run__head_repository": {"full_name": "mallory/calc"}},
    "fork's pull request; a person": {"workflow_run__head_repository": None},
    "of a branch of this bot's own": {"workflow_run__head_branch": "agent/issue-7"},
    "begun by a bot's push": {"workflow_run__actor": BOT},
    "or by a deleted account": {"workflow_run__actor": None},
    "of no open pull request": {"workflow_run__pull_requests": []},
}


@pytest.mark.parametrize("why", RUNS)
def test_any_other_run_is_ignored_with_a_word(tmp_path: Path, why: str) -> None:
    assert why in _ignored(tmp_path, "workflow_run", run_payload(**RUNS[why]))


@pytest.mark.parametrize(
    "foreign",
    [
        {"base__repo__id": 5},
        {"base__repo": None},
        {"base__repo__id": MISSING},
        {"head__repo__id": 5},
        {"head__repo": None},
        {"head__sha": "e" * 40},
        {"head": None},
    ],
)
def test_a_number_of_another_repository_or_head_is_not_taken(tmp_path: Path, foreign: dict[str, Any]) -> None:
    other = pull_of_run(3, **foreign)
    assert "of no open pull request" in _ignored(
        tmp_path, "workflow_run", run_payload(workflow_run__pull_requests=[other])
    )
    both = run_payload(workflow_run__pull_requests=[other, pull_of_run()])
    assert _asked(tmp_path, "workflow_run", both).number == 7


def test_a_dispatched_number_is_of_the_workflows_repository_alone(tmp_path: Path) -> None:
    payload = {
        "inputs": {"instruction": "fix it", "number": "7"},
        "repository": comment_payload()["repository"],
        "sender": comment_payload()["sender"],
    }
    event = read_event("workflow_dispatch", write_payload(tmp_path, payload))
    for target, number in (("", 7), ("Acme/Calc", 7), ("acme/other", 0)):
        asked = parse_event_request(event, WorkflowInputs("acme/calc", task="tidy", target=target))
        assert isinstance(asked, EventRequest)
        assert asked.number == number


def test_words_of_the_payload_are_fit_for_the_log(tmp_path: Path) -> None:
    reason = _ignored(tmp_path, "issue_comment", comment_payload(action="x`\n::error::" + "y" * 500))
    assert "\n" not in reason
    assert "::" not in reason
    assert len(reason) < 200
