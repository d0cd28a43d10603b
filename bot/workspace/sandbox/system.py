"""The programs and settings of the machine that are visible inside, and what in them is hidden."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bot.workspace.sandbox.credentials import credentials_in, holds_secret

ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")

_SECRET_CONFIGURATION = tuple(
    """
    shadow shadow- gshadow gshadow- sudoers sudoers.d security/opasswd ssl/private pki/tls/private ssh
    docker containers/auth.json kubernetes rancher letsencrypt wireguard ppp NetworkManager netplan cloud
    krb5.keytab apt/auth.conf apt/auth.conf.d gitconfig npmrc pip.conf netrc environment machine-id
    """.split()  # noqa: SIM905
)
"""Beneath /etc; as root, the kernel's own permissions would not keep these from us."""

_SETTINGS_OF_TOOLS = ("etc/npmrc", "etc/pip.conf", "pip.conf")
"""Where npm and pip keep what they were told for all users of the Node or Python beneath /usr."""

_PREFIXES = ("/usr", "/usr/local")
_OPTIONAL = "/opt"

_RUNNER_FILES = (".credentials", ".runner")
"""What marks the folder of a self-hosted runner, which must not be seen, under /opt."""


def hidden() -> Iterator[str]:
    """The paths beneath `ROOTS` that must not be seen."""
    yield from _secret_configuration()
    yield from _runner_folders()
    yield from _of_tools()


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether `path` is one of `folders` or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _secret_configuration() -> Iterator[str]:
    named = {f"/etc/{name}" for name in _SECRET_CONFIGURATION}
    yield from sorted(path for path in named if os.path.lexists(path) and not os.path.islink(path))
    yield from _not_for_others("/etc", named)


def _not_for_others(folder: str, passed_over: Collection[str]) -> Iterator[str]:
    """What in `folder`, at any depth, other users may not read; 3 ms for 1,200 entries."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.path in passed_over:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            wanted = stat.S_IROTH | (stat.S_IXOTH if is_folder else 0)
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue  # a package manager is at work, and what is gone need not be hidden
            if mode & wanted != wanted:
                yield entry.path
            elif is_folder:
                with contextlib.suppress(FileNotFoundError):
                    yield from _not_for_others(entry.path, passed_over)


def _in_opt() -> list[str]:
    try:
        return [entry.path for entry in os.scandir(_OPTIONAL) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []  # no /opt here, so nothing of it is mounted


def _of_tools() -> Iterator[str]:
    """Credentials among the tools of the system: the tool cache of GitHub's runners lies in /opt. Beneath /usr only
    what holds some, since Landlock can then list no folder on the way."""
    for prefix in _PREFIXES:
        settings = (os.path.join(prefix, name) for name in _SETTINGS_OF_TOOLS)
        yield from (path for path in settings if os.path.isfile(path) and holds_secret(Path(path)))
    for folder in _in_opt():
        yield from map(str, credentials_in(Path(folder)))


def _runner_folders() -> Iterator[str]:
    for folder in _in_opt():
        if any(os.path.lexists(os.path.join(folder, name)) for name in _RUNNER_FILES):
            yield folder
