from __future__ import annotations

import json
from pathlib import Path

import pytest
import responses

from bot.doctor.finding import Finding, State
from bot.doctor.there import look_there
from bot.github.client import connect
from tests.support.repositories import git, sample_repository
from tests.support.stage import Stage

API = "https://api.github.test:443"
REPO = {
    "full_name": "a/b",
    "default_branch": "main",
    "private": False,
    "clone_url": "https://github.com/a/b.git",
    "permissions": {"push": True, "pull": True, "admin": True},
}
ACTIONS = {"enabled": True, "allowed_actions": "all"}
WORKFLOW = {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": True}


def look(**changed: object) -> dict[str, Finding]:
    """The findings where GitHub answers as for a sound repository, but for what is `changed`: a body or a status."""
    answers: dict[str, tuple[str, object]] = {
        "repository": ("", REPO),
        "actions": ("/actions/permissions", ACTIONS),
        "workflow": ("/actions/permissions/workflow", WORKFLOW),
        "rules": ("/rules/branches/agent%2Fdoctor", []),
        "secrets": ("/actions/secrets", {"total_count": 1, "secrets": [{"name": "OPENAI_API_KEY"}]}),
    }
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        for name, (path, sound) in answers.items():
            answer = changed.get(name, sound)
            status = answer if isinstance(answer, int) else 200
            body = {"message": "no"} if isinstance(answer, int) else answer
            mock.get(
                f"{API}/repos/a/b{path}",
                body=json.dumps(body),
                status=status,
                content_type="application/json",
            )
        return {finding.name: finding for finding in look_there("a/b", connect("ghp_x", API))}


def test_a_sound_repository_has_nothing_to_mend() -> None:
    found = look()
    assert {finding.state for finding in found.values()} == {State.OK}
    assert list(found) == ["repository", "token", "Actions", "branch rules", "secrets"]


def test_a_repository_that_is_not_seen_is_the_one_finding() -> None:
    found = look(repository=404)
    assert [finding.state for finding in found.values()] == [State.MISSING]


def test_a_reading_token_is_enough_for_one_job() -> None:
    found = look(repository=REPO | {"permissions": {"push": False, "pull": True}})["token"]
    assert (found.state, "contents and pull-requests: write" in found.fix) == (State.WARNING, True)


@pytest.mark.parametrize(
    ("changed", "name", "state", "fix"),
    [
        (
            {"workflow": WORKFLOW | {"can_approve_pull_request_reviews": False}},
            "Actions",
            State.MISSING,
            "turn on",
        ),
        ({"actions": {"enabled": False}}, "Actions", State.MISSING, "Settings, Actions"),
        ({"actions": 403}, "Actions", State.UNKNOWN, ""),
        ({"workflow": 404}, "Actions", State.UNKNOWN, ""),
        ({"rules": [{"type": "creation"}]}, "branch rules", State.MISSING, "agent/**"),
        ({"rules": [{"type": "required_signatures"}]}, "branch rules", State.WARNING, "signed: true"),
        ({"rules": [{"type": "non_fast_forward"}]}, "branch rules", State.OK, ""),
        ({"secrets": {"total_count": 0, "secrets": []}}, "secrets", State.WARNING, "Settings, Secrets"),
        ({"secrets": 403}, "secrets", State.UNKNOWN, ""),
        ({"rules": 401}, "branch rules", State.UNKNOWN, ""),
    ],
)
def test_what_is_amiss_comes_with_its_fix(
    changed: dict[str, object], name: str, state: State, fix: str
) -> None:
    found = look(**changed)[name]
    assert found.state is state
    assert fix in found.fix


@pytest.mark.bubblewrap
def test_the_command_says_what_is_missing_and_how_to_mend_it(stage: Stage, tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "tidytime")
    git(root, "remote", "add", "origin", f"git@github.com:{stage.repo}.git")
    ran = stage.cli(
        "doctor", "--repo", root, GITHUB_TOKEN=stage.sample.maintainer_token, GITHUB_REPOSITORY=""
    )
    assert ran.code == 2
    assert "MISSING  model" in ran.out
    assert f"{stage.repo}, default branch main." in ran.out
    ran = stage.cli("doctor", "--repo", root, "--json", GITHUB_REPOSITORY="")
    assert {finding["name"] for finding in ran.json} >= {
        "sandbox",
        "model",
        "policy",
        "checks",
        "workflow",
        "GitHub",
    }


@pytest.mark.bubblewrap
def test_nothing_of_the_repository_is_a_command_to_the_runner(stage: Stage, tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "tidytime")
    (root / ".github" / "agent.yml").write_text('"a\\n::warning::forged": 1\n')
    ran = stage.cli("doctor", "--repo", root, GITHUB_ACTIONS="true", GITHUB_REPOSITORY="")
    assert "forged" in ran.out
    commands = [line for line in ran.out.splitlines() if line.lstrip().startswith("::warning")]
    assert commands == [] or "::stop-commands::" in ran.out
