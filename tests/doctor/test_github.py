from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import responses

from bot.doctor.finding import Finding, State
from bot.doctor.github import check_github
from bot.github.client import connect
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.repositories import git, make_repository, sample_repository
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


def check(**changed: object) -> dict[str, Finding]:
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
        mock.get(f"{API}/user", json={"login": "ann", "id": 7, "type": "User"})
        token = "github_pat_x"
        return {finding.name: finding for finding in check_github("a/b", connect(token, API), token)}


def test_a_sound_repository_has_nothing_to_mend() -> None:
    found = check()
    assert {finding.state for finding in found.values()} == {State.OK}
    assert list(found) == ["repository", "token", "token's kind", "Actions", "branch rules", "secrets"]


def test_a_repository_that_is_not_seen_is_the_one_finding() -> None:
    found = check(repository=404)
    assert [finding.state for finding in found.values()] == [State.MISSING]


def test_whoever_may_not_look_is_told_that_an_app_needs_the_setting_as_well() -> None:
    assert "A GitHub App does not make up for it" in check(actions=403)["Actions"].message


def test_a_reading_token_is_enough_for_one_job() -> None:
    found = check(repository=REPO | {"permissions": {"push": False, "pull": True}})["token"]
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
        ({"rules": [{"type": "branch_name_pattern"}]}, "branch rules", State.WARNING, "takes agent/..."),
        ({"rules": [{"type": "non_fast_forward"}]}, "branch rules", State.OK, ""),
        ({"secrets": {"total_count": 0, "secrets": []}}, "secrets", State.WARNING, "Settings, Secrets"),
        ({"secrets": 403}, "secrets", State.UNKNOWN, ""),
        ({"rules": 401}, "branch rules", State.UNKNOWN, ""),
    ],
)
def test_what_is_amiss_comes_with_its_fix(
    changed: dict[str, object], name: str, state: State, fix: str
) -> None:
    found = check(**changed)[name]
    assert found.state is state
    assert fix in found.fix


# One thing is missing on a repository that is sound otherwise: that one is named, with its fix, and no other


def no_pull_requests(stage: Stage) -> None:
    stage.forge.allow_actions_pull_requests(stage.repo, False)


def no_new_branches(stage: Stage) -> None:
    stage.forge.add_rule(stage.repo, "agent/*", "creation")


def no_pushes(stage: Stage) -> None:
    stage.forge.add_rule(stage.repo, "*", "update")


def signatures(stage: Stage) -> None:
    stage.forge.add_rule(stage.repo, "*", "required_signatures")


@pytest.mark.parametrize(
    ("miss", "name", "state", "said", "fix"),
    [
        (
            no_pull_requests,
            "Actions",
            State.MISSING,
            "A GitHub App does not make up for it",
            "of the organisation",
        ),
        (no_new_branches, "branch rules", State.MISSING, "no branch may be made", "agent/**"),
        (no_pushes, "branch rules", State.MISSING, "no branch may be pushed to", "agent/**"),
        (signatures, "branch rules", State.WARNING, "must be signed", "signed: true"),
        (None, "secrets", State.WARNING, "no secret named ANTHROPIC_API_KEY", "Settings, Secrets"),
    ],
)
def test_what_alone_is_missing_is_named_with_its_fix(
    stage: Stage, miss: Callable[[Stage], None] | None, name: str, state: State, said: str, fix: str
) -> None:
    if miss is not None:
        stage.forge.add_secret(stage.repo, "ANTHROPIC_API_KEY")
        miss(stage)
    [found] = [one for one in of_forge(stage, owners(stage)) if one.state is not State.OK]
    assert (found.name, found.state) == (name, state)
    assert said in found.message
    assert fix in found.fix


def owners(stage: Stage) -> str:
    """A fine-grained token of whoever owns the repository."""
    granted: dict[str, Any] = {
        "administration": "write",
        "contents": "write",
        "actions": "write",
        "secrets": "read",
    }
    return stage.forge.token(stage.repo.partition("/")[0], granted, repo=stage.repo)


def of_forge(stage: Stage, token: str) -> list[Finding]:
    return check_github(stage.repo, connect(token, stage.forge.api_url), token)


@pytest.mark.parametrize(
    ("login", "permissions", "state", "said", "fix"),
    [
        ("github-actions[bot]", {"contents": "write"}, State.WARNING, "(GITHUB_TOKEN) pushes", "app-id"),
        ("our-app[bot]", {"contents": "write"}, State.OK, "token of a GitHub App", ""),
        (MAINTAINER, {"contents": "write"}, State.OK, "a fine-grained personal access token", ""),
        (
            MAINTAINER,
            None,
            State.WARNING,
            "a classic personal access token. It reaches every",
            "fine-grained",
        ),
    ],
)
def test_the_tokens_kind_is_said_and_what_follows(
    stage: Stage, login: str, permissions: Any, state: State, said: str, fix: str
) -> None:
    stage.forge.add_user(login, kind="Bot" if login.endswith("[bot]") else "User")
    token = stage.forge.token(login, permissions, repo=stage.repo if permissions else None)
    [found] = [one for one in of_forge(stage, token) if one.name == "token's kind"]
    assert found.state is state
    assert said in found.message
    assert fix in found.fix
    assert token not in str(found)


def test_a_token_that_cannot_push_is_named_with_what_publish_needs(stage: Stage) -> None:
    token = stage.forge.token(REPORTER)
    [found] = [one for one in of_forge(stage, token) if one.name == "token"]
    assert found.state is State.WARNING
    assert "contents and pull-requests: write" in found.fix


@pytest.mark.bubblewrap
def test_the_command_says_what_is_missing_and_how_to_mend_it(stage: Stage, tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "tidytime")
    git(root, "remote", "add", "origin", f"git@github.com:{stage.repo}.git")
    ran = stage.cli(
        "doctor", "--repo", root, GITHUB_TOKEN=stage.sample.maintainer_token, GITHUB_REPOSITORY=""
    )
    assert ran.code == 75
    assert ran.out.startswith("MISSING  model: There is no key")
    assert ran.out.splitlines()[-1].startswith("✘ 2 things missing")
    assert f"{stage.repo}, default branch main." in ran.out
    ran = stage.cli("doctor", "--repo", root, "--json", GITHUB_REPOSITORY="")
    assert {finding["name"] for finding in ran.json} >= {
        "sandbox",
        "model",
        "policy",
        "check tests",
        "workflow",
        "GitHub",
    }


CHECKS = """\
version: 1
checks:
  - {name: good, command: python3 -m unittest test_a.Good}
  - {name: bad, command: python3 -m unittest test_a.Bad}
  - {name: "::warning::x", command: ./absent/pytest}
"""
TESTS = """\
import unittest
class Good(unittest.TestCase):
    def test_it(self): pass
class Bad(unittest.TestCase):
    def test_it(self): self.fail("as before")
"""


@pytest.mark.bubblewrap
def test_each_check_is_run_once_and_its_result_said(stage: Stage, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "a", {".github/agent.yml": CHECKS, "test_a.py": TESTS})
    ran = stage.cli("doctor", "--repo", root, "--json", GITHUB_ACTIONS="true", GITHUB_REPOSITORY="")
    found = {one["name"]: one for one in ran.json if one["name"].startswith("check")}
    good, bad, absent = found.values()
    assert (good["state"], good["fix"]) == (State.OK, "")
    assert good["said"].startswith("`python3 -m unittest test_a.Good`: passed, 1 test, ")
    assert bad["state"] == State.WARNING
    assert bad["said"].endswith(": FAILED (failures=1)")
    assert absent["state"] == State.MISSING
    assert absent["said"].endswith("./absent/pytest: No such file or directory")
    assert '.venv/bin/python -m pip install -e . pytest", egress: [python]}]' in absent["fix"]
    assert "  good: passed, " in ran.err
    assert not [line for line in ran.err.splitlines() if line.lstrip().startswith("::warning")]


@pytest.mark.bubblewrap
def test_checks_are_not_run_if_nobody_wants_it_or_there_is_no_commit(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n")
    for option, why in (("--no-try", "not tried."), ("--json", "is not in a git repository")):
        ran = stage.cli("doctor", "--repo", tmp_path, "--json", option, GITHUB_REPOSITORY="")
        [found] = [one for one in ran.json if one["name"].startswith("check")]
        assert found["state"] == State.UNKNOWN
        assert why in found["said"]


@pytest.mark.bubblewrap
def test_nothing_of_the_repository_is_a_command_to_the_runner(stage: Stage, tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "tidytime")
    (root / ".github" / "agent.yml").write_text('"a\\n::warning::forged": 1\n')
    ran = stage.cli("doctor", "--repo", root, GITHUB_ACTIONS="true", GITHUB_REPOSITORY="")
    assert "forged" in ran.out
    commands = [line for line in ran.out.splitlines() if line.lstrip().startswith("::warning")]
    assert commands == [] or "::stop-commands::" in ran.out
