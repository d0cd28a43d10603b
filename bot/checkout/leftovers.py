"""Credentials that earlier steps of a job left where the next may find them, as `actions/checkout` does unless it is
given `persist-credentials: false`. Only found and told of: the workshop sees none of these places.

Reads files as text and runs no git: the settings at hand may name programs to run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from bot.contracts.plain_text import named

_MOST_BYTES = 1 << 20
_SECTION = re.compile(r'^\s*\[\s*([\w.-]+)(?:\s+"(.*)")?\s*\]')
_SETTING = re.compile(r"^\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$")
# A password, or a token in the place of the name.
_LOGIN = re.compile(r"://(?:[^/@\s]*:[^/@\s]+|[^/@\s]{20,})@")
_KEY_FILE = re.compile(r"\s-i\s")
_MOST_FOLDERS = 10_000

FIX = "give `actions/checkout` the input `persist-credentials: false`"


def left_behind(workspace: Path | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each place that holds a credential, never the credential itself: the settings of the repository
    in `workspace` and of its submodules, and the runner's temporary folder."""
    places = list(_settings_of(workspace)) if workspace else []
    temporary = environment.get("RUNNER_TEMP", "")
    if temporary:
        places += sorted(Path(temporary).glob("git-credentials-*.config"))
    found: dict[str, str] = {}
    for place in places:
        for what in _credentials(_text(place)):
            found.setdefault(str(place), what)
    return tuple(f"{named(place)} holds {what}." for place, what in found.items())


def _settings_of(workspace: Path) -> Iterator[Path]:
    """Of a checkout in the workspace itself, and of those in folders of it (`path:`)."""
    for git_dir in (workspace / ".git", *sorted(workspace.glob("*/.git"))):
        yield from (git_dir / "config", git_dir / "config.worktree")
        yield from _of_submodules(git_dir / "modules")


def _of_submodules(folder: Path) -> Iterator[Path]:
    """One is named by its path, so it can lie deep, and has its own below it."""
    for place, below, names in islice(os.walk(folder), _MOST_FOLDERS):
        if "config" in names:
            yield Path(place, "config")
            below[:] = ["modules"] if "modules" in below else []
        else:
            below.sort()


def _credentials(text: str) -> Iterator[str]:
    section, of = "", ""
    for line in text.splitlines():
        if header := _SECTION.match(line):
            section, of = header[1].lower(), header[2] or ""
            if _LOGIN.search(of):
                yield "a password in an address"
        elif setting := _SETTING.match(line):
            name, value = setting[1].lower(), setting[2]
            if name == "extraheader" and "authorization" in value.lower():
                yield "a token that `actions/checkout` left there"
            elif section.startswith("includeif") and name == "path" and "git-credentials-" in value:
                yield "the way to a token that `actions/checkout` left in the runner's temporary folder"
            elif section == "core" and name == "sshcommand" and _KEY_FILE.search(value):
                yield "the way to a private key, such as `actions/checkout` leaves in the runner's temporary folder"
            elif section.startswith("credential") and name == "helper" and value.split()[:1] == ["store"]:
                yield "the way to stored passwords"
            elif _LOGIN.search(value):
                yield "a password in an address"


def _text(place: Path) -> str:
    """Empty where there is no such file, or none that may be read; what is no plain file is not opened."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        try:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
