"""What each kind of event asks for, by its payload alone, and the sentence for each thing that is wrong with one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.request import Tier, Trigger
from bot.events.event_request import NO_INPUTS, Cause, WorkflowInputs
from bot.events.read_event import read_event
from bot.github.values import GHOST
from tests.events.requests import Event, NoRequest, asked, expect, parse_event_request
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
)

REPOSITORY = comment_payload()["repository"]
GIVEN = WorkflowInputs(
    "acme/calc", now="2026-03-02T00:00:00Z", url="https://github.example/acme/calc/actions/runs/1"
)


def ignored(name: str, payload: object, inputs: WorkflowInputs = GIVEN) -> str:
    answer = expect(NoRequest, parse_event_request(Event(name, payload), inputs))
    return answer.reason


# The file and its fields


FILES = {
    b'{"action": ': "The event file FILE is not JSON: ",
    b'{"a": "\xff"}': "The event file FILE is not JSON: ",
    b"": "The event file FILE is not JSON: ",
    b"[]": "The event file FILE does not hold a JSON object.",
    b"[" * 200_000: "The event file FILE is nested too deeply.",
}


@pytest.mark.parametrize("content", FILES, ids=lambda content: content[:9])
def test_a_file_that_is_no_payload_is_named(tmp_path: Path, content: bytes):
    path = tmp_path / "event.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_event("issue_comment", path)
    assert caught.value.exit_code is ExitCode.USAGE
    assert str(caught.value).replace(str(path), "FILE").startswith(FILES[content])


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"The event file .*nowhere\.json cannot be read: No such file"):
        read_event("issue_comment", tmp_path / "nowhere.json")


REQUIRED = [
    "action",
    *(f"issue{path}" for path in ("", ".number", ".title", ".html_url", ".updated_at")),
    *(f"comment.{path}" for path in ("id", "created_at", "user.login", "user.id")),
    *(f"repository{path}" for path in ("", ".full_name", ".default_branch", ".private", ".clone_url")),
]


@pytest.mark.parametrize("path", REQUIRED)
def test_a_missing_field_is_named(path: str):
    payload = comment_payload(**{path.replace(".", "__"): MISSING})
    with pytest.raises(UsageError, match=rf"The event has no field {path}(\.\w+)*\."):
        asked("issue_comment", payload)


WRONG: dict[str, tuple[Any, str]] = {
    "issue": ([], "an object"),
    "issue.number": ("7", "a positive whole number"),
    "comment.id": (True, "a positive whole number"),
    "comment.body": (["/agent"], "text"),
    "comment.user.login": ("../../x", "a login"),
    "comment.created_at": ("yesterday", "a time as in 2026-01-31T12:00:00Z"),
    "repository.full_name": ("a/b/../c", "owner/name"),
    "repository.private": ("no", "true or false"),
    "repository.clone_url": ("ext::sh -c x", "an http or https URL"),
}


@pytest.mark.parametrize("path", WRONG)
def test_a_field_of_the_wrong_kind_is_named(path: str):
    value, what = WRONG[path]
    with pytest.raises(UsageError) as caught:
        asked("issue_comment", comment_payload(**{path.replace(".", "__"): value}))
    assert str(caught.value) == f"The event's field {path} is not {what}."


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.sampled_from([*REQUIRED, "comment.body", "sender", "comment.user"]), _JSON)
def test_no_value_anywhere_makes_the_reader_raise_anything_else(path: str, value: Any):
    try:
        parse_event_request(Event("issue_comment", comment_payload(**{path.replace(".", "__"): value})))
    except UsageError as error:
        assert "\n" not in str(error)


def test_what_is_gone_is_empty_or_nobody():
    payload = comment_payload(issue__body=None, issue__user=None, comment__user=None)
    request = asked("issue_comment", payload)
    assert request.subject is not None
    assert (request.subject.body, request.subject.author, request.actor) == ("", GHOST, None)
    assert "has no `/agent` command" in ignored("issue_comment", comment_payload(None))


@pytest.mark.parametrize("body", ["> /agent fix it\n\nplease do not", "I would use /agent fix"])
def test_a_mention_is_no_command(body: str):
    assert ignored("issue_comment", comment_payload(body)) == (
        "Nothing to do: the comment mentions `/agent`, but a command starts the first line of a comment."
    )


def test_a_lone_surrogate_becomes_a_replacement_character():
    request = asked("issue_comment", comment_payload("/agent " + chr(0xD800)))
    assert request.source is not None
    assert request.source.body == "/agent " + chr(0xFFFD)


# Commands


WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a comment": ("issue_comment", comment_payload("/agent explain it")),
    "a comment under a pull request": ("issue_comment", on_pull("/agent explain it")),
    "a review": ("pull_request_review", review_payload("/agent explain it")),
    "a review comment": ("pull_request_review_comment", review_comment_payload("/agent explain it")),
    "a new issue": ("issues", issue_payload(issue__body="/agent explain it", issue__user=dict(OCTOCAT))),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_command_may_stand_in(what: str):
    name, payload = WRITTEN[what]
    request = asked(name, payload)
    assert request.cause is Cause.COMMAND
    assert request.command is not None
    assert (request.command.verb, request.command.instruction) == ("explain", "it")
    assert request.actor is not None
    assert (request.actor.login, request.number, request.trigger.event) == ("octocat", 7, name)
    assert request.on_pull == (what not in ("a comment", "a new issue"))


@pytest.mark.parametrize("what", WRITTEN)
def test_an_edit_is_no_command(what: str):
    name, payload = WRITTEN[what]
    reason = ignored(name, {**payload, "action": "edited"})
    assert reason.startswith("Nothing to do: the ")
    assert "was edited" in reason


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
def test_what_carries_the_bots_mark_starts_nothing(name: str, payload: object):
    assert ignored(name, payload).endswith("is this bot's own.")


TIMES = {
    "the comment that asked": ("pull_request_review_comment", review_comment_payload()),
    "the submission of its review": (
        "pull_request_review_comment",
        review_comment_payload(comment__created_at="2026-03-01T09:00:00Z", comment__updated_at=AT),
    ),
    "the creation of a comment": ("issue_comment", comment_payload(comment__updated_at="2026-03-01T13:00:00Z")),
    "the last change before a label": ("issues", issue_payload("labeled", label={"name": "x"}, issue__updated_at=AT)),
}  # fmt: skip


@pytest.mark.parametrize("what", TIMES)
def test_the_time_of_a_request_is_that_of(what: str):
    assert asked(*TIMES[what]).trigger.at == AT


def test_a_review_comment_is_the_trigger_and_has_its_lines():
    request = asked("pull_request_review_comment", review_comment_payload())
    url = "https://github.example/acme/calc/pull/7#discussion_r5000"
    assert request.trigger == Trigger("pull_request_review_comment", 5000, url, AT)
    hunk = "@@ -9,3 +9,4 @@\n def add(a, b):\n+    return a - b"
    assert request.anchor == ReviewThread(4000, "calc/sum.py", 12, 10, Side.RIGHT, hunk, ())


@pytest.mark.parametrize(("subject_type", "outdated"), [("line", True), ("file", False)])
def test_a_review_comment_without_a_line_is_outdated_or_on_the_file(subject_type: str, outdated: bool):
    payload = review_comment_payload(comment__line=None, comment__subject_type=subject_type)
    anchor = asked("pull_request_review_comment", payload).anchor
    assert anchor is not None
    assert (anchor.line, anchor.start_line, anchor.outdated) == (0, 0, outdated)


@pytest.mark.parametrize("fork", [None, {"full_name": "mallory/calc"}], ids=["deleted", "there"])
@pytest.mark.parametrize(
    ("name", "payload", "noun"),
    [
        ("pull_request_review", review_payload, "review"),
        ("pull_request_review_comment", review_comment_payload, "comment"),
    ],
)
def test_a_command_on_the_diff_of_a_fork_is_led_to_the_conversation(
    name: str, payload: Callable[..., Any], noun: str, fork: object
):
    assert ignored(name, payload(pull_request__head__repo=fork)) == (
        f"Nothing to do: GitHub gives a {noun} on a fork's pull request neither secrets nor a token that writes; write "
        "the command as a comment in the conversation of the pull request, where it works."
    )


# Actions on threads


@pytest.mark.parametrize(
    ("name", "payload", "head"),
    [
        ("pull_request_review", review_payload(), HEAD),
        ("pull_request_review_comment", review_comment_payload(), HEAD),
        ("pull_request", pull_payload(), HEAD),
        ("pull_request_target", pull_payload("synchronize"), HEAD),
        ("pull_request", pull_payload("labeled", label={"name": "x"}), HEAD),
        ("issue_comment", on_pull(), ""),
    ],
)
def test_the_head_of_the_payload_is_what_is_asked_about(name: str, payload: dict[str, Any], head: str):
    assert asked(name, payload).head_sha == head


@pytest.mark.parametrize("action", ["closed", "edited", "locked", "unlabeled", "converted_to_draft"])
def test_what_else_is_done_to_a_pull_request_asks_for_nothing(action: str):
    assert ignored("pull_request", pull_payload(action)) == (
        f"Nothing to do: the pull request was {action}, which asks for nothing."
    )


def test_a_pull_request_of_the_bots_own_branch_starts_nothing():
    own = {"pull_request__head__ref": "agent/issue-7-sum"}
    assert ignored("pull_request", pull_payload(**own)) == (
        "Nothing to do: the pull request is of a branch of this bot's own."
    )
    fork = pull_payload(**own, pull_request__head__repo={"full_name": "mallory/calc"})
    assert asked("pull_request", fork).cause is Cause.PULL_REQUEST


# Dispatches and schedules


def _dispatch(**inputs: object) -> dict[str, Any]:
    return {"inputs": inputs, "ref": "refs/heads/main", "repository": REPOSITORY, "sender": dict(OCTOCAT)}


@pytest.mark.parametrize("instruction", ["review --full", "/agent review --full"])
def test_a_dispatch_says_what_to_do_in_its_input(instruction: str):
    request = asked("workflow_dispatch", _dispatch(instruction=instruction, number="12"), GIVEN)
    assert request.command is not None
    assert (request.command.verb, request.command.options) == ("review", {"full": "true"})
    assert (request.number, request.trigger.at) == (12, GIVEN.now)
    assert request.actor is not None


def test_a_repository_dispatch_says_it_in_its_payload():
    payload = {"action": "tidy", "client_payload": {"instruction": "fix it", "number": 3}}
    request = asked("repository_dispatch", {**payload, "repository": REPOSITORY, "sender": dict(OCTOCAT)})
    assert request.number == 3


def test_a_dispatch_that_says_nothing_does_what_the_workflow_says():
    request = asked("workflow_dispatch", _dispatch(), WorkflowInputs(instruction="explain the tests"))
    assert request.command is not None
    assert request.command.verb == "explain"


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        *(
            ("workflow_dispatch", _dispatch(**inputs))
            for inputs in ({}, {"instruction": " "}, {"instruction": None, "number": ""})
        ),
        ("workflow_dispatch", {**_dispatch(), "inputs": None}),
        ("schedule", {"schedule": "0 4 * * *"}),
    ],
)
def test_a_workflow_without_words_is_ignored(name: str, payload: dict[str, Any]):
    assert ignored(name, payload) == f"Nothing to do: the `{name}` has neither an `instruction` nor a `task`."


def test_a_dispatched_number_is_of_the_workflows_repository_alone():
    payload = _dispatch(instruction="fix it", number="7")
    for repository, number in (("", 7), ("Acme/Calc", 7), ("acme/other", 0)):
        inputs = WorkflowInputs(repository, task="tidy")
        assert asked("workflow_dispatch", payload, inputs).number == number


# Failed runs


def test_a_failed_run_on_a_pull_request_may_ask_for_a_fix():
    request = asked("workflow_run", run_payload())
    assert (request.cause, request.number, request.head_sha) == (Cause.FAILED_RUN, 7, HEAD)
    assert request.tier is Tier.SCHEDULE


RUNS: dict[str, dict[str, Any]] = {
    "`success`, and only a failed one": {"workflow_run__conclusion": "success"},
    "`requested`, and only a failed one": {"action": "requested"},
    "the event `push`, not of a pull request": {"workflow_run__event": "push"},
    "of a fork's pull request": {"workflow_run__head_repository": {"full_name": "mallory/calc"}},
    "fork's pull request; a person": {"workflow_run__head_repository": None},
    "of a branch of this bot's own": {"workflow_run__head_branch": "agent/issue-7", "workflow_run__pull_requests": []},
    "begun by a deleted account": {"workflow_run__actor": None},
    "of no open pull request": {"workflow_run__pull_requests": []},
}  # fmt: skip


@pytest.mark.parametrize("why", RUNS)
def test_any_other_run_is_ignored_with_a_word(why: str):
    assert why in ignored("workflow_run", run_payload(**RUNS[why]))


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
def test_a_number_of_another_repository_or_head_is_not_taken(foreign: dict[str, Any]):
    other = pull_of_run(3, **foreign)
    assert "of no open pull request" in ignored(
        "workflow_run", run_payload(workflow_run__pull_requests=[other])
    )
    assert asked("workflow_run", run_payload(workflow_run__pull_requests=[other, pull_of_run()])).number == 7


# Anything else


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("push", "a push starts nothing; new commits on a pull request arrive as a `pull_request` event"),
        ("no_such_event", "the event `no_such_event` asks for nothing"),
    ],
)
def test_another_event_is_ignored_and_needs_no_field(name: str, reason: str):
    assert ignored(name, {}, NO_INPUTS) == f"Nothing to do: {reason}."


def test_words_of_the_payload_are_fit_for_the_log():
    reason = ignored("issue_comment", comment_payload(action="x`\n::error::" + "y" * 500))
    assert "\n" not in reason
    assert "::" not in reason
    assert len(reason) < 200
