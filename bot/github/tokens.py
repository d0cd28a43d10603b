"""Tokens for GitHub: their kinds, and that of the person at the terminal.

https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github has
the prefixes. Actions' own token and an installation token have the same one (`ghs_`): only the account's login tells
them apart. Without it the kind is unknown.
"""

import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from pathlib import Path

from bot.contracts.errors import UsageError

ACTIONS_LOGIN = "github-actions[bot]"


class TokenKind(StrEnum):
    ACTIONS = "the workflow's own token (GITHUB_TOKEN)"
    APP = "an installation token of a GitHub App"
    FINE_GRAINED = "a fine-grained personal access token"
    CLASSIC = "a classic personal access token"
    OAUTH = "a user's token of an OAuth app"
    USER_TO_SERVER = "a user's token of a GitHub App"
    UNKNOWN = "a token of unknown kind"


_PREFIXES = {
    "github_pat_": TokenKind.FINE_GRAINED,
    "ghp_": TokenKind.CLASSIC,
    "gho_": TokenKind.OAUTH,
    "ghu_": TokenKind.USER_TO_SERVER,
}
INSTALLATION = "ghs_"
"""Prefix of an app's token and of Actions' own."""


def token_kind(token: str, login: str) -> TokenKind:
    """`login` is the token's account (`GitHub.me`), empty if unknown."""
    for prefix, kind in _PREFIXES.items():
        if token.startswith(prefix):
            return kind
    if not token.startswith(INSTALLATION) or not login.endswith("[bot]"):
        return TokenKind.UNKNOWN
    return TokenKind.ACTIONS if login == ACTIONS_LOGIN else TokenKind.APP


class Access(Enum):
    """The permissions that a token may write. It may read all others of `_READABLE`."""

    READ = ()
    COMMENT = ("issues", "pull_requests")
    STOP = ("issues", "pull_requests", "actions")
    PUBLISH = ("issues", "pull_requests", "contents", "checks")
    FOLLOW = (*STOP, "contents")


# The token of the person at the terminal, for one host: the rules of `gh help environment`.

GH_FOLDERS = ("/usr/bin", "/usr/local/bin", "/snap/bin", "/home/linuxbrew/.linuxbrew/bin")
"""Where `gh` is installed. PATH is not used: a checkout, or a folder that others write in, could be on it."""

_SECONDS = 20
_INHERITED = ("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "GH_CONFIG_DIR")


def api_url_of(server_url: str) -> str:
    """Return the address of the REST API: github.com and its tenants have it on a host of its own."""
    scheme, _, host = server_url.partition("://")
    return f"{scheme}://api.{host}" if _is_github(host) else f"{server_url}/api/v3"


def own_token(host: str, environment: Mapping[str, str], folders: Sequence[str] = GH_FOLDERS) -> str:
    """Return the token for `host`, and for no other: `GH_TOKEN` (or `GITHUB_TOKEN`) for github.com and its tenants,
    `GH_ENTERPRISE_TOKEN` for the server in `GH_HOST`, else that of `gh auth login`. Raises `UsageError` without one."""
    names, advice = ["GH_TOKEN", "GITHUB_TOKEN"], "GH_TOKEN"
    if not _is_github(host):
        of_server = environment.get("GH_HOST", "").lower() == host
        names = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"] if of_server else []
        advice = f"GH_HOST={host} and GH_ENTERPRISE_TOKEN"
    token = next((environment[name] for name in names if environment.get(name)), "")
    token = token or _token_of_gh(host, environment, folders)
    if not token:
        raise UsageError(
            f"There is no token for {host}: sign in with `gh auth login --hostname {host}`, or set {advice}. A `gh` "
            f"counts only in {', '.join(GH_FOLDERS)}."
        )
    if not token.isprintable():
        raise UsageError(f"The token for {host} holds a line break or a control character: set it again.")
    return token


def _is_github(host: str) -> bool:
    return host == "github.com" or host.endswith(".ghe.com")


def _token_of_gh(host: str, environment: Mapping[str, str], folders: Sequence[str]) -> str:
    program = next((path for folder in folders if (path := Path(folder, "gh")) and _is_safe(path)), None)
    if program is None:
        return ""
    inherited = {name: environment[name] for name in _INHERITED if os.path.isabs(environment.get(name, ""))}
    if bus := environment.get("DBUS_SESSION_BUS_ADDRESS"):  # of the keyring
        inherited["DBUS_SESSION_BUS_ADDRESS"] = bus
    try:
        ran = subprocess.run(
            [program, "auth", "token", "--hostname", host],
            env={**inherited, "PATH": "/usr/bin:/bin"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{program} returned no token for {host}: {error}. Set a token instead.") from error
    return ran.stdout.strip() if ran.returncode == 0 else ""


def _is_safe(program: Path) -> bool:
    """Whether only root and this user can write the program and its folder."""
    try:
        real = program.resolve(strict=True)
        states = [path.stat() for path in (real, real.parent, program.parent)]
    except OSError:
        return False
    writable = stat.S_IWGRP | stat.S_IWOTH
    return all(one.st_uid in (0, os.geteuid()) and not one.st_mode & writable for one in states)
