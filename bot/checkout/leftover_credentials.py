"""Find credentials that earlier steps of a job left on disk, as `actions/checkout` does without
`persist-credentials: false`. They are only reported: the sandbox does not show these files.

Files are read as text, without git: their settings may name programs to run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from bot.contracts.plain_text import printable_name
from bot.contracts.regular_files import read_regular

_MOST_BYTES = 1 << 20
_SECTION = re.compile(r'^\s*\[\s*([\w.-]+)(?:\s+"(.*)")?\s*\]')
_SETTING = re.compile(r"^\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$")
# A password, or a token used as the user name.
_LOGIN = re.compile(r"://(?:[^/@\s]*:[^/@\s]+|[^/@\s]{20,})@")
_KEY_FILE = re.compile(r"\s-i\s")
_MOST_FOLDERS = 10_000

FIX = "give `actions/checkout` the input `persist-credentials: false`"


def find_leftover_credentials(workspace: Path | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each file with a credential, never the credential itself. Searched are the settings of the
    repository in `workspace` and of its submodules, and the runner's temporary folder."""
    paths = list(_config_files(workspace)) if workspace else []
    runner_temp = environment.get("RUNNER_TEMP", "")
    if runner_temp:
        paths += sorted(Path(runner_temp).glob("git-credentials-*.config"))
    findings: dict[str, str] = {}
    for path in paths:
        for finding in _credentials(_read(path)):
            findings.setdefault(str(path), finding)
    return tuple(f"{printable_name(path)} holds {finding}." for path, finding in findings.items())


def _config_files(workspace: Path) -> Iterator[Path]:
    """Yield the settings of a checkout in the workspace itself, and of those in its folders (`path:`)."""
    for git_dir in (workspace / ".git", *sorted(workspace.glob("*/.git"))):
        yield from (git_dir / "config", git_dir / "config.worktree")
        yield from _submodule_config_files(git_dir / "modules")


def _submodule_config_files(folder: Path) -> Iterator[Path]:
    """Yield the settings of submodules. Their folders are nested like their paths, and may contain further ones."""
    for parent, folders, names in islice(os.walk(folder), _MOST_FOLDERS):
        if "config" in names:
            yield Path(parent, "config")
            folders[:] = ["modules"] if "modules" in folders else []
        else:
            folders.sort()


def _credentials(text: str) -> Iterator[str]:
    section, subsection = "", ""
    for line in text.splitlines():
        if header := _SECTION.match(line):
            section, subsection = header[1].lower(), header[2] or ""
            if _LOGIN.search(subsection):
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


def _read(path: Path) -> str:
    """Return the text of a regular file, empty if it cannot be read."""
    try:
        return read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
