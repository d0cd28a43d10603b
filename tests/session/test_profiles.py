"""What each verb may do in a run: the table, and the one rule about forks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.agent.masking import group
from bot.contracts.outcome import Status
from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Request, Tier
from bot.contracts.workspace_tools import SHELL, SHELL_TOOLS, TOOL_SPECS, WRITING
from bot.policy.rule import READING_TOOLS, WRITING_TOOLS
from bot.session.context.profiles import profile_of, profile_of_verb, why_not_run
from bot.verbs.record import ASK_USER
from bot.verbs.registry import MODEL_VERBS
from tests.support.outcomes import REQUEST, make_request

HEAD = "b" * 40
OURS = PullRequest(7, PullState.OPEN, False, False, "ann", 5, HEAD, "topic", "octo/hello", "main", "a" * 40)
FORK = replace(OURS, head_repository="eve/hello")


def under(pull: PullRequest, verb: str = "fix", trusted: str = "") -> Request:
    return make_request(verb=verb, pull=pull, trusted_sha=trusted)


@pytest.mark.parametrize("verb", ["stop", "status", "help"])
def test_an_instant_verb_has_no_profile(verb: str) -> None:
    assert verb not in MODEL_VERBS
    with pytest.raises(KeyError):
        profile_of(make_request(verb=verb))


@pytest.mark.parametrize("verb", ["plan", "explain", "review"])
def test_a_reading_verb_gets_no_writing_tool_and_no_checks(verb: str) -> None:
    profile = profile_of(make_request(verb=verb))
    assert profile.read_only
    assert not set(profile.all_tools) & set(WRITING)
    assert not profile.checks
    assert (SHELL in profile.tools) == (verb != "plan")
    assert profile.granted == (verb == "explain")
    assert profile.setup == (verb == "review")
    assert "describe_change" not in profile.results


@pytest.mark.parametrize("verb", ["fix", "continue", "retry", "approve"])
def test_a_changing_verb_gets_every_tool_of_the_workspace(verb: str) -> None:
    profile = profile_of(make_request(verb=verb))
    assert set(profile.tools) == {spec.name for spec in TOOL_SPECS}
    assert profile.success is Status.CHANGED
    assert profile.checks
    assert not profile.read_only


def test_path_rules_know_every_tool_of_the_workspace_but_the_shell() -> None:
    """A tool that no rule can name is covered by no `deny`."""
    others = {spec.name for spec in TOOL_SPECS} - set(SHELL_TOOLS)
    assert others == READING_TOOLS | WRITING_TOOLS


@pytest.mark.parametrize("verb", sorted(MODEL_VERBS))
def test_on_a_forks_head_nothing_is_run(verb: str) -> None:
    profile = profile_of(under(FORK, verb))
    assert SHELL not in profile.tools
    assert not profile.setup
    assert not profile.checks
    assert f"--sha {HEAD}" in profile.unrun


@pytest.mark.parametrize(
    ("pull", "trusted", "tier", "runs"),
    [
        (OURS, "", Tier.MAINTAINER, True),
        (replace(OURS, head_repository=""), "", Tier.MAINTAINER, False),
        (FORK, HEAD, Tier.MAINTAINER, True),
        (FORK, HEAD, Tier.CONTRIBUTOR, False),
        (FORK, "c" * 40, Tier.MAINTAINER, False),
        (FORK, HEAD[:12], Tier.MAINTAINER, False),
    ],
)
def test_a_fork_is_run_only_at_the_very_commit_that_a_maintainer_named(
    pull: PullRequest, trusted: str, tier: Tier, runs: bool
) -> None:
    request = under(pull, trusted=trusted)
    assert (why_not_run(replace(request, actor=replace(request.actor, tier=tier))) == "") is runs


@pytest.mark.parametrize("last", ["plan", "explain", "review", None, "fix", "approve", "continue", "help"])
def test_going_on_from_a_reading_run_stays_reading(last: str | None) -> None:
    profile = profile_of(make_request(verb="continue"), last)
    reads = last in ("plan", "explain", "review")
    assert (profile.read_only, profile.verb) == (reads, "continue")
    if last and reads:
        assert profile.prompt == profile_of_verb(last).prompt
    assert not profile_of(make_request(verb="fix"), last).read_only


def test_a_question_is_asked_where_there_is_a_thread_for_it_or_somebody_started_the_run_by_hand() -> None:
    assert ASK_USER in profile_of(REQUEST).results
    alone = replace(REQUEST, thread=None)
    assert ASK_USER not in profile_of(alone).results
    assert ASK_USER in profile_of(replace(alone, actor=replace(alone.actor, tier=Tier.LOCAL))).results


def test_a_group_is_all_that_begins_with_its_name() -> None:
    names = [spec.name for spec in TOOL_SPECS]
    assert [name for name in names if group(name) == SHELL] == list(SHELL_TOOLS)
    assert all(group(name) == name for name in names if name not in SHELL_TOOLS)
