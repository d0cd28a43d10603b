"""The GitHub repositories that a checkout has as remotes. Nothing is fetched."""

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bot.checkout.git import CheckoutError, Git, GitError
from bot.checkout.local import git_dir_of
from bot.checkout.remote import LOOPBACK
from bot.contracts.errors import UsageError

_SCP = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)")
_PATH = re.compile(r"/*([A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?/*")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?(?::[0-9]{1,5})?")
_THREAD = re.compile(r"(/[^/]+/[^/]+)/(?:issues|pull)/([1-9][0-9]{0,8})(?:/.*)?")
_NUMBER = re.compile(r"#?([1-9][0-9]{0,8})")
_PREFERRED = ("upstream", "origin")
_SSH_HOSTS = {"ssh.github.com": "github.com"}


class GitHubRemote(NamedTuple):
    """A remote by its name in git. `host` has a port if the address of GitHub's pages has one."""

    name: str
    host: str
    repository: str
    server_url: str


class ThreadName(NamedTuple):
    """An issue or pull request that a person named; `url` is empty if by its number alone."""

    number: int
    url: str = ""


def parse_thread_name(words: str) -> ThreadName | None:
    """Parse `123`, `#123` or the address of an issue or pull request; `None` for other words. Raises `UsageError` for
    another address."""
    if number := _NUMBER.fullmatch(words.strip()):
        return ThreadName(int(number[1]))
    if not re.fullmatch(r"https?://\S+", words.strip()):
        return None
    url = words.strip()
    try:
        parts = urlsplit(url)
        thread = _THREAD.fullmatch(parts.path)
        has_credentials = parts.username is not None
    except ValueError:
        thread, has_credentials = None, False
    if has_credentials:
        raise UsageError(
            "The address holds a user name or a password: give it without, as the browser shows it."
        )
    if thread is None:
        raise UsageError(
            f"{url[:200]} is not the address of an issue or a pull request. The agent has no network: write what to do "
            "in your own words."
        )
    return ThreadName(int(thread[2]), url)


def github_remotes(repo: Path) -> tuple[GitHubRemote, ...]:
    """Return the remotes whose address reads as GitHub's, `upstream` and `origin` first."""
    git = Git(git_dir_of(repo))
    try:
        listing = git.listed("config", "--null", "--get-regexp", r"^remote\..*\.url$")
    except GitError:  # git's answer if there is none
        return ()
    remotes: dict[str, GitHubRemote] = {}
    for entry in listing:
        key, _, url = entry.partition("\n")
        name = key.removeprefix("remote.").removesuffix(".url")
        if name not in remotes and (remote := _parse(name, url)):
            remotes[name] = remote
    first = [remotes[name] for name in _PREFERRED if name in remotes]
    return tuple(dict.fromkeys((*first, *remotes.values())))


def origin_repository(repo: Path) -> str:
    """Return `owner/name` of the remote `origin`, or empty."""
    with suppress(CheckoutError):
        return next((one.repository for one in github_remotes(repo) if one.name == "origin"), "")
    return ""


def remote_of(repo: Path, thread: ThreadName | None) -> GitHubRemote:
    """Return the remote that `thread` belongs to: that of its address, else `upstream`, `origin` or the only one.
    Raises `UsageError` if there is none."""
    remotes = github_remotes(repo)
    if not remotes:
        raise UsageError(
            f"{repo} has no remote on GitHub, so there is no repository for an issue or a pull request: add it with "
            "`git remote add origin URL`. A task in your own words needs none."
        )
    if thread is None or not thread.url:
        if remotes[0].name not in _PREFERRED and len(remotes) > 1:
            names = ", ".join(remote.name for remote in remotes)
            raise UsageError(f"Which of the remotes {names} is meant is not clear: give the whole address.")
        return remotes[0]
    parts = urlsplit(thread.url)
    named = _parse("", thread.url.partition("/issues/")[0].partition("/pull/")[0])
    for remote in remotes:
        if named and (named.host, named.repository.lower()) == (remote.host, remote.repository.lower()):
            return remote
    known = ", ".join(f"{remote.host}/{remote.repository}" for remote in remotes)
    raise UsageError(
        f"{parts.netloc}{parts.path} is not in a repository that this checkout has as a remote ({known}): run this in "
        "a checkout of that repository, or add it with `git remote add`."
    )


def _parse(name: str, url: str) -> GitHubRemote | None:
    """Return the remote at an address of HTTP, SSH or git. Credentials in it are not kept."""
    try:
        if "://" in url:
            parts = urlsplit(url)
            scheme, host, path, port = parts.scheme, parts.hostname or "", parts.path, parts.port
        elif scp := _SCP.fullmatch(url):
            scheme, host, path, port = "ssh", scp[1].lower(), scp[2], None
        else:
            return None
    except ValueError:
        return None
    repository = _PATH.fullmatch(path)
    is_web = scheme in ("http", "https")
    if port and is_web:
        host = f"{host}:{port}"
    host = _SSH_HOSTS.get(host, host)
    if repository is None or not _HOST.fullmatch(host) or not (is_web or scheme in ("ssh", "git", "git+ssh")):
        return None
    # A token goes over plain HTTP to this machine only.
    scheme = "http" if scheme == "http" and host.partition(":")[0] in LOOPBACK else "https"
    return GitHubRemote(name, host, repository[1], f"{scheme}://{host}")
