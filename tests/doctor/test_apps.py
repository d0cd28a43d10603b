"""`doctor` on a GitHub App: each permission that it lacks, in each repository of a list, with its fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from bot.doctor.finding import State
from bot.doctor.github import without_app
from tests.support.apps import App, make_app
from tests.support.repositories import sample_repository
from tests.support.stage import CommandResult, Stage

Permissions = Mapping[str, Literal["read", "write"]]
WRITES: Permissions = {"contents": "write", "issues": "write", "pull_requests": "write"}
ALL: Permissions = WRITES | {"actions": "write", "checks": "write", "statuses": "read"}
NOTES = "riverbend/notes"


def doctor(stage: Stage, app: App, *args: str, own: str = "") -> dict[str, Any]:
    ran = asked(stage, app, *args, own=own)
    return {one["name"]: one for one in ran.json if one["name"].startswith("app")}


def asked(stage: Stage, app: App, *args: str, own: str = "") -> CommandResult:
    root = stage.folder / "checkout"
    if not root.exists():
        sample_repository(root)
    return stage.cli(
        "doctor",
        "--repo",
        root,
        "--json",
        "--no-try",
        *args,
        GITHUB_REPOSITORY=own or stage.repo,
        **app.environment,
    )


@pytest.fixture
def notes(stage: Stage) -> str:
    return stage.forge.create_repository("riverbend", "notes", private=True)


@pytest.mark.slow
def test_an_app_with_all_that_it_needs_is_fine(stage: Stage) -> None:
    found = doctor(stage, make_app(stage.forge, "riverbend", ALL))
    assert list(found) == ["app"]
    assert found["app"]["state"] == State.OK
    assert stage.repo in found["app"]["said"]


@pytest.mark.parametrize("lacking", ALL)
def test_each_permission_that_is_missing_is_named_with_its_fix(stage: Stage, lacking: str) -> None:
    granted: Permissions = {name: access for name, access in ALL.items() if name != lacking}
    found = doctor(stage, make_app(stage.forge, "riverbend", granted))
    [one] = found.values()
    assert one["name"] == f"app on {stage.repo}"
    assert one["state"] == (State.MISSING if lacking in WRITES else State.WARNING)
    assert f"`{lacking.replace('_', ' ')}: {ALL[lacking]}`" in one["said"]
    assert "under Permissions" in one["fix"]


def test_reading_is_not_writing(stage: Stage) -> None:
    [one] = doctor(stage, make_app(stage.forge, "riverbend", {**ALL, "contents": "read"})).values()
    assert (one["state"], "`contents: write`" in one["said"]) == (State.MISSING, True)


def test_each_repository_of_a_list_is_looked_at_and_needs_only_what_maintenance_does(
    stage: Stage, notes: str
) -> None:
    shut = stage.forge.create_repository("riverbend", "shut", private=True)
    app = make_app(stage.forge, "riverbend", WRITES | {"actions": "read"}, [notes, stage.repo])
    found = doctor(stage, app, "--repositories", f"{shut}, {notes},{notes}", own="riverbend/control")
    assert found["app"]["said"].endswith(f"in {notes}.")
    assert found[f"app on {shut}"]["state"] == State.MISSING
    assert "is not installed on riverbend/shut" in found[f"app on {shut}"]["said"]
    assert len(found) == 2


def test_the_list_is_the_workflows_variable(stage: Stage, notes: str) -> None:
    app = make_app(stage.forge, "riverbend", WRITES, [notes])
    root = sample_repository(stage.folder / "checkout")
    ran = stage.cli(
        "doctor", "--repo", root, "--json", "--no-try", GITHUB_REPOSITORY=stage.repo, SLASH_AGENT_REPOSITORIES=notes,
        **app.environment,
    )  # fmt: skip
    [one] = [one for one in ran.json if one["name"].startswith("app")]
    assert (one["name"], one["state"]) == (f"app on {notes}", State.WARNING)
    assert "`actions: read`" in one["said"]


def test_a_key_that_is_wrong_is_said_once_and_never_shown(stage: Stage, notes: str) -> None:
    app = make_app(stage.forge, "riverbend", ALL)
    other = make_app(stage.forge, "riverbend", ALL, slug="other")
    ran = asked(stage, App(app.id, other.key), "--repositories", f"{notes},{stage.repo}")
    [one] = [one for one in ran.json if one["name"].startswith("app")]
    assert "private key is not one of this app's" in one["said"]
    assert other.key.splitlines()[1] not in ran.output
    [one] = doctor(stage, App(app.id, "no key"), "--repositories", f"{notes},{stage.repo}").values()
    assert "no private key in PEM format" in one["said"]


def test_a_list_without_an_app_says_that_it_takes_one() -> None:
    [found] = without_app("octo/a", ["octo/A", "octo/b", "octo/c"])
    assert found.state is State.MISSING
    assert found.message == "octo/b is out of reach of the workflow's own token, and 1 more."
    assert "SLASH_AGENT_APP_ID" in found.fix
    assert without_app("octo/a", ["octo/a"]) == []
    assert without_app("octo/a", []) == []


def test_what_is_no_repository_is_named(stage: Stage, tmp_path: Path) -> None:
    ran = stage.cli("doctor", "--repo", tmp_path, "--repositories", "octo/a,b;c")
    assert ran.code == 2
    assert "'b;c' is not a repository as in owner/name" in ran.err
