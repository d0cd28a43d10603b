"""Which folders of a checkout are used as they are, and which never."""

import base64
import hashlib
import os
from pathlib import Path

import pytest

from bot.checkout.git import Git
from bot.workspace.dependencies import environment_folders
from tests.support.files import write_file
from tests.support.repositories import git, make_repository

FILES = {
    ".gitignore": ".venv/\nnode_modules\n/vendor/\n",
    "pyproject.toml": "",
    "package.json": "{}",
    "web/package.json": "{}",
    "src/app.py": "",
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path.resolve() / "app", FILES)


def virtual(folder: Path) -> Path:
    write_file(folder / "pyvenv.cfg", "home = /usr/bin\n")
    return folder


def found(top: Path, **variables: str) -> dict[str, str]:
    """The folder of programs on PATH, by the place in the tree."""
    tracked = git(top, "ls-files").splitlines()
    folders = environment_folders(top, Git(top / ".git"), tracked, variables)
    return {one.path or str(one.source): one.programs for one in folders if not one.unshown}


def left_out(top: Path, **variables: str) -> dict[str, str]:
    """Why an environment is not shown, by its place."""
    folders = environment_folders(top, Git(top / ".git"), git(top, "ls-files").splitlines(), variables)
    return {one.path or str(one.source): one.unshown for one in folders if one.unshown}


def test_ignored_folders_at_the_root_and_beside_manifests_are_found(top: Path):
    virtual(top / ".venv")
    for name in ("node_modules/a", "web/node_modules/b", "vendor/c", "src/node_modules"):
        (top / name).mkdir(parents=True)
    assert found(top) == {".venv": "bin", "node_modules": ".bin", "vendor": "", "web/node_modules": ""}


def test_a_folder_that_git_does_not_ignore_is_used_only_if_it_is_marked_as_an_environment(top: Path):
    (top / ".nox").mkdir()
    assert found(top) == {}
    virtual(top / "venv")
    assert found(top) == {"venv": "bin"}


def test_nor_one_that_holds_a_file_of_the_commit(top: Path):
    (top / "vendor").mkdir()
    (top / "vendor/kept.go").touch()
    git(top, "add", "--force", "vendor/kept.go")
    assert found(top) == {}


def test_nor_a_link(top: Path, tmp_path: Path):
    (tmp_path / "secrets").mkdir()
    (top / "node_modules").symlink_to(tmp_path / "secrets")
    (top / "web/node_modules").symlink_to("../../secrets")
    virtual(top / ".venv")
    assert found(top) == {".venv": "bin"}
    reason = "it is a link, which is not followed"
    assert left_out(top) == {"node_modules": reason, "web/node_modules": reason}


def test_what_others_can_write_is_not_shown_unless_another_environment_is_active(top: Path, tmp_path: Path):
    virtual(top / ".venv").chmod(0o777)
    active = str(virtual(tmp_path.resolve() / "active"))
    assert left_out(top) == {".venv": f"others can write in {top}/.venv"}
    assert found(top, RUNNER_TEMP="/runner") == {".venv": "bin"}
    assert (found(top, VIRTUAL_ENV=active), left_out(top, VIRTUAL_ENV=active)) == ({active: "bin"}, {})
    (top / ".venv/pyvenv.cfg").unlink()
    (tmp_path / "active").chmod(0o777)
    assert left_out(top, VIRTUAL_ENV=active) == {active: f"others can write in {active}"}


def test_an_environment_in_a_place_that_is_never_shown_is_named(top: Path, monkeypatch: pytest.MonkeyPatch):
    """Its programs are first on PATH, and the system's would take their place."""
    monkeypatch.setenv("HOME", str(virtual(top.parent / "home")))
    home = str(top.parent / "home")
    assert left_out(top, VIRTUAL_ENV=home) == {home: "nothing in its place is ever shown"}


def test_nor_a_folder_of_settings_that_is_called_like_an_environment(top: Path):
    (top / ".venv").mkdir()
    assert found(top) == {}


def test_what_ignores_itself_counts(top: Path):
    write_file(top / "vendor/.gitignore", "*\n")
    (top / ".tox").mkdir()
    assert list(found(top)) == ["vendor"]


def test_the_active_environment_comes_first_and_only_one_is_on_path(top: Path):
    for name in (".venv", "venv"):
        (virtual(top / name) / ".gitignore").write_text("*\n")
    assert found(top) == {".venv": "bin", "venv": ""}
    assert found(top, VIRTUAL_ENV=str(top / "venv")) == {".venv": "", "venv": "bin"}


def test_an_environment_outside_is_used_if_there_is_none_inside(top: Path, tmp_path: Path):
    outside = virtual(tmp_path / "outside")
    assert found(top, VIRTUAL_ENV=str(outside)) == {str(outside): "bin"}
    assert found(top, CONDA_PREFIX=str(outside), CONDA_DEFAULT_ENV="base") == {}
    assert found(top, CONDA_PREFIX=str(outside), CONDA_DEFAULT_ENV="app") == {str(outside): "bin"}
    virtual(top / ".venv")
    assert found(top, VIRTUAL_ENV=str(outside)) == {".venv": "bin"}


def test_poetry_and_pdm_keep_theirs_elsewhere(top: Path, tmp_path: Path):
    mark = base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(top)).digest()).decode()[:8]
    poetry = virtual(tmp_path / f"cache/pypoetry/virtualenvs/app-{mark}-py3.11")
    virtual(tmp_path / "cache/pypoetry/virtualenvs/other-AAAAAAAA-py3.11")
    assert found(top, XDG_CACHE_HOME=str(tmp_path / "cache")) == {str(poetry): "bin"}
    pdm = virtual(tmp_path / "pdm")
    (top / ".pdm-python").write_text(f"{pdm}/bin/python\n")
    assert found(top) == {str(pdm): "bin"}


def test_a_pointer_of_the_commit_or_to_no_environment_leads_nowhere(top: Path, tmp_path: Path):
    (tmp_path / "home").mkdir()
    (top / ".pdm-python").write_text(f"{tmp_path}/home/bin/python\n")
    assert found(top) == {}
    virtual(tmp_path / "pdm")
    (top / ".pdm-python").write_text(f"{tmp_path}/pdm/bin/python\n")
    git(top, "add", ".pdm-python")
    assert found(top) == {}


def test_a_submodule_that_was_fetched_is_shown_and_one_that_was_not_is_no_folder(top: Path, tmp_path: Path):
    data = make_repository(tmp_path / "data", {"a.json": "{}"})
    for name in ("tests/data", "tests/more"):
        git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(data), name)
    git(top, "submodule", "deinit", "-q", "-f", "tests/more")
    tracked = git(top, "ls-files").splitlines()
    [folder] = environment_folders(top, Git(top / ".git"), tracked, {})
    assert (folder.path, folder.programs) == ("tests/data", "")
    assert list(folder.credentials()) == [".git"]
