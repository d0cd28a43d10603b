"""Where programs keep credentials in a folder of tools or a cache: no command inside needs them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_NAMES = tuple(
    """
    credentials credentials.toml .cargo/credentials .cargo/credentials.toml .npmrc .pypirc .netrc
    .git-credentials .gem/credentials .config/gh .docker .aws .ssh etc/npmrc etc/pip.conf pip.conf .kube
    .condarc condarc
    """.split()  # noqa: SIM905
)

_SETTINGS = ("config", "config.toml", ".cargo/config", ".cargo/config.toml")
"""Useful inside, unless somebody put a registry's token there."""

_LARGEST_SETTINGS = 1 << 20

_HOLDERS = ("versions", "installs", "tools/image")
"""Where version managers keep the versions of tools, or folders of versions for each tool."""

_MACHINES = ("x64", "x86", "arm64")
"""The runner's tool cache has a folder for each tool, in it one for each version, and in that one of these."""

_NAMES_OF_A_VERSION = ("etc/npmrc", "pip.conf", "etc/pip.conf")

_SECRET_SETTING = re.compile(rb"(?i)token|secret-key|password|_auth|://[^/\s\"']*@")


def credentials_in(folder: Path, *, versions: bool = True) -> Iterator[Path]:
    """What in `folder`, or in a version of a tool there, is or holds somebody's credentials. A folder of packages has
    no `versions`, and thousands of folders to look for them in."""
    for name in _NAMES:
        if (folder / name).exists():
            yield folder / name
    if versions:
        for version in _versions(str(folder)):
            for name in _NAMES_OF_A_VERSION:
                if os.path.exists(path := os.path.join(version, name)):
                    yield Path(path)
    for name in _SETTINGS:
        if (folder / name).is_file() and holds_secret(folder / name):
            yield folder / name


def _versions(folder: str) -> Iterator[str]:
    """Folders in which a version of a tool may have its settings. By `os`: `Path.glob` takes ten times as long, and a
    run's start waits for this."""
    for holder in _HOLDERS:
        for one in _folders(os.path.join(folder, holder)):
            yield one
            yield from _folders(one)
    for tool in _folders(folder):
        for version in _folders(tool):
            yield from filter(os.path.isdir, (os.path.join(version, machine) for machine in _MACHINES))


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        return []  # there is none, or what is in it cannot be read inside either


def holds_secret(path: Path) -> bool:
    """Whether there is a key, a password or the like in the settings at `path`."""
    with path.open("rb") as file:
        return _SECRET_SETTING.search(file.read(_LARGEST_SETTINGS)) is not None
