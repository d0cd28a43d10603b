"""Check out from a repository over HTTP. GitPython runs the fetch, in a clean environment.

git reads the token from an inherited descriptor by a credential helper: it is in no file, configuration, environment
or command line.
"""

import base64
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from bot.checkout.git import (
    CPU_LIMIT,
    FETCH,
    CheckoutError,
    Git,
    MissingRevisionError,
    RemoteGitError,
    UnavailableError,
    clean_environment,
    git_program,
    last_line,
    limit_command,
    memory_limit,
)
from bot.checkout.objects import check_tree
from bot.contracts.errors import AgentError
from bot.github.errors import Failure, RepositoryMovedError
from bot.github.retry import Pace, wait_before_retry

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What a runner behind a proxy or with its own certificate authority needs to reach the server at all.
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_NETWORK = (
    "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
    "CURL_CA_BUNDLE",
)  # fmt: skip
USER = "x-access-token"

_REFUSED = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "terminal prompts disabled",
    "The requested URL returned error: 401",
    "The requested URL returned error: 403",
    "Invalid username or",
)
_ABSENT = (
    "Repository not found",
    "not found",
    "The requested URL returned error: 404",
    "does not appear to be a git",
)
# Messages of git's `http.c`, `remote-curl.c` and `fetch-pack.c`.
_STATUS = re.compile(r"(?:RPC failed; HTTP|The requested URL returned error:) (\d{3})")
_CUT_OFF = ("unable to access", "RPC failed", "hung up unexpectedly", "unexpected disconnect", "early EOF")
# Messages of `wrapper.c` and `run-command.c` at the limits of memory and of CPU time (SIGXCPU).
_TOO_MUCH = ("Out of memory", "died of signal 24", "died of signal 9")
_NO_SUCH_REF = ("couldn't find remote ref", "not our ref", "no such remote ref", "unadvertised object")


def is_remote(url: str) -> bool:
    return "://" in url and not url.startswith("file://")


def check_url(url: str, token: str) -> None:
    """Raise `CheckoutError` for a URL that must not receive the token, or is not allowed at all."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        without_credentials = url.split("@")[-1][:200]
        raise CheckoutError(
            f"the clone URL must start with https:// or http://, or be a folder: {without_credentials}"
        )
    if parts.username or parts.password:
        raise CheckoutError("the clone URL must not hold credentials: give the token on its own")
    if token and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise CheckoutError(f"a token is not sent over plain http to {parts.hostname}: use https")


def run_remote_command(git_dir: Path, url: str, token: str, arguments: list[str]) -> str:
    """Run one git command against `url` and return its standard output. Raises `RemoteGitError`.

    The command must be safe to repeat: it is retried after connection errors, server errors and rate limits, by the
    rules for API requests.
    """
    pace, attempt = Pace(), 0
    while True:
        attempt += 1
        try:
            return _run_once(git_dir, url, token, arguments)
        except RemoteGitError as error:
            failure = http_failure(f"{error.stdout}\n{error.stderr}")
            wait = wait_before_retry(failure, attempt, pace.now(), safe=True) if failure else None
            if wait is None:
                raise
            pace.wait(wait)


def http_failure(output: str) -> Failure | None:
    """Parse git's output into an HTTP failure; `None` if git failed for another reason."""

    if status := _STATUS.search(output):
        return Failure(int(status.group(1)), output)
    cut_off = any(words in output for words in _CUT_OFF) and not any(
        w in output for w in ("certificate", *_TOO_MUCH)
    )
    return Failure(0, output) if cut_off else None


def _run_once(git_dir: Path, url: str, token: str, arguments: list[str]) -> str:
    """Run the command with a clean environment. GitPython adds to the inherited environment, so inherited variables are
    blanked there and then removed by `env -u`."""
    # When it is imported, GitPython runs `git version` with the whole environment, by default from PATH.
    program = os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = git_program()
    import git

    with _environment(url, token) as (environment, descriptors):
        inherited = [name for name in os.environ if name not in environment]
        unset = [option for name in inherited for option in ("-u", name)]
        try:
            return str(
                git.Git(str(git_dir)).execute(
                    ["env", *unset, *limit_command(), program, *arguments],
                    env={**dict.fromkeys(inherited, ""), **environment, "GIT_DIR": str(git_dir)},
                    with_extended_output=False,
                    pass_fds=descriptors,
                )
            )
        except git.GitCommandError as error:
            # `from None`: the vendor's exception holds the whole command and its environment's traces.
            raise RemoteGitError(str(error.stdout), str(error.stderr)) from None


@contextmanager
def _environment(url: str, token: str) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Yield the environment of a git process for `url`, and the descriptors that its credential helpers read."""
    settings = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "http.followRedirects": "initial"}
    logins: list[tuple[str, str, str]] = []  # origin, user, password
    if token:
        parts = urlsplit(url)
        logins.append((f"{parts.scheme}://{parts.netloc}", USER, token))
        # With git 2.46 and later this saves the request that is refused first.
        settings["http.proactiveAuth"] = "basic"
        # A redirect could lead to another host.
        settings["http.followRedirects"] = "false"
    network = {name: os.environ[name] for name in _NETWORK if name in os.environ}
    for name in filter(os.environ.get, _PROXIES):
        network[name], parts = os.environ[name], urlsplit(os.environ[name])
        if parts.password:
            user, host = parts.netloc.rpartition("@")[0].partition(":")[0], parts.netloc.rpartition("@")[2]
            logins.append((f"{parts.scheme}://{host}", unquote(user), unquote(parts.password)))
            network[name] = urlunsplit(parts._replace(netloc=f"{user}@{host}"))
    with ExitStack() as stack:
        descriptors: list[int] = []
        for origin, user, password in logins:
            if not f"{user}{password}".isprintable():
                raise CheckoutError(f"the token or password for {origin} holds a line break: give it without")
            descriptor = os.memfd_create("credential")  # it can be read more than once
            stack.callback(os.close, descriptor)
            os.write(descriptor, f"username={user}\npassword={password}\n".encode())
            descriptors.append(descriptor)
            helper = f'!f() {{ test "$1" != get || cat /proc/self/fd/{descriptor}; }}; f'
            settings[f"credential.{origin}.helper"] = helper
        environment = {**clean_environment(settings), "GIT_ALLOW_PROTOCOL": "http:https", **network}
        yield environment, tuple(descriptors)


def fetch(git_dir: Path, url: str, refs: list[str], token: str, depth: list[str]) -> None:
    """Fetch `refs` from `url` and check the size of their trees. Raises a `CheckoutError` or `RepositoryMovedError`."""
    try:
        run_remote_command(git_dir, url, token, [*FETCH, *depth, "--end-of-options", url, *refs])
    except RemoteGitError as error:
        raise _checkout_error(git_dir, url, refs, token, error.stderr) from None
    for ref in refs:
        check_tree(Git(git_dir), ref.removeprefix("+").rpartition(":")[2])


def hidden_forms(token: str) -> list[str]:
    """Return what git's output must not show of a token: itself, and as it is in the header."""
    return [token, base64.b64encode(f"{USER}:{token}".encode()).decode()] if token else []


def _checkout_error(git_dir: Path, url: str, refs: list[str], token: str, stderr: str) -> AgentError:
    detail = last_line(stderr.replace("stderr: '", "").rstrip("'\n"), hidden_forms(token))
    if any(sign in stderr for sign in _NO_SUCH_REF):
        wanted = refs[0].split(":")[0].removeprefix("+").removeprefix("refs/heads/")
        with suppress(RemoteGitError):
            if not run_remote_command(git_dir, url, token, ["ls-remote", "--quiet", url]).strip():
                return CheckoutError(
                    f"the repository {url} has no commits yet: push a first commit, then ask again"
                )
        return MissingRevisionError(f"the repository {url} has no branch or commit {wanted!r}")
    if any(sign in stderr for sign in _TOO_MUCH):
        return CheckoutError(
            f"git needs more than {memory_limit()} MiB of memory or {CPU_LIMIT} s to unpack what {url} sent: {detail}. "
            "Remove what is so large from that commit, or name a branch without it"
        )
    failure = http_failure(stderr)
    if failure is not None and failure.rate_limited:
        return UnavailableError(f"a rate limit of GitHub stopped fetching {url}: {detail}; try again later")
    if failure is not None and failure.transient:
        return UnavailableError(f"{url} could not be fetched, after several tries: {detail}; try again later")
    if failure is not None and failure.moved:
        return RepositoryMovedError(f"fetching {url}")
    if any(sign in stderr for sign in _REFUSED):
        access = "the token it was given" if token else "access without a token"
        return CheckoutError(f"the server of {url} refused {access}: check the token's access to contents")
    if any(sign in stderr for sign in _ABSENT):
        return CheckoutError(f"there is no repository at {url}, or the token may not see it")
    return CheckoutError(f"{url} could not be fetched: {detail}")
