"""What options may ask for is the policy's to say: both sides of each bound, however the command was given."""

from dataclasses import replace

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.request import Request, Tier
from bot.events.event_request import WorkflowInputs
from bot.github.values import Permission
from bot.policy.publish_settings import PullRequestPolicy
from bot.policy.settings import OptionsPolicy, Policy
from bot.verbs.registry import NAMES
from tests.events.requests import Event, Refusal, build_request, expect
from tests.support.policies import admitting
from tests.support.threads import AT, Threads, comment_payload

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
