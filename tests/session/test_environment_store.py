"""The key of a prepared environment: setup runs code of the repository, so every file of it is an input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.checkout.clone import Checkout, Source, prepare
from bot.session.context.base import Preparation
from bot.session.workspaces import environment_store as stores
from bot.session.workspaces.environment_store import EnvironmentRecord, EnvironmentStore, environment_store
from tests.support.repositories import commit_all, make_repository

FILES = {"setup.py": "", "helper.py": "", "docs/build.cjs": "", ".github/step.sh": ""}
MACHINE = {"ImageOS": "ubuntu24", "ImageVersion": "20261101.1", "PATH": "/opt/python/3.12.4/bin:/usr/bin"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


def store(
    repo: Path, folder: Path, repository: str = "octo/app", mount: str = "/w", **more: str
) -> EnvironmentStore:
    checkout: Checkout = prepare(Source(str(repo), "HEAD"), folder)
    variables = {
        "SLASH_AGENT_PREPARED": str(folder / "prepared"),
        "GITHUB_REPOSITORY_ID": "7",
        **MACHINE,
        **more,
    }
    found = environment_store(
        Preparation(checkout.base_sha, (), ()), checkout, Path(mount), variables, repository
    )
    assert found is not None
    return found


def test_the_same_tree_on_the_same_image_has_the_same_key(repo: Path, tmp_path: Path) -> None:
    before = store(repo, tmp_path / "1").key
    (repo / "new").write_text("")
    commit_all(repo)
    (repo / "new").unlink()
    commit_all(repo)
    assert store(repo, tmp_path / "2").key == before


@pytest.mark.parametrize("name", FILES)
def test_a89_any_changed_file_is_another_key(repo: Path, tmp_path: Path, name: str) -> None:
    before = store(repo, tmp_path / "1").key
    (repo / name).write_text("# changed\n")
    commit_all(repo)
    assert store(repo, tmp_path / "2").key != before


@pytest.mark.parametrize(
    "other",
    [
        {"repository": "octo/other"},
        {"mount": "/elsewhere"},
        {"GITHUB_REPOSITORY_ID": "8"},
        {"ImageOS": "ubuntu22"},
        {"ImageVersion": "20261115.1"},
        {"PATH": "/opt/python/3.12.5/bin:/usr/bin"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a89_another_repository_or_image_is_another_key(
    repo: Path, tmp_path: Path, other: dict[str, str]
) -> None:
    assert store(repo, tmp_path / "1", **other).key != store(repo, tmp_path / "2").key


def test_a89_an_entry_of_an_older_format_is_not_read(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stores, "_FORMAT", 1)
        old = store(repo, tmp_path / "1")
    old.folder.root.mkdir()
    old.write(EnvironmentRecord(frozenset({"a"})))
    assert old.read() == EnvironmentRecord(frozenset({"a"}))
    new = store(repo, tmp_path / "2")
    new.folder.root.mkdir()
    (new.folder.root / "prepared.json").write_text((old.folder.root / "prepared.json").read_text())
    assert json.loads((new.folder.root / "prepared.json").read_text())["made"] == ["a"]
    assert new.read() is None
