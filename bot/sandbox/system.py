"""What of the machine's own programs and settings may be seen inside, and what in them nobody inside needs."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence

ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")

_SECRET_CONFIGURATION = (
    "shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "security/opasswd", "ssl/private",
    "pki/tls/private", "ssh", "docker", "containers/auth.json", "kubernetes", "rancher", "letsencrypt",
    "wireguard", "ppp", "NetworkManager", "netplan", "cloud", "krb5.keytab", "apt/auth.conf",
    "apt/auth.conf.d", "gitconfig", "npmrc", "pip.conf", "netrc", "environment", "machine-id",
)  # fmt: skip
"""Beneath /etc; as root, the kernel's own permissions would not keep these from us."""

_RUNNER_FILES = (".credentials", ".runner")
"""What marks the folder of a self-hosted runner, which must not be seen, under /opt."""


def hidden() -> Iterator[str]:
    """The paths beneath `ROOTS` that must not be seen."""
    yield from _secret_configuration()
    yield from _runner_folders()


def beneath(path: str, folders: Sequence[str]) -> bool:
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


def _runner_folders() -> Iterator[str]:
    try:
        folders = [entry.path for entry in os.scandir("/opt") if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return  # no /opt here, so nothing of it is mounted
    for folder in folders:
        if any(os.path.lexists(os.path.join(folder, name)) for name in _RUNNER_FILES):
            yield folder
