"""Find credentials that earlier steps of a job left on disk, as `actions/checkout` does without
`persist-credentials: false`. They are only reported: the sandbox does not show these files.

Files are read as text, without git: their settings may name programs to run.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from bot.contracts.plain_text import printable_name
from bot.contracts.regular_files import read_regular

_MOST_BYTES = 1 << 20
_SIGNS = {
    r"(?im)^\s*extraheader\s*=.*authorization": "a token that `actions/checkout` left there",
    r"(?im)^\s*path\s*=.*git-credentials-": (
        "the way to a token that `actions/checkout` left in the runner's temporary folder"
    ),
    r"(?im)^\s*sshcommand\s*=.*\s-i\s": (
        "the way to a private key, such as `actions/checkout` leaves in the runner's temporary folder"
    ),
    r"(?im)^\s*helper\s*=\s*store\b": "the way to stored passwords",
    # A password, or a token used as the user name.
    r"://(?:[^/@\s]*:[^/@\s]+|[^/@\s]{20,})@": "a password in an address",
}

FIX = "give `actions/checkout` the input `persist-credentials: false`"


def find_leftover_credentials(workspace: Path | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each file with a credential, never the credential itself. Searched are the settings of the
    repository in `workspace` and of its submodules, and the runner's temporary folder."""
    paths: list[Path] = []
    # A checkout in the workspace itself and those in its folders (`path:`), with submodules, whose folders are nested
    # like their paths and may contain further ones.
    for git_dir in (workspace / ".git", *sorted(workspace.glob("*/.git"))) if workspace else ():
        modules = islice(git_dir.glob("modules/**/config"), 10_000)
        paths += (git_dir / "config", git_dir / "config.worktree", *modules)
    if runner_temp := environment.get("RUNNER_TEMP", ""):
        paths += sorted(Path(runner_temp).glob("git-credentials-*.config"))
    findings: dict[Path, str] = {}
    for path in paths:
        with suppress(OSError):
            text = read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
            if what := next((what for sign, what in _SIGNS.items() if re.search(sign, text)), ""):
                findings[path] = what
    return tuple(f"{printable_name(str(path))} holds {what}." for path, what in findings.items())
