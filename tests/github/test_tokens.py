"""Kinds of tokens; the person's own goes to the host that it is for, and `gh` starts from a fixed place only."""

from pathlib import Path

import pytest

from bot.contracts.errors import UsageError
from bot.github.tokens import TokenKind, api_url_of, own_token, token_kind
from tests.support.files import write_file

TOKENS = {"GH_TOKEN": "of-github", "GH_ENTERPRISE_TOKEN": "of-server", "GH_HOST": "git.example.org"}


def gh(folder: Path, script: str) -> Path:
    folder.mkdir(mode=0o755)
    program = folder / "gh"
    write_file(program, f"#!/bin/sh\n{script}\n", 0o755)
    return folder


@pytest.mark.parametrize(
    ("host", "environment", "token"),
    [
        ("github.com", TOKENS, "of-github"),
        ("acme.ghe.com", TOKENS, "of-github"),
        ("github.com", {"GITHUB_TOKEN": "of-github"}, "of-github"),
        ("git.example.org", TOKENS, "of-server"),
        ("git.example.org", {"GITHUB_ENTERPRISE_TOKEN": "one", "GH_HOST": "Git.Example.org"}, "one"),
        # A remote's address names another host.
        ("evil.example", TOKENS, ""),
        ("github.com.evil.example", TOKENS, ""),
        ("notghe.com", TOKENS, ""),
        ("ghe.com", TOKENS, ""),
        ("git.example.org:8443", TOKENS, ""),
        ("git.example.org", {"GH_TOKEN": "of-github", "GH_ENTERPRISE_TOKEN": "of-server"}, ""),
        ("github.com", {"GH_ENTERPRISE_TOKEN": "of-server", "GH_HOST": "github.com"}, ""),
        ("github.com", {"GH_TOKEN": "of-git\nhub"}, ""),
    ],
)
def test_a134_each_token_is_for_its_own_host(host: str, environment: dict[str, str], token: str):
    if token:
        assert own_token(host, environment, ()) == token
    else:
        with pytest.raises(UsageError, match=r"There is no token for|holds a line break"):
            own_token(host, environment, ())


def test_gh_is_asked_for_the_token_of_that_host_alone_without_our_tokens(tmp_path: Path):
    folder = gh(tmp_path / "bin", f'env > {tmp_path}/env; pwd > {tmp_path}/pwd; echo "$*"')
    secret = {"GH_TOKEN": "of-github", "HOME": "/home/me", "GH_CONFIG_DIR": "relative", "PATH": "/evil"}
    assert own_token("git.example.org", secret, (str(folder),)) == "auth token --hostname git.example.org"
    environment = (tmp_path / "env").read_text()
    assert "HOME=/home/me\n" in environment
    assert not any(word in environment for word in ("of-github", "relative", "/evil"))
    assert (tmp_path / "pwd").read_text() == "/\n"


def test_a135_a_gh_that_others_can_write_or_that_fails_gives_no_token(tmp_path: Path):
    """A program called `gh` where others, or the checkout, can put one."""
    theirs = gh(tmp_path / "theirs", "echo stolen")
    failing = gh(tmp_path / "failing", "echo none >&2; exit 1")
    theirs.chmod(0o777)
    for folder in (theirs, failing, tmp_path / "missing"):
        with pytest.raises(UsageError, match=r"gh auth login --hostname github.com"):
            own_token("github.com", {"PATH": str(theirs)}, (str(folder),))


@pytest.mark.parametrize(
    ("server", "api"),
    [
        ("https://github.com", "https://api.github.com"),
        ("https://acme.ghe.com", "https://api.acme.ghe.com"),
        ("https://git.example.org", "https://git.example.org/api/v3"),
    ],
)
def test_the_api_of_a_server(server: str, api: str):
    assert api_url_of(server) == api


GHS = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize(
    ("token", "login", "kind"),
    [
        (GHS, "github-actions[bot]", TokenKind.ACTIONS),
        (GHS, "my-app[bot]", TokenKind.APP),
        # By nobody known: an app's, or a job's.
        (GHS, "", TokenKind.UNKNOWN),
        ("github_pat_11ABC", "", TokenKind.FINE_GRAINED),
        ("ghp_abc", "", TokenKind.CLASSIC),
        ("gho_abc", "", TokenKind.OAUTH),
        ("ghu_abc", "", TokenKind.USER_TO_SERVER),
        # A bot's login says nothing of a token whose look does not.
        ("0123456789abcdef0123456789abcdef01234567", "ci[bot]", TokenKind.UNKNOWN),
        ("", "", TokenKind.UNKNOWN),
    ],
)
def test_kinds(token: str, login: str, kind: TokenKind):
    assert token_kind(token, login) is kind
