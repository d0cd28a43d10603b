"""The action's input `policy`: another file of the base branch decides, in both jobs, and no slip loosens anything."""

import pytest

from bot.contracts.errors import UsageError
from bot.policy.load import policy_file
from tests.support.fix_script import DONE, fix_steps
from tests.support.stage import Stage

NAMED = ".github/bots/strict.yml"
GIVEN = {"SLASH_AGENT_POLICY": NAMED}


@pytest.mark.parametrize("named", ["", " ", ".github/agent.yml", "./.github/agent.yml"])
def test_without_one_it_is_the_usual_file(named: str):
    assert policy_file(named) == ".github/agent.yml"


@pytest.mark.parametrize("named", [NAMED, ".github/agent-strict.yaml", ".github/a/b/c_d.e.yml"])
def test_a_file_below_github_is_taken(named: str):
    assert policy_file(named) == named


@pytest.mark.parametrize(
    "named",
    [
        "agent.yml", "/etc/agent.yml", "../agent.yml", ".github/../agent.yml", ".github/./agent.yml",
        ".github//agent.yml", ".github/.git/agent.yml", ".GITHUB/agent.yml", ".github/agent.md", ".github/a b.yml",
        ".github/agent.yml\nx", ".github/agent.yml?ref=evil", "main:.github/agent.yml", ".github\\agent.yml",
        ".github/workflows/agent.yml", "https://x/.github/agent.yml", ".github/", ".github/-a/%2e%2e/a.yml",
    ],
)  # fmt: skip
def test_any_other_path_is_refused_by_name(named: str):
    with pytest.raises(UsageError, match=r"below \.github/"):
        policy_file(named)


def test_one_that_is_not_there_lets_nobody_in(stage: Stage):
    """A branch besides the default one has it, and that counts for nothing."""
    stage.forge.commit(stage.repo, {NAMED: "version: 1\n"}, branch="lax")
    ran = stage.run(model=[DONE], event=stage.ask("/agent fix --base lax this"), **GIVEN)
    assert ran.requests == []
    assert ran.code == 2
    assert f"The policy file {NAMED} does not exist" in ran.output


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_both_jobs_go_by_it_and_the_agent_cannot_change_it(stage: Stage):
    stage.forge.commit(stage.repo, {NAMED: "version: 1\npull_request: {draft: false}\nchecks: ['true']\n"})
    event = stage.ask("/agent fix this")
    ran = stage.run(model=fix_steps(), event=event, **GIVEN)
    assert ran.code == 0, ran.output
    assert [check["command"] for check in stage.outcome()["checks"]] == ["true"]
    file = str(stage.event_file(event))
    refused = stage.publish(GITHUB_EVENT_NAME="issue_comment", GITHUB_EVENT_PATH=file)
    assert (refused.code, stage.pulls()) == (6, [])
    assert "the policy" in refused.output
    stage.publish_event(event, **GIVEN)
    [pull] = stage.pulls()
    assert not pull["draft"]
