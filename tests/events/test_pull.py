"""Which pull requests can be worked on, and at which head."""

from typing import Any

import pytest

from bot.contracts.pulls import PullState
from bot.contracts.request import Request, Tier
from bot.github.values import Permission, PushData
from bot.verbs.registry import NAMES
from tests.events.requests import Event, NoRequest, Refusal, build_request, expect
from tests.support.policies import admitting
from tests.support.threads import HEAD, Threads, on_pull, pull_request, review_comment_payload, review_payload

EARLIER, AT, LATER = "2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T12:00:30Z"
OLD, NEW = "c" * 40, "d" * 40
POLICY = admitting(
    {Tier.MAINTAINER: frozenset(NAMES), Tier.CONTRIBUTOR: frozenset({"review", "explain"})}, {}
)
CONTRIBUTOR = Permission("read", 583231, "User", private=True, role="read")
FORK = {"head_repository": "mallory/calc"}


def _build(
    payload: dict[str, Any], threads: Threads, name: str = "issue_comment"
) -> Request | Refusal | NoRequest:
    event = Event(name, payload)
    return build_request(event, threads, lambda: POLICY)


def _request(body: str, threads: Threads) -> Request:
    return expect(Request, _build(on_pull(body), threads))


def _refusal(body: str, threads: Threads) -> Refusal:
    return expect(Refusal, _build(on_pull(body), threads))


# What state it is in


MERGED = "Pull request #7 is merged already. For further work, write the command in an issue."
CLOSED = "Pull request #7 is closed. Reopen it and repeat the command, or write it in an issue."
HUGE = (
    "Pull request #7 changes 3,001 files; a review covers at most 3,000. "
    "Split it, or ask `/agent explain` about a part of it."
)


@pytest.mark.parametrize(
    ("changes", "verb", "reason"),
    [
        ({"state": PullState.MERGED}, "fix", MERGED),
        ({"state": PullState.MERGED}, "review", MERGED),
        ({"state": PullState.CLOSED}, "fix", CLOSED),
        ({"changed_files": 3001}, "review", HUGE),
    ],
)
def test_a_pull_request_that_cannot_be_worked_on_is_refused_in_a_sentence(
    changes: dict[str, Any], verb: str, reason: str
):
    threads = Threads(pull_answer=pull_request(**changes))
    assert _refusal(f"/agent {verb}", threads) == Refusal(reason, in_thread=True)


def test_a_locked_conversation_gets_no_answer_and_costs_nothing():
    threads = Threads()
    refusal = _build(on_pull(issue__locked=True), threads)
    assert refusal == Refusal(
        "The conversation is locked, so no comment can be posted in it.", in_thread=False
    )
    assert threads.calls == []


def test_a_pull_request_locked_since_gets_no_answer():
    refusal = _refusal("/agent fix", Threads(pull_answer=pull_request(locked=True)))
    assert not refusal.in_thread


# Which head


def _moved(pushes: list[PushData] | None, **changes: Any) -> Threads:
    """Something has happened to the pull request since the command."""
    return Threads(pull_answer=pull_request(updated_at=LATER, **changes), push_list=pushes)


def test_where_nothing_happened_since_the_head_is_the_one_and_nobody_is_asked():
    threads = Threads()
    request = _request("/agent fix", threads)
    assert request.pull is not None
    assert request.pull.head_sha == HEAD
    assert not any(asked.startswith("pushes") for asked in threads.calls)


def test_a_head_pushed_before_the_command_is_worked_on():
    threads = _moved([PushData(HEAD, EARLIER)])
    assert _request("/agent fix", threads).thread is not None
    assert "pushes acme/calc fix" in threads.calls


NEWER = (
    "Somebody pushed to pull request #7 after this command; its head is now aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa. "
    "Check it and repeat the command."
)
PUSHES: dict[str, list[PushData]] = {
    "a push after the command": [PushData(HEAD, LATER), PushData(OLD, EARLIER)],
    "a push to and fro after the command": [PushData(HEAD, LATER), PushData(NEW, LATER), PushData(HEAD, EARLIER)],
    "a push that the list has not got yet": [PushData(NEW, LATER)],
}  # fmt: skip


@pytest.mark.parametrize("what", PUSHES)
@pytest.mark.parametrize("verb", ["fix", "review", "explain"])
def test_a_head_newer_than_the_command_is_refused(what: str, verb: str):
    assert _refusal(f"/agent {verb}", _moved(PUSHES[what])) == Refusal(NEWER, in_thread=True)


UNKNOWN: dict[str, tuple[list[PushData] | None, dict[str, Any]]] = {
    "a private fork": (None, FORK),
    "a deleted fork": (None, {"head_repository": ""}),
    "no push on record": ([], FORK),
    "a list without the push of this head": ([PushData(NEW, EARLIER)], FORK),
    "a head that an older push made": ([PushData(NEW, EARLIER), PushData(HEAD, EARLIER)], FORK),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_push_time_is_noted(case: str):
    pushes, changes = UNKNOWN[case]
    request = _request("/agent fix", _moved(pushes, **changes))
    assert request.thread is not None
    assert request.thread.left_out == (
        "word of when the head was pushed: it may be newer than the command that asked",
    )


def test_on_the_bots_own_branch_a_command_goes_on_from_the_one_before_it():
    threads = _moved([PushData(HEAD, LATER)], head_ref="agent/issue-3-sum")
    request = _request("/agent fix", threads)
    assert request.pull is not None
    assert request.pull.head_sha == HEAD


def test_a_forks_branch_is_not_the_bots_own_by_its_name():
    threads = _moved([PushData(HEAD, LATER)], head_ref="agent/issue-3-sum", **FORK)
    assert isinstance(_refusal("/agent fix", threads), Refusal)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("pull_request_review", review_payload("/agent fix")),
        ("pull_request_review_comment", review_comment_payload("/agent fix")),
    ],
)
def test_the_payloads_head_is_worked_on_whatever_was_pushed_since(name: str, payload: dict[str, Any]):
    threads = Threads(pull_answer=pull_request(head_sha=NEW, updated_at=LATER), push_list=None)
    request = expect(Request, _build(payload, threads, name))
    assert request.pull is not None
    assert request.pull.head_sha == HEAD
    assert not any(asked.startswith("pushes") for asked in threads.calls)


def test_a_pull_request_with_another_base_since_is_refused():
    threads = Threads(pull_answer=pull_request(base_ref="lax"))
    refusal = expect(Refusal, _build(review_payload("/agent fix"), threads, "pull_request_review"))
    assert "base branch of pull request #7 was changed" in refusal.reason


# A maintainer vouches for a head


@pytest.mark.parametrize("named", [HEAD, HEAD.upper()])
def test_a_maintainer_may_vouch_for_the_head_by_naming_it(named: str):
    threads = _moved([PushData(HEAD, EARLIER)], **FORK)
    assert _request(f"/agent fix --sha {named}", threads).trusted_sha == HEAD


def test_a90_part_of_an_id_vouches_for_nothing():
    threads = _moved([PushData(HEAD, EARLIER)], **FORK)
    for digits in (12, 39):
        refusal = _refusal(f"/agent fix --sha {HEAD[:digits]}", threads)
        assert "`--sha` needs the full id of the head commit" in refusal.reason


SAME_SECOND = [PushData(HEAD, AT)]


@pytest.mark.parametrize("pushes", [*PUSHES.values(), SAME_SECOND])
@pytest.mark.parametrize("updated_at", [AT, LATER])
def test_a90_a_head_newer_than_the_command_is_not_vouched_for(pushes: list[PushData], updated_at: str):
    pull = pull_request(updated_at=updated_at, **FORK)
    threads = Threads(pull_answer=pull, push_list=pushes)
    assert _refusal(f"/agent fix --sha {HEAD}", threads).reason == NEWER


@pytest.mark.parametrize("case", UNKNOWN)
@pytest.mark.parametrize("updated_at", [AT, LATER])
def test_a90_a_head_of_unknown_push_time_is_not_vouched_for(case: str, updated_at: str):
    pushes, changes = UNKNOWN[case]
    threads = Threads(pull_answer=pull_request(updated_at=updated_at, **changes), push_list=pushes)
    refusal = _refusal(f"/agent fix --sha {HEAD}", threads)
    assert "Repeat the command in a review of the pull request" in refusal.reason


def test_a_review_vouches_for_the_head_that_its_event_names():
    threads = Threads(pull_answer=pull_request(**FORK), push_list=None)
    request = expect(
        Request, _build(review_payload(f"/agent fix --sha {HEAD}"), threads, "pull_request_review")
    )
    assert request.trusted_sha == HEAD


def test_another_head_than_the_one_named_is_refused():
    refusal = _refusal(f"/agent fix --sha {NEW}", Threads(pull_answer=pull_request(**FORK)))
    assert refusal.reason == (
        f"`--sha {NEW}` is not the head of pull request #7, which is {HEAD}. Check that commit and name it."
    )


def test_a_contributor_vouches_for_nothing():
    threads = Threads(CONTRIBUTOR, pull_answer=pull_request(**FORK))
    refusal = _refusal(f"/agent review --sha {HEAD}", threads)
    assert refusal.reason == (
        "Only people with write access can use `--sha`, since it vouches for the code; octocat has no write access."
    )


def test_a_base_means_nothing_under_a_pull_request():
    assert _refusal("/agent fix --base main", Threads()).reason == (
        "`--base` does not work under a pull request: its result goes to the branch of that pull request."
    )
