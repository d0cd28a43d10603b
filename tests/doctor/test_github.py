import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import responses

from bot.doctor.finding import Finding, State
from bot.doctor.github import check_app, check_github, without_app
from bot.github.client import connect
from bot.policy.load import load_policy
from slash_forge.bundled import MAINTAINER
from tests.support.apps import App, make_app
from tests.support.repositories import git, make_repository, sample_repository
from tests.support.stage import CommandResult, Stage

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
NO_PULLS = WORKFLOW | {"can_approve_pull_request_reviews": False}
NO_SECRETS: dict[str, Any] = {"total_count": 0, "secrets": []}
MISSING, WARNING, UNKNOWN = State.MISSING, State.WARNING, State.UNKNOWN


def rule(kind: str) -> dict[str, object]:
    return {"rules": [{"type": kind}]}


def requires(*names: str) -> list[object]:
    checks = {"required_status_checks": [{"context": name} for name in names]}
    return [{"type": "required_status_checks", "parameters": checks}]


def protected(*names: str) -> dict[str, object]:
    contexts = {"enforcement_level": "everyone", "contexts": names}
    return {
        "name": "main",
        "protected": True,
        "protection": {"enabled": True, "required_status_checks": contexts},
    }


def rulesets(*targets: str) -> dict[str, object]:
    active = [{"target": one, "name": f"the {one} one", "enforcement": "active"} for one in targets]
    return {"rulesets": [*active, {"target": "actions", "name": "a trial", "enforcement": "evaluate"}]}


def check(**changed: object) -> dict[str, Finding]:
    """The findings where GitHub answers as for a sound repository, but for what is `changed`: a body or a status."""
    answers: dict[str, tuple[str, object]] = {
        "repository": ("", REPO),
        "actions": ("/actions/permissions", ACTIONS),
        "workflow": ("/actions/permissions/workflow", WORKFLOW),
        "rules": ("/rules/branches/agent%2Fdoctor", []),
        "base": ("/rules/branches/main", []),
        "branch": ("/branches/main", {"name": "main", "protected": False}),
        "signatures": ("/branches/main/protection/required_signatures", {"enabled": False}),
        "rulesets": ("/rulesets", []),
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
        return {
            finding.name: finding
            for finding in check_github(connect(token, API, "a/b"), token, load_policy(None))
        }


def test_a_sound_repository_has_nothing_to_mend():
    found = check()
    assert {finding.state for finding in found.values()} == {State.OK}
    assert list(found) == [
        "repository", "token", "token's kind", "Actions", "branch rules", "required",
        "execution protections", "secrets",
    ]  # fmt: skip


def test_a_repository_that_is_not_seen_is_the_one_finding():
    found = check(repository=404)
    assert [finding.state for finding in found.values()] == [State.MISSING]


@pytest.mark.parametrize(
    ("changed", "name", "state", "said", "fix"),
    [
        ({"repository": REPO | {"permissions": {"pull": True}}}, "token", WARNING, "", "pull-requests: write"),
        ({"workflow": NO_PULLS}, "Actions", MISSING, "A GitHub App does not make up for it", "turn on"),
        ({"workflow": NO_PULLS}, "Actions", MISSING, "", "of the organisation"),
        ({"actions": {"enabled": False}}, "Actions", MISSING, "", "Settings, Actions"),
        ({"actions": 403}, "Actions", UNKNOWN, "A GitHub App does not make up for it", ""),
        ({"workflow": 404}, "Actions", UNKNOWN, "", ""),
        (rule("creation"), "branch rules", MISSING, "no branch may be made", "agent/**"),
        (rule("update"), "branch rules", MISSING, "no branch may be pushed to", "agent/**"),
        (rule("required_signatures"), "branch rules", WARNING, "must be signed", "signed: true"),
        (rule("branch_name_pattern"), "branch rules", WARNING, "", "takes agent/..."),
        (rule("non_fast_forward"), "branch rules", State.OK, "", ""),
        ({"secrets": NO_SECRETS}, "secrets", WARNING, "no secret named ANTHROPIC_API_KEY", "Settings, Secrets"),
        ({"secrets": 403}, "secrets", UNKNOWN, "", ""),
        ({"base": requires("ci", "unit")}, "required", State.OK, "Required checks on main: ci, unit.", ""),
        ({"branch": protected("ci")}, "required", State.OK, "Required checks on main: ci.", ""),
        ({"base": rule("required_signatures")["rules"]}, "required", WARNING, "must be signed", "signed: true"),
        ({"branch": protected(), "signatures": {"enabled": True}}, "required", WARNING, "signed", "signed: true"),
        ({"branch": protected("ci"), "signatures": 404}, "required", UNKNOWN, "ci", "administration: read"),
        ({"base": 403}, "required", UNKNOWN, "", ""),
        (
            rulesets("branch", "actions"),
            "execution protections",
            WARNING,
            "workflows: the actions one",
            "rulesets?inc",
        ),
        (rulesets("branch", "tag", "push"), "execution protections", State.OK, "", ""),
        ({"rulesets": 404}, "execution protections", UNKNOWN, "", ""),
        ({"rules": 401}, "branch rules", UNKNOWN, "", ""),
    ],
)  # fmt: skip
def test_what_is_amiss_comes_with_its_fix(
    changed: dict[str, object], name: str, state: State, said: str, fix: str
):
    """It alone: all else is as in a sound repository."""
    findings = check(**changed)
    found = findings.pop(name)
    assert found.state is state
    assert said in found.message
    assert fix in found.fix
    assert {one.state for one in findings.values()} == {State.OK}


@pytest.mark.parametrize(
    ("login", "permissions", "state", "said", "fix"),
    [
        ("github-actions[bot]", {"contents": "write"}, State.WARNING, "(GITHUB_TOKEN) pushes", "app-id"),
        ("our-app[bot]", {"contents": "write"}, State.OK, "token of a GitHub App", ""),
        (MAINTAINER, {"contents": "write"}, State.OK, "a fine-grained personal access token", ""),
        (MAINTAINER, None, State.WARNING, "a classic personal access token. It reaches every", "fine-grained"),
    ],
)  # fmt: skip
def test_the_tokens_kind_is_said_and_what_follows(
    stage: Stage, login: str, permissions: Any, state: State, said: str, fix: str
):
    stage.forge.add_user(login, kind="Bot" if login.endswith("[bot]") else "User")
    token = stage.forge.token(login, permissions, repo=stage.repo if permissions else None)
    findings = check_github(connect(token, stage.forge.api_url, stage.repo), token, load_policy(None))
    [found] = [one for one in findings if one.name == "token's kind"]
    assert found.state is state
    assert said in found.message
    assert fix in found.fix
    assert token not in str(found)


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_command_says_what_is_missing_and_how_to_mend_it(stage: Stage, tmp_path: Path):
    root = sample_repository(tmp_path / "tidytime")
    git(root, "remote", "add", "origin", f"git@github.com:{stage.repo}.git")
    ran = stage.cli(
        "doctor", "--repo", root, GITHUB_TOKEN=stage.sample.maintainer_token, GITHUB_REPOSITORY=""
    )
    assert ran.code == 75
    assert ran.out.startswith("  MISSING   model: There is no key")
    assert ran.out.splitlines()[-1].startswith("✘ 2 things missing")
    assert f"{stage.repo}, default branch main." in ran.out
    ran = stage.cli("doctor", "--repo", root, "--json", GITHUB_REPOSITORY="")
    assert {finding["name"] for finding in ran.json} >= {
        "sandbox", "model", "policy", "check tests", "workflow", "GitHub",
    }  # fmt: skip


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
def test_each_check_is_run_once_and_its_result_said(stage: Stage, tmp_path: Path):
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
    assert "  good ...\n" in ran.err
    assert not [line for line in ran.err.splitlines() if line.lstrip().startswith("::warning")]


@pytest.mark.bubblewrap
def test_checks_are_not_run_if_nobody_wants_it_or_there_is_no_commit(stage: Stage, tmp_path: Path):
    (tmp_path / "go.mod").write_text("module x\n")
    for option, why in (("--no-try", "not tried."), ("--json", "is not in a git repository")):
        ran = stage.cli("doctor", "--repo", tmp_path, "--json", option, GITHUB_REPOSITORY="")
        [found] = [one for one in ran.json if one["name"].startswith("check")]
        assert found["state"] == State.UNKNOWN
        assert why in found["said"]
        assert "is not in a git repository" in ran.json[0]["said"]


@pytest.mark.bubblewrap
def test_nothing_of_the_repository_is_a_command_to_the_runner(stage: Stage, tmp_path: Path):
    root = sample_repository(tmp_path / "tidytime")
    (root / ".github" / "agent.yml").write_text('"a\\n::warning::forged": 1\n')
    ran = stage.cli("doctor", "--repo", root, GITHUB_ACTIONS="true", GITHUB_REPOSITORY="")
    assert "forged" in ran.out
    commands = [line for line in ran.out.splitlines() if line.lstrip().startswith("::warning")]
    assert commands == [] or "::stop-commands::" in ran.out


# Apps


Permissions = Mapping[str, Literal["read", "write"]]
WRITES: Permissions = {"contents": "write", "issues": "write", "pull_requests": "write"}
ALL: Permissions = WRITES | {"actions": "write", "checks": "write", "statuses": "read"}
OWN, NOTES = "riverbend/tidytime", "riverbend/notes"


def found(permissions: Permissions, repository: str = OWN, listed: Sequence[str] = ()) -> Finding:
    [finding] = check_app(OWN, listed or [repository], lambda name: permissions)
    return finding


@pytest.mark.parametrize("lacking", ALL)
def test_each_permission_that_is_missing_is_named_with_its_fix(lacking: str):
    finding = found({name: access for name, access in ALL.items() if name != lacking})
    assert finding.name == f"app on {OWN}"
    assert finding.state is (State.MISSING if lacking in WRITES else State.WARNING)
    assert f"`{lacking.replace('_', ' ')}: {ALL[lacking]}`" in finding.message
    assert "under Permissions" in finding.fix


def test_reading_is_not_writing_and_another_repository_needs_only_what_maintenance_does():
    finding = found({**ALL, "contents": "read"})
    assert (finding.state, "`contents: write`" in finding.message) == (State.MISSING, True)
    assert found(WRITES | {"actions": "read"}, NOTES).state is State.OK
    finding = found(WRITES, NOTES)
    assert (finding.name, finding.state) == (f"app on {NOTES}", State.WARNING)
    assert "`actions: read`" in finding.message


def test_each_repository_of_a_list_is_looked_at_by_name(stage: Stage):
    notes, shut = (
        stage.forge.create_repository("riverbend", name, private=True) for name in ("notes", "shut")
    )
    app = make_app(stage.forge, "riverbend", WRITES | {"actions": "read"}, [notes, stage.repo])
    ran = doctor(stage, app, "riverbend/control", SLASH_AGENT_REPOSITORIES=f"{shut}, {notes},{notes}")
    rows = {one["name"]: one for one in ran.json if one["name"].startswith("app")}
    assert rows["app"]["said"].endswith(f"in {notes}.")
    assert rows[f"app on {shut}"]["state"] == State.MISSING
    assert "is not installed on riverbend/shut" in rows[f"app on {shut}"]["said"]
    assert len(rows) == 2


def test_a_key_that_is_wrong_is_said_once_and_never_shown(stage: Stage):
    app = make_app(stage.forge, "riverbend", ALL)
    other = make_app(stage.forge, "riverbend", ALL, slug="other")
    ran = doctor(stage, App(app.id, other.key), stage.repo, SLASH_AGENT_REPOSITORIES=f"{NOTES},{stage.repo}")
    [one] = [one for one in ran.json if one["name"].startswith("app")]
    assert "private key is not one of this app's" in one["said"]
    assert other.key.splitlines()[1] not in ran.output


def doctor(stage: Stage, app: App, own: str, **environment: str) -> CommandResult:
    root = sample_repository(stage.folder / "checkout")
    return stage.cli(
        "doctor", "--repo", root, "--json", "--no-try", GITHUB_REPOSITORY=own, **app.environment, **environment
    )  # fmt: skip


def test_a_list_without_an_app_says_that_it_takes_one():
    [found] = without_app("octo/a", ["octo/A", "octo/b", "octo/c"])
    assert found.state is State.MISSING
    assert found.message == "octo/b is out of reach of the workflow's own token, and 1 more."
    assert "SLASH_AGENT_APP_ID" in found.fix
    assert without_app("octo/a", ["octo/a"]) == []
    assert without_app("octo/a", []) == []
