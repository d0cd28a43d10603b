"""A repository behind HTTP as the source of a checkout. GitPython drives the fetch, in our environment.

The token goes by environment alone: it is in no file, no configuration and no command line.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from bot.checkout.errors import (
    AuthenticationFailedError,
    CheckoutError,
    MissingRepositoryError,
    MissingRevisionError,
    NoCommitsError,
)
from bot.checkout.git import clean_environment, git_program, last_line

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What a runner behind a proxy or with its own certificate authority needs to reach the server at all.
_NETWORK = (
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "CURL_CA_BUNDLE",
)  # fmt: skip

_REFUSED = (
    "Authentication failed", "could not read Username", "could not read Password",
    "terminal prompts disabled", "The requested URL returned error: 401",
    "The requested URL returned error: 403", "Invalid username or",
)  # fmt: skip
_ABSENT = (
    "Repository not found",
    "not found",
    "The requested URL returned error: 404",
    "does not appear to be a git",
)
_NO_SUCH_REF = ("couldn't find remote ref", "not our ref", "no such remote ref", "unadvertised object")


def is_remote(url: str) -> bool:
    return "://" in url and not url.startswith("file://")


def check_url(url: str, token: str) -> None:
    """Raise `CheckoutError` for an address that must not get a token, or that git must not be given."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CheckoutError(
            f"the clone URL must start with https:// or http://, or be a folder: {_shown(url)}"
        )
    if parts.username or parts.password:
        raise CheckoutError("the clone URL must not hold credentials: give the token on its own")
    if token and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CheckoutError(f"a token is not sent over plain http to {parts.hostname}: use https")


def remote_environment(url: str, token: str) -> dict[str, str]:
    """The environment for one git command that speaks to `url`, `token` in it where there is one."""
    settings = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "http.followRedirects": "initial"}
    if token:
        parts = urlsplit(url)
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{parts.scheme}://{parts.netloc}/.extraHeader"] = f"Authorization: Basic {basic}"
        # A redirect could carry the header to another host.
        settings["http.followRedirects"] = "false"
    environment = clean_environment(settings)
    environment["GIT_ALLOW_PROTOCOL"] = "http:https"
    environment.update({name: os.environ[name] for name in _NETWORK if name in os.environ})
    return environment


def drive(git_dir: Path, arguments: list[str], environment: Mapping[str, str]) -> str:
    """Run one git command through GitPython, seeing `environment` and nothing else; its standard output.

    GitPython adds to the inherited environment, so what is not ours is taken away by `env -u`.
    Raises `git.exc.GitCommandError`.
    """
    from git.cmd import Git as Driver

    inherited = [option for name in os.environ if name not in environment for option in ("-u", name)]
    return str(
        Driver(str(git_dir)).execute(
            ["env", *inherited, git_program(), *arguments],
            env={**environment, "GIT_DIR": str(git_dir)},
            with_extended_output=False,
        )
    )


def fetch(git_dir: Path, url: str, refs: list[str], token: str, depth: list[str]) -> None:
    """Fetch `refs` from `url`. Raises the `CheckoutError` that says what was wrong."""
    from git.exc import GitCommandError

    environment = remote_environment(url, token)
    arguments = [
        "-c",
        "fetch.unpackLimit=1",
        "fetch",
        "--quiet",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
    ]
    try:
        drive(git_dir, [*arguments, *depth, "--end-of-options", url, *refs], environment)
    except GitCommandError as error:
        # `from None`: the vendor's exception holds the whole command and its environment's traces.
        raise _said_plainly(git_dir, url, refs, token, str(error.stderr)) from None


def _said_plainly(git_dir: Path, url: str, refs: list[str], token: str, stderr: str) -> CheckoutError:
    hidden = [token, base64.b64encode(f"x-access-token:{token}".encode()).decode()] if token else []
    detail = last_line(stderr.replace("stderr: '", "").rstrip("'\n"), hidden)
    if any(sign in stderr for sign in _NO_SUCH_REF):
        wanted = refs[0].split(":")[0].removeprefix("+").removeprefix("refs/heads/")
        if _is_empty(git_dir, url, token):
            return NoCommitsError(
                f"the repository {url} has no commits yet: push a first commit, then ask again"
            )
        return MissingRevisionError(f"the repository {url} has no branch or commit {wanted!r}")
    if any(sign in stderr for sign in _REFUSED):
        given = "the token it was given" if token else "access without a token"
        return AuthenticationFailedError(
            f"the server of {url} refused {given}: check the token's access to contents"
        )
    if any(sign in stderr for sign in _ABSENT):
        return MissingRepositoryError(f"there is no repository at {url}, or the token may not see it")
    return CheckoutError(f"{url} could not be fetched: {detail}")


def _is_empty(git_dir: Path, url: str, token: str) -> bool:
    from git.exc import GitCommandError

    try:
        return not drive(git_dir, ["ls-remote", "--quiet", url], remote_environment(url, token)).strip()
    except GitCommandError:
        return False


def _shown(url: str) -> str:
    return url.split("@")[-1][:200]
