"""Which repository on GitHub a checkout's remotes, and a person's words, name."""

from pathlib import Path

import pytest

from bot.checkout.github_remotes import (
    ThreadName,
    github_remotes,
    origin_repository,
    parse_thread_name,
    remote_of,
)
from bot.contracts.errors import UsageError
from tests.support.repositories import git, make_repository

HERE = "https://github.com/octo/hello"


@pytest.mark.parametrize(
    ("url", "host", "repository"),
    [
        ("https://github.com/octo/hello.git", "github.com", "octo/hello"),
        ("https://GitHub.com/octo/hello/", "github.com", "octo/hello"),
        ("git@github.com:octo/hello.git", "github.com", "octo/hello"),
        ("ssh://git@ssh.github.com:443/octo/hello.git", "github.com", "octo/hello"),
        ("git@acme.ghe.com:octo/hello", "acme.ghe.com", "octo/hello"),
        ("https://git.example.org:8443/octo/hello", "git.example.org:8443", "octo/hello"),
        ("https://me:secret@github.com/octo/hello", "github.com", "octo/hello"),
        # Addresses that read as GitHub's and lead elsewhere.
        ("https://github.com@evil.example/octo/hello", "evil.example", "octo/hello"),
        ("https://github.com:x@evil.example/octo/hello", "evil.example", "octo/hello"),
        ("https://evil.example/github.com/octo/hello", "", ""),
        ("https://evil.example#@github.com/octo/hello", "", ""),
        ("https://evil.example\\@github.com/octo/hello", "github.com", "octo/hello"),
        ("https://github.com/octo/hello?x=https://github.com/a/b", "github.com", "octo/hello"),
        ("https://github.com/../hello", "", ""),
        ("ext::sh -c touch% x", "", ""),
        ("/home/me/octo/hello", "", ""),
        ("https://[github.com/octo/hello", "", ""),
        ("file:///octo/hello", "", ""),
    ],
)
def test_a136_an_address_of_a_remote(tmp_path: Path, url: str, host: str, repository: str):
    repo = make_repository(tmp_path / "repo", {"a": "a"})
    git(repo, "config", "remote.origin.url", url)
    found = [(one.host, one.repository, one.server_url) for one in github_remotes(repo)]
    assert found == ([(host, repository, f"https://{host}")] if host else [])
    assert origin_repository(repo) == repository


def test_plain_http_stays_on_this_machine(tmp_path: Path):
    repo = make_repository(tmp_path / "repo", {"a": "a"})
    git(repo, "config", "remote.origin.url", "http://127.0.0.1:8080/octo/hello")
    git(repo, "config", "remote.other.url", "http://github.com/octo/hello")
    assert [one.server_url for one in github_remotes(repo)] == ["http://127.0.0.1:8080", "https://github.com"]


@pytest.mark.parametrize(
    ("words", "number"),
    [("12", 12), ("#12", 12), (f"{HERE}/issues/12#issuecomment-1", 12), (f" {HERE}/pull/12/files ", 12)]
    + [(words, 0) for words in ("", "0", "fix 12", "#12 and #13", "12.5", "1e3", "#", "1234567890")],
)
def test_words_that_name_a_thread(words: str, number: int):
    thread = parse_thread_name(words)
    assert (thread.number if thread else 0) == number


@pytest.mark.parametrize(
    ("remotes", "thread", "name"),
    [
        ({"origin": f"{HERE}.git"}, ThreadName(1), "origin"),
        ({"fork": "git@github.com:me/hello", "upstream": HERE, "origin": "git@github.com:me/hello"}, None, "upstream"),
        ({"mine": HERE}, ThreadName(1), "mine"),
        ({"a": HERE, "b": "https://github.com/me/hello"}, ThreadName(1), "give the whole address"),
        ({"a": HERE, "b": "https://github.com/me/hello"}, ThreadName(1, "https://github.com/Me/Hello/pull/1"), "b"),
        ({"origin": HERE}, ThreadName(1, "https://github.com/other/hello/issues/1"), "has as a remote"),
        ({"origin": HERE}, ThreadName(1, "https://evil.example/octo/hello/issues/1"), "has as a remote"),
        ({"origin": HERE}, ThreadName(1, "https://github.com@evil.example/octo/hello/issues/1"), "has as a remote"),
        ({}, ThreadName(1), "has no remote on GitHub"),
    ],
)  # fmt: skip
def test_a136_the_remote_that_a_thread_belongs_to(
    tmp_path: Path, remotes: dict[str, str], thread: ThreadName | None, name: str
):
    repo = make_repository(tmp_path / "repo", {"a": "a"})
    for remote, url in remotes.items():
        git(repo, "config", f"remote.{remote}.url", url)
    if " " in name:
        with pytest.raises(UsageError, match=name):
            remote_of(repo, thread)
    else:
        assert remote_of(repo, thread).name == name
