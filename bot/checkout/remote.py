"""A repository behind HTTP as the source of a checkout. GitPython drives the fetch, in our environment.

git is told the token by a credential helper that reads a descriptor it inherits: it is in no file, no configuration,
no environment and no command line.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from bot.checkout.errors import (
    AuthenticationFailedError,
    CheckoutError,
    MissingRepositoryError,
    MissingRevisionError,
    NoCommitsError,
    UnavailableError,
)
from bot.checkout.git import clean_environment, git_program, last_line

if TYPE_CHECKING:
    from bot.github.errors import Failure
    from bot.github.retry import Pace

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What a runner behind a proxy or with its own certificate authority needs to reach the server at all.
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_NETWORK = (
    "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "CURL_CA_BUNDLE",
)  # fmt: skip
USER = "x-access-token"

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
# The words of git's `http.c`, `remote-curl.c` and `fetch-pack.c`.
_STATUS = re.compile(r"(?:RPC failed; HTTP|The requested URL returned error:) (\d{3})")
_CUT_OFF = ("unable to access", "RPC failed", "hung up unexpectedly", "unexpected disconnect", "early EOF")
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


def drive(git_dir: Path, url: str, token: str, arguments: list[str], pace: Pace | None = None) -> str:
    """Run one git command that speaks to `url`; its standard output. Raises `git.exc.GitCommandError`.

    The command must be safe to repeat: it is tried again when the connection or the server fails, or a rate limit
    stops it, by the rules for requests of the API.
    """
    from git.exc import GitCommandError

    from bot.github.retry import Pace, wait_before_retry

    pace = pace or Pace()
    attempt = 0
    while True:
        attempt += 1
        try:
            return _drive_once(git_dir, url, token, arguments)
        except GitCommandError as error:
            failure = http_failure(f"{error.stdout}\n{error.stderr}")
            wait = wait_before_retry(failure, attempt, pace.now(), safe=True) if failure else None
            if wait is None:
                raise
            pace.wait(wait)


def http_failure(said: str) -> Failure | None:
    """What git's output says of its exchange with the server; `None` if git failed for another reason."""
    from bot.github.errors import Failure

    if status := _STATUS.search(said):
        return Failure(int(status.group(1)), said)
    cut_off = any(words in said for words in _CUT_OFF) and "certificate" not in said
    return Failure(0, said) if cut_off else None


def _drive_once(git_dir: Path, url: str, token: str, arguments: list[str]) -> str:
    """The command sees an environment of its own and nothing else. GitPython adds to the inherited environment, so what
    is not ours is blanked there and then taken away by `env -u`."""
    from git.cmd import Git as Driver

    with _environment(url, token) as (environment, descriptors):
        inherited = [name for name in os.environ if name not in environment]
        without = [option for name in inherited for option in ("-u", name)]
        return str(
            Driver(str(git_dir)).execute(
                ["env", *without, git_program(), *arguments],
                env={**dict.fromkeys(inherited, ""), **environment, "GIT_DIR": str(git_dir)},
                with_extended_output=False,
                pass_fds=descriptors,
            )
        )


@contextmanager
def _environment(url: str, token: str) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """What a git that speaks to `url` is started with, and the descriptors that its helpers read."""
    settings = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "http.followRedirects": "initial"}
    with ExitStack() as stack:
        descriptors = []

        def tell(origin: str, user: str, password: str) -> None:
            """Let git know this password at `origin`, and nowhere else."""
            if not f"{user}{password}".isprintable():
                raise CheckoutError(f"the token or password for {origin} holds a line break: give it without")
            descriptor = stack.enter_context(_in_memory(f"username={user}\npassword={password}\n"))
            descriptors.append(descriptor)
            helper = f'!f() {{ test "$1" != get || cat /proc/self/fd/{descriptor}; }}; f'
            settings[f"credential.{origin}.helper"] = helper

        if token:
            parts = urlsplit(url)
            tell(f"{parts.scheme}://{parts.netloc}", USER, token)
            # With git 2.46 and later this saves the request that is refused first.
            settings["http.proactiveAuth"] = "basic"
            # A redirect could lead to another host.
            settings["http.followRedirects"] = "false"
        network = {name: os.environ[name] for name in _NETWORK if name in os.environ}
        for name in _PROXIES:
            if name in os.environ:
                network[name], login = _without_password(os.environ[name])
                if login:
                    tell(*login)
        environment = {**clean_environment(settings), "GIT_ALLOW_PROTOCOL": "http:https", **network}
        yield environment, tuple(descriptors)


def _without_password(proxy: str) -> tuple[str, tuple[str, str, str] | None]:
    """A proxy's address with the user alone, and (where, user, password) where it had a password."""
    parts = urlsplit(proxy)
    if not parts.password:
        return proxy, None
    user, host = parts.netloc.rpartition("@")[0].partition(":")[0], parts.netloc.rpartition("@")[2]
    login = (f"{parts.scheme}://{host}", unquote(user), unquote(parts.password))
    return urlunsplit(parts._replace(netloc=f"{user}@{host}")), login


@contextmanager
def _in_memory(text: str) -> Iterator[int]:
    """A descriptor that holds `text`, in memory alone; whoever is given it may read it more than once."""
    descriptor = os.memfd_create("credential")
    try:
        os.write(descriptor, text.encode())
        yield descriptor
    finally:
        os.close(descriptor)


def fetch(
    git_dir: Path, url: str, refs: list[str], token: str, depth: list[str], pace: Pace | None = None
) -> None:
    """Fetch `refs` from `url`. Raises the `CheckoutError` that says what was wrong."""
    from git.exc import GitCommandError

    arguments = [
        "-c",
        "fetch.unpackLimit=1",
        "fetch",
        "--quiet",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
    ]
    try:
        drive(git_dir, url, token, [*arguments, *depth, "--end-of-options", url, *refs], pace)
    except GitCommandError as error:
        # `from None`: the vendor's exception holds the whole command and its environment's traces.
        raise _said_plainly(git_dir, url, refs, token, str(error.stderr)) from None


def _said_plainly(git_dir: Path, url: str, refs: list[str], token: str, stderr: str) -> CheckoutError:
    hidden = [token, base64.b64encode(f"{USER}:{token}".encode()).decode()] if token else []
    detail = last_line(stderr.replace("stderr: '", "").rstrip("'\n"), hidden)
    if any(sign in stderr for sign in _NO_SUCH_REF):
        wanted = refs[0].split(":")[0].removeprefix("+").removeprefix("refs/heads/")
        if _is_empty(git_dir, url, token):
            return NoCommitsError(
                f"the repository {url} has no commits yet: push a first commit, then ask again"
            )
        return MissingRevisionError(f"the repository {url} has no branch or commit {wanted!r}")
    failure = http_failure(stderr)
    if failure is not None and failure.rate_limited:
        return UnavailableError(f"a rate limit of GitHub stopped fetching {url}: {detail}; try again later")
    if failure is not None and failure.transient:
        return UnavailableError(f"{url} could not be fetched, after several tries: {detail}; try again later")
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
        return not drive(git_dir, url, token, ["ls-remote", "--quiet", url]).strip()
    except GitCommandError:
        return False


def _shown(url: str) -> str:
    return url.split("@")[-1][:200]
