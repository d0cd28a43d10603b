import re
import resource
from pathlib import Path

import pytest

from bot.checkout.git import Git, GitError, clean_environment, last_line, process_limits
from bot.contracts.errors import ExitCode
from tests.support.source_repository import Repository


def test_the_callers_environment_does_not_reach_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'alias.x=!echo leaked'")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    environment = clean_environment()
    assert not {"GIT_CONFIG_PARAMETERS", "ANTHROPIC_API_KEY", "GIT_SSL_NO_VERIFY"} & environment.keys()


@pytest.mark.parametrize("command", [["status"], ["diff"], ["ls-files", "-m"], ["diff-index", "HEAD"]])
def test_an_fsmonitor_of_the_repository_does_not_run(tmp_path: Path, command: list[str]) -> None:
    repository = Repository(tmp_path / "r")
    repository.commit(a="1")
    canary = tmp_path / "canary"
    program = repository.write("monitor", f"#!/bin/sh\ntouch {canary}\n", mode=0o755)
    repository.git("config", "core.fsmonitor", str(program))
    Git(repository.path / ".git").run(*command, work_tree=repository.path)
    assert not canary.exists()


def test_an_ext_remote_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    canary = tmp_path / "canary"
    with pytest.raises(GitError, match="not allowed"):
        Git(repository.path / ".git").run("fetch", f"ext::sh -c touch% {canary}")
    assert not canary.exists()


def test_an_error_is_one_sentence_in_gits_own_words(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    with pytest.raises(GitError) as caught:
        Git(repository.path / ".git").run("rev-parse", "--verify", "nowhere")
    assert str(caught.value) == "git rev-parse failed: Needed a single revision"
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def test_an_error_does_not_show_what_the_environment_carried() -> None:
    message = last_line(b"fatal: could not use tok-123456789 for https://me:pw@host/x\n", ["tok-123456789"])
    assert message == "could not use *** for https://host/x"


def test_missing_git_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match="git is not installed"):
        Git(tmp_path)


def test_a75_each_git_process_is_limited_in_memory_and_processor_time(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    repository.git("config", "alias.limits", "!cat /proc/self/limits")
    output = Git(repository.path / ".git").run("limits").decode()
    for name, most in (("Max data size", process_limits()[resource.RLIMIT_DATA]), ("Max cpu time", 3600)):
        assert re.search(rf"{name} +{most} +{most} ", output)
