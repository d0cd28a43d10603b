from pathlib import Path

import pytest

from bot.checkout.clone import Source, check_out
from tests.support.repositories import Repository


def notes(repository: Repository, tmp_path: Path, **options: object) -> tuple[str, ...]:
    return check_out(Source(str(repository.path), "HEAD"), tmp_path / "run", **options).notes  # type: ignore[arg-type]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "source")
    repository.commit(a="1")
    return repository


def test_an_ordinary_repository_has_nothing_to_say(repository: Repository, tmp_path: Path):
    assert notes(repository, tmp_path) == ()


def test_submodules_are_named(repository: Repository, tmp_path: Path):
    for name in ("libs/one", "libs/two"):
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},{name}")
    repository.git("commit", "-q", "-m", "Submodules")
    (note,) = notes(repository, tmp_path)
    assert note.startswith("Submodules were not fetched: `libs/one`, `libs/two`.")
    assert list((tmp_path / "run/tree/libs/one").iterdir()) == []


def test_lfs_is_named(repository: Repository, tmp_path: Path):
    repository.commit(**{"art/.gitattributes": "*.psd filter=lfs\n", "art/a.psd": "version https://git-lfs"})
    (note,) = notes(repository, tmp_path)
    assert note.startswith("Git LFS contents were not fetched")


@pytest.mark.parametrize(
    ("name", "content", "tool"),
    [
        ("pyproject.toml", '[build-system]\nrequires = ["setuptools-scm>=8"]\n', "setuptools-scm"),
        ("setup.py", "setup(use_scm_version=True)\n", "use_scm_version"),
        ("pyproject.toml", '[build-system]\nrequires = ["hatchling", "hatch-vcs"]\n', "hatch-vcs"),
        ("setup.cfg", "[versioneer]\nVCS = git\n", "versioneer"),
        ("pyproject.toml", "[tool.poetry-dynamic-versioning]\nenable = true\n", "poetry-dynamic-versioning"),
    ],
)
def test_a_version_tool_without_history_is_named_with_the_key(
    repository: Repository, tmp_path: Path, name: str, content: str, tool: str
):
    repository.commit(**{name: content})
    (note,) = notes(repository, tmp_path)
    assert note.startswith(f"{tool} takes the version from git history")
    assert "`history`" in note


def test_a_version_tool_that_finds_a_tag_is_no_news(repository: Repository, tmp_path: Path):
    repository.git("tag", "v1.0")
    repository.commit(**{"pyproject.toml": 'requires = ["setuptools-scm"]\n'})
    assert notes(repository, tmp_path) == ()


def test_a_version_tool_with_history_is_no_news(repository: Repository, tmp_path: Path):
    repository.commit(**{"pyproject.toml": 'requires = ["setuptools-scm"]\n'})
    assert notes(repository, tmp_path, history="full") == ()


def test_a_configuration_file_that_is_a_link_is_not_followed(repository: Repository, tmp_path: Path):
    (tmp_path / "elsewhere").write_text("setuptools-scm")
    (repository.path / "setup.py").symlink_to(tmp_path / "elsewhere")
    repository.commit()
    assert notes(repository, tmp_path) == ()
