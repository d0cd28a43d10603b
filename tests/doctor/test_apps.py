"""`doctor` on a GitHub App: each permission that it lacks, in each repository of a list, with its fix."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pytest

from bot.doctor.finding import Finding, State
from bot.doctor.github import check_app, without_app
from tests.support.apps import App, make_app
from tests.support.repositories import sample_repository
from tests.support.stage import CommandResult, Stage

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
