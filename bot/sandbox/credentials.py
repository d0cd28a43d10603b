"""Where programs keep somebody's credentials in a folder of tools or a cache: no command inside needs those."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_NAMES = (
    "credentials", "credentials.toml", ".cargo/credentials", ".cargo/credentials.toml", ".npmrc", ".pypirc",
    ".netrc", ".git-credentials", ".gem/credentials", ".config/gh", ".docker", ".aws", ".ssh", "etc/npmrc",
    "etc/pip.conf", "pip.conf", ".kube",
)  # fmt: skip

_SETTINGS = ("config", "config.toml", ".cargo/config", ".cargo/config.toml")
"""Useful inside, unless somebody put a registry's token there."""

_LARGEST_SETTINGS = 1 << 20


def credentials_in(folder: Path) -> Iterator[Path]:
    """What directly in `folder` is, or holds, somebody's credentials."""
    for name in _NAMES:
        if (folder / name).exists():
            yield folder / name
    for name in _SETTINGS:
        if (folder / name).is_file() and _mentions_token(folder / name):
            yield folder / name


def _mentions_token(path: Path) -> bool:
    with path.open("rb") as file:
        return b"token" in file.read(_LARGEST_SETTINGS)
