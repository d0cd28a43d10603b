"""What the policy makes of events that hold no command, and who may set them off."""

from dataclasses import replace
from typing import Any

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.request import Request, Tier
from bot.events.event_request import WorkflowInputs
from bot.github.values import Permission
from bot.policy.publish_settings import PullRequestPolicy
from bot.policy.settings import OptionsPolicy, Policy
from bot.verbs.registry import NAMES
from tests.events.requests import Event, NoRequest, Refusal, build_request, expect
from tests.support.policies import admitting
from tests.support.threads import (
    AT,
    Threads,
    comment_payload,
    issue_payload,
    pull_payload,
    pull_request,
    run_payload,
)

VERBS = {
    Tier.MAINTAINER: frozenset(NAMES),
    Tier.OUTSIDER: frozenset({"help", "status"}),
    Tier.SCHEDULE: frozenset(NAMES),
}
OFF = admitting(VERBS, {})
ON = admitting(
    VERBS,
    {},
    labels={"agent: fix": "fix"},
    assignee="our-bot",
    reviews=("opened", "reopened", "ready_for_review", "synchronize"),
    failed_runs=True,
)
OUTSIDER = Permission("read", 583231, "User", private=False, role="read")


def _build(name: str, payload: object, admission: Policy = ON, threads: Threads | None = None
) -> Request | Refusal | NoRequest:  # fmt: skip
    event = Event(name, payload)
    return build_request(event, threads or Threads(), lambda: admission)


EVENTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a label": ("issues", issue_payload("labeled", label={"name": "Agent: FIX"}), "fix"),
    "a label on a pull request": ("pull_request", pull_payload("labeled", label={"name": "agent: fix"}), "fix"),
    "an assignment": ("issues", issue_payload("assigned", assignee={"login": "Our-Bot[bot]"}), "fix"),
    "a pull request": ("pull_request", pull_payload("opened"), "review"),
    "a pull request opened again": ("pull_request", pull_payload("reopened"), "review"),
    "a pull request that is a draft no more": ("pull_request", pull_payload("ready_for_review"), "review"),
    "a pull request's push": ("pull_request_target", pull_payload("synchronize"), "review"),
    "a failed run": ("workflow_run", run_payload(), "fix"),
}  # fmt: skip


@pytest.mark.parametrize("what", EVENTS)
def test_the_policy_makes_a_command_of(what: str):
    name, payload, verb = EVENTS[what]
    request = expect(Request, _build(name, payload))
    assert (request.verb, request.repository, request.actor.login) == (verb, "acme/calc", "octocat")
    assert request.trigger is not None
    assert (request.trigger.event, request.trigger.comment_id, request.trigger.at) == (name, 0, AT)


@pytest.mark.parametrize("what", EVENTS)
def test_off_until_the_policy_says_so(what: str):
    name, payload, _ = EVENTS[what]
    threads = Threads()
    ignored = expect(NoRequest, _build(name, payload, OFF, threads))
    assert ignored.reason.startswith("Nothing to do: the policy ")
    assert threads.calls == []


@pytest.mark.parametrize("what", [what for what in EVENTS if what != "a failed run"])
def test_who_sets_it_off_needs_the_verb_and_is_refused_in_silence(what: str):
    name, payload, _ = EVENTS[what]
    refusal = expect(Refusal, _build(name, payload, threads=Threads(OUTSIDER)))
    assert not refusal.in_thread


@pytest.mark.parametrize(
    ("name", "payload", "why"),
    [
        ("issues", issue_payload("labeled", label={"name": "bug"}), "maps no command to this label"),
        ("issues", issue_payload("assigned", assignee={"login": "ada"}), "no command of this assignment"),
        ("pull_request", pull_payload("opened", pull_request__draft=True), "the pull request is a draft"),
    ],
)
def test_another_event_asks_for_nothing(name: str, payload: dict[str, Any], why: str):
    ignored = expect(NoRequest, _build(name, payload))
    assert why in ignored.reason


def test_a_draft_is_reviewed_where_the_policy_says_so():
    admission = admitting(VERBS, {}, reviews=("opened",), drafts=True)
    payload = pull_payload("opened", pull_request__draft=True)
    assert isinstance(_build("pull_request", payload, admission), Request)


@pytest.mark.parametrize("what", ["a pull request", "a pull request's push", "a failed run"])
def test_what_a_push_set_off_is_left_to_the_next_push_where_there_was_one(what: str):
    name, payload, _ = EVENTS[what]
    threads = Threads(pull_answer=pull_request(head_sha="d" * 40))
    ignored = _build(name, payload, threads=threads)
    assert ignored == NoRequest(
        "Nothing to do: pull request #7 has a newer head commit than the one in this event."
    )


def test_a_failed_runs_fix_is_the_schedules_by_tier_and_the_pushers_by_name():
    threads = Threads()
    request = expect(Request, _build("workflow_run", run_payload(), threads=threads))
    assert (request.actor.login, request.actor.tier) == ("octocat", Tier.SCHEDULE)
    assert not any(asked.startswith("permission") for asked in threads.calls)


# The author of a thread


OWN_THREAD = admitting(VERBS, {}, own_thread=frozenset({"explain"}))


def test_an_outsider_may_on_their_own_thread_what_the_policy_gives():
    payload = comment_payload("/agent explain it", issue__user={"login": "octocat", "id": 583231})
    request = expect(Request, _build("issue_comment", payload, OWN_THREAD, Threads(OUTSIDER)))
    assert request.actor.tier is Tier.OUTSIDER


OWN = {"login": "octocat", "id": 583231}
CONTRIBUTOR = Permission("read", 583231, "User", private=True, role="read")


@pytest.mark.parametrize(
    ("verb", "author", "permission"),
    [
        ("fix", OWN, OUTSIDER),
        ("explain", {**OWN, "id": 999}, OUTSIDER),
        ("explain", None, OUTSIDER),
        ("explain", OWN, CONTRIBUTOR),
    ],
    ids=["another verb", "another account of the name", "nobody's thread", "not an outsider"],
)
def test_nothing_more_is_given_on_a_thread(verb: str, author: object, permission: Permission):
    payload = comment_payload(f"/agent {verb} it", issue__user=author)
    assert isinstance(_build("issue_comment", payload, OWN_THREAD, Threads(permission)), Refusal)


@pytest.mark.parametrize("verb", ["help", "status"])
def test_an_outsider_may_ask_for_help_without_the_thread_being_read(verb: str):
    threads = Threads(OUTSIDER)
    expect(Request, _build("issue_comment", comment_payload(f"/agent {verb}"), OFF, threads))
    assert threads.calls == ["permission acme/calc octocat"]


# Options


OPEN = admitting(verbs={tier: frozenset(NAMES) for tier in Tier}, bots={})
LISTED = replace(OPEN, options=OptionsPolicy(models=("anthropic/claude-haiku-4-5", "openai/*")))
NONE = replace(OPEN, options=OptionsPolicy(models=()))
DRAFTS = replace(OPEN, pull_request=PullRequestPolicy(draft="always"))
NO_VERBS = replace(LISTED, tiers=admitting({Tier.MAINTAINER: NAMES}).tiers)

NOT_LISTED = (
    "`--model {}` is not an allowed model here: this repository's policy lists "
    "`anthropic/claude-haiku-4-5`, `openai/*` under `options: models`."
)
NONE_LISTED = NOT_LISTED.format("openai/gpt-5").replace("`anthropic/claude-haiku-4-5`, `openai/*`", "none")
NOT_READY = (
    "`--no-draft` is not allowed here: this repository's policy says `draft: always` under `pull_request`."
)
OTHERS = (
    "anthropic/claude-haiku-4-5-20251001", "anthropic/claude-opus-4-5", "Anthropic/claude-haiku-4-5",
    "openai", "azure/openai/gpt-5", "replay/openai/x",
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "policy", "reason"),
    [
        ("fix it --model anthropic/claude-opus-4-5", OPEN, ""),
        ("fix it --model anthropic/claude-haiku-4-5", LISTED, ""),
        ("plan --model=openai/gpt-5", LISTED, ""),
        ("explain --model openai/a/b", LISTED, ""),
        ("fix it", NONE, ""),
        ("fix it --no-draft", OPEN, ""),
        ("fix it --draft", DRAFTS, ""),
        ("fix it --model openai/gpt-5", NONE, NONE_LISTED),
        ("fix it --no-draft", DRAFTS, NOT_READY),
        *((f"fix it --model {model}", LISTED, NOT_LISTED.format(model)) for model in OTHERS),
        *((f"{verb} --model a/b", LISTED, NOT_LISTED.format("a/b")) for verb in ("plan", "explain")),
    ],
)
@pytest.mark.parametrize("name", ["issue_comment", "workflow_dispatch", "schedule"])
def test_an_option_is_taken_within_the_policys_bounds_and_else_refused_with_the_key(
    name: str, words: str, policy: Policy, reason: str
):
    payload = comment_payload(f"/agent {words}")
    if name != "issue_comment":
        payload = {key: payload[key] for key in ("repository", "sender")}
    given = WorkflowInputs("acme/calc", instruction=words, now=AT)
    answer = build_request(Event(name, payload), Threads(), lambda: policy, inputs=given)
    if reason:
        in_thread = name == "issue_comment"
        assert answer == Refusal(reason, in_thread=in_thread, exit_code=ExitCode.USAGE)
    else:
        assert isinstance(answer, Request)


def test_who_may_not_ask_at_all_is_not_told_which_models_there_are():
    event = Event("issue_comment", comment_payload("/agent --model a/b fix it"))
    stranger = Threads(Permission("read", 583231, "User", private=False, role="read"))
    refusal = expect(Refusal, build_request(event, stranger, lambda: NO_VERBS))
    assert "openai" not in refusal.reason
    assert "Only people with write access" in refusal.reason
