"""`Dependencies`: how manifests and lock files of a language show packages and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

HOST = r"[^'\"]{0,8}['\"]?(?:[a-z]+\+)?https?://(?:[^/@\s'\"]*@)?([^/'\"\s?#]+)"
"""Matches an address in a lock file, and the host in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """How dependencies look in files, by patterns of names in lower case. `manifests` are read as data: the parser, and
    the function that yields the names. In `lines` and `locks` a pattern matches the line that declares or pins one, in
    `sources` the line that names where packages come from, of which `usual` are the registries' own. `settings` are
    files with settings of package managers. `lists` has a pattern of paths, and those of lines of both kinds."""

    manifests: Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Iterator[str]]]] = field(
        default_factory=dict
    )
    lines: Mapping[str, str] = field(default_factory=dict)
    locks: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    usual: str = ""
    lists: tuple[str, str, str] = ("(?!)", "", "")
