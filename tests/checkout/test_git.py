"""Git as a checkout runs it, and what a checkout notes of its repository."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.checkout.clone import Source, check_out
from bot.checkout.git import CPU_LIMIT, Git, GitError, clean_environment, last_line, memory_limit
from bot.checkout.objects import blobs_at
from bot.contracts.errors import ExitCode
from tests.support.repositories import Repository, git, make_repository


def test_the_callers_environment_does_not_reach_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'alias.x=!echo leaked'")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    environment = clean_environment()
    assert not {"GIT_CONFIG_PARAMETERS", "ANTHROPIC_API_KEY", "GIT_SSL_NO_VERIFY"} & environment.keys()


@pytest.mark.parametrize("command", [["status"], ["diff"], ["ls-files", "-m"], ["diff-index", "HEAD"]])
def test_an_fsmonitor_of_the_repository_does_not_run(tmp_path: Path, command: list[str]):
    repository = Repository(tmp_path / "r")
    repository.commit(a="1")
    canary = tmp_path / "canary"
    program = repository.write("monitor", f"#!/bin/sh\ntouch {canary}\n", mode=0o755)
    repository.git("config", "core.fsmonitor", str(program))
    Git(repository.path / ".git").run(*command, work_tree=repository.path)
    assert not canary.exists()


def test_an_ext_remote_is_refused(tmp_path: Path):
    repository = Repository(tmp_path / "r")
    canary = tmp_path / "canary"
    with pytest.raises(GitError, match="not allowed"):
        Git(repository.path / ".git").run("fetch", f"ext::sh -c touch% {canary}")
    assert not canary.exists()


def test_an_error_is_one_sentence_in_gits_own_words(tmp_path: Path):
    repository = Repository(tmp_path / "r")
    with pytest.raises(GitError) as caught:
        Git(repository.path / ".git").run("rev-parse", "--verify", "nowhere")
    assert str(caught.value) == "git rev-parse failed: Needed a single revision"
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def test_an_error_does_not_show_what_the_environment_carried():
    message = last_line(b"fatal: could not use tok-123456789 for https://me:pw@host/x\n", ["tok-123456789"])
    assert message == "could not use *** for https://host/x"


def test_missing_git_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="git is not installed"):
        Git(tmp_path)


def test_a75_each_git_process_is_limited_in_memory_and_processor_time(tmp_path: Path):
    repository = Repository(tmp_path / "r")
    repository.git("config", "alias.limits", "!cat /proc/self/limits")
    output = Git(repository.path / ".git").run("limits").decode()
    for name, most in (("Max data size", memory_limit() << 20), ("Max cpu time", CPU_LIMIT)):
        assert re.search(rf"{name} +{most} +{most} ", output)


FILES = {
    "a.txt": b"one\n",
    "with space": b"x missing\n",
    "new\nline": b"two",
    "deep/er": b"",
    "binary": bytes(range(256)),
    "colon:^{}": b"three",
}


def test_contents_are_those_of_the_commit(tmp_path: Path):
    repo = make_repository(tmp_path / "r", FILES)
    (repo / "a.txt").write_text("changed")
    contents = blobs_at(
        Git(repo / ".git"), git(repo, "rev-parse", "HEAD"), [*FILES, "deep", "no/such", "a.txt\nx"]
    )
    assert contents == FILES


@pytest.mark.slow
def test_more_than_fit_into_one_question(tmp_path: Path):
    files = {f"{number}.txt": f"{number}".encode() for number in range(1201)}
    repo = make_repository(tmp_path / "r", files)
    assert blobs_at(Git(repo / ".git"), git(repo, "rev-parse", "HEAD"), files) == files


def test_no_path_however_odd_upsets_it(tmp_path_factory):  # type: ignore[no-untyped-def]  # a plain fixture
    repo = make_repository(tmp_path_factory.mktemp("odd") / "r", FILES)
    base, at = Git(repo / ".git"), git(repo, "rev-parse", "HEAD")

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.text(min_size=1, max_size=20) | st.sampled_from(["\ud800", "\udcff", ":0:a", "../a.txt"]))
    )
    def check(paths: list[str]) -> None:
        assert blobs_at(base, at, paths) == {path: FILES[path] for path in paths if path in FILES}

    check()


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
