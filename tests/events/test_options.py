"""What options may ask for is the policy's to say: both sides of each bound, however the command was given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.request import Request, Tier
from bot.contracts.threads import Permission
from bot.events.event_request import WorkflowInputs
from bot.policy.publishing import PullRequestPolicy
from bot.policy.values import OptionsPolicy, Policy
from bot.verbs.registry import NAMES
from tests.events.requests import Event, Refusal, build_request
from tests.support.policies import admitting
from tests.support.threads import AT, Threads, comment_payload

OPEN = admitting(verbs={tier: frozenset(NAMES) for tier in Tier}, bots={})
LISTED = replace(OPEN, options=OptionsPolicy(models=("anthropic/claude-haiku-4-5", "openai/*")))
NONE = replace(OPEN, options=OptionsPolicy(models=()))
DRAFTS = replace(OPEN, pull_request=PullRequestPolicy(draft="always"))
NO_VERBS = replace(LISTED, tiers=admitting({Tier.MAINTAINER: NAMES}).tiers)

REFUSED_MODEL = (
    "`--model {}` is not an allowed model here: this repository's policy lists "
    "`anthropic/claude-haiku-4-5`, `openai/*` under `options: models`."
)
REFUSED_READY = (
    "`--no-draft` is not allowed here: this repository's policy says `draft: always` under `pull_request`."
)


def _asked(words: str, admission: Policy) -> Request | Refusal:
    event = Event("issue_comment", comment_payload(f"/agent {words}"))
    decided = build_request(event, Threads(), lambda: admission)
    assert isinstance(decided, Request | Refusal)
    return decided


@pytest.mark.parametrize(
    ("words", "admission"),
    [
        ("fix it --model anthropic/claude-opus-4-5", OPEN),
        ("fix it --model anthropic/claude-haiku-4-5", LISTED),
        ("plan --model=openai/gpt-5", LISTED),
        ("explain --model openai/a/b", LISTED),
        ("fix it", LISTED),
        ("fix it", NONE),
        ("fix it --no-draft", OPEN),
        ("fix it --draft", DRAFTS),
        ("fix it", DRAFTS),
    ],
)
def test_what_is_within_the_bounds_is_carried_out(words: str, admission: Policy) -> None:
    assert isinstance(_asked(words, admission), Request)


@pytest.mark.parametrize("verb", ["fix", "plan", "explain", "continue", "retry", "approve 1a2b3c4d"])
@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-haiku-4-5-20251001",
        "anthropic/claude-opus-4-5",
        "Anthropic/claude-haiku-4-5",
        "openai",
        "azure/openai/gpt-5",
        "replay/openai/x",
    ],
)
def test_a_model_that_is_not_listed_is_refused_with_what_is(verb: str, model: str) -> None:
    refusal = Refusal(REFUSED_MODEL.format(model), in_thread=True, exit_code=ExitCode.USAGE)
    first, _, rest = verb.partition(" ")
    assert _asked(f"{first} --model {model} {rest}", LISTED) == refusal


def test_an_empty_list_lets_nobody_name_a_model() -> None:
    refusal = _asked("fix it --model openai/gpt-5", NONE)
    assert isinstance(refusal, Refusal)
    assert "lists none under `options: models`" in refusal.reason


def test_no_draft_is_refused_where_all_are_drafts() -> None:
    refusal = Refusal(REFUSED_READY, in_thread=True, exit_code=ExitCode.USAGE)
    assert _asked("fix it --no-draft", DRAFTS) == refusal


def test_who_may_not_ask_at_all_is_not_told_which_models_there_are() -> None:
    event = Event("issue_comment", comment_payload("/agent --model a/b fix it"))
    stranger = Threads(Permission("read", 583231, "User", private=False, role="read"))
    refusal = build_request(event, stranger, lambda: NO_VERBS)
    assert isinstance(refusal, Refusal)
    assert "openai" not in refusal.reason
    assert "Only people with write access" in refusal.reason


@pytest.mark.parametrize(
    ("words", "reason"),
    [("--model a/b fix it", REFUSED_MODEL.format("a/b")), ("--no-draft fix it", REFUSED_READY)],
)
@pytest.mark.parametrize("name", ["workflow_dispatch", "schedule"])
def test_the_words_of_a_dispatch_or_a_schedule_have_the_same_bounds(
    name: str, words: str, reason: str
) -> None:
    payload = {key: comment_payload()[key] for key in ("repository", "sender")}
    event = Event(name, payload)
    bounds = replace(LISTED, pull_request=PullRequestPolicy(draft="always"))
    given = WorkflowInputs("acme/calc", instruction=words, now=AT)
    assert build_request(event, Threads(), lambda: bounds, inputs=given) == Refusal(
        reason, in_thread=False, exit_code=ExitCode.USAGE
    )
