"""What the job `prepare` left (`bot.environment.prepared`), as a run takes it: a command in the sandbox unpacks it."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.regular_files import TO_READ
from bot.environment.prepared import FACTS, HOME, MOST_BYTES, OUTSIDE, WORKSPACE, kept_at_their_path
from bot.workspace.client import Workspace
from bot.workspace.sandbox.confinement import EnvironmentFolder
from bot.workspace.sandbox.toolchains import SYSTEM_PATH
from bot.workspace.start import BROUGHT

UNFIT = 66
_LIMIT = 600
"""Seconds."""
UNUSED = "What the job `prepare` left is not used: {}."
_UNPACK = f"""\
set -e; export PATH={SYSTEM_PATH}
a={{archive}}; [ ! -f {BROUGHT}"$a" ] || a={BROUGHT}"$a"
printf %s {{facts}} > "$TMPDIR/expected"
tar -tf "$a" > "$TMPDIR/members"
if grep -qE '^/|(^|/)[.][.](/|$)' "$TMPDIR/members"; then exit 1; fi
tar -xOf "$a" {FACTS} > "$TMPDIR/{FACTS}"
diff "$TMPDIR/expected" "$TMPDIR/{FACTS}" | sed -n 's/^< \\([a-z0-9]*\\) .*/differs: \\1/p' | grep . && exit {UNFIT}
mkdir "$TMPDIR/{OUTSIDE}"
for part in .:{WORKSPACE} "$HOME":{HOME} "$TMPDIR/{OUTSIDE}":{OUTSIDE}; do
  tar -xf "$a" -C "${{{{part%:*}}}}" --strip-components=1 --no-same-owner "${{{{part##*:}}}}"
done
"""
_DIFFERS = re.compile(r"^differs: ([a-z0-9]+)$", re.MULTILINE)


class PreparedArchive(NamedTuple):
    """`file` is shown read-only to the command that unpacks it; `facts` and `variables` are those of this run."""

    file: Path
    facts: str
    variables: Mapping[str, str]

    def unpack(self, workspace: Workspace, cancel: CancelToken) -> str:
        """Unpack it by a command in `workspace`. Returns, as a clause, why it is not used; empty if it is."""
        command = _UNPACK.format(archive=shlex.quote(str(self.file)), facts=shlex.quote(self.facts))
        outcome = workspace.call("bash", {"command": f"(\n{command}\n)", "timeout": _LIMIT}, cancel)
        code = outcome.metadata.get("exit_code")
        if code != UNFIT:
            return "" if code == 0 else "it cannot be unpacked"
        differing = " and ".join(_DIFFERS.findall(outcome.content)) or "facts"
        return f"this job has other {differing} than the one that prepared it"

    def folders(self, unpacked: Path) -> Iterator[EnvironmentFolder]:
        """Yield the folders to be shown at their own path. It is this machine that says which; `unpacked` is where
        commands, which are dead, put what was outside of the workspace."""
        for place in dict.fromkeys(kept_at_their_path(self.variables)):
            source = Path(f"{unpacked}/{OUTSIDE}{place}")
            there = os.path.isdir(place) and os.path.realpath(place) == str(place)
            in_home = place.is_relative_to(Path.home()) and not os.path.lexists(place)
            if (there or in_home) and source.is_dir() and os.path.realpath(source) == str(source):
                yield EnvironmentFolder(source, "", created=True, at=str(place))


def downloaded_file(variables: Mapping[str, str]) -> Path | str:
    """Return the file that the action downloaded, or why it is not used: a clause; empty if there is none to use."""
    folder = variables.get("SLASH_AGENT_ENVIRONMENT")
    digest = variables.get("SLASH_AGENT_ENVIRONMENT_DIGEST")
    if not folder or not digest:
        return ""
    try:
        [file] = Path(os.path.realpath(folder)).iterdir()
        with open(os.open(file, TO_READ), "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size > MOST_BYTES:
                return f"it has {size >> 20:,} MiB, and {MOST_BYTES >> 20:,} is the most"
            actual = hashlib.file_digest(opened, "sha256").hexdigest()
    except (OSError, ValueError):
        return "it could not be downloaded"
    return file if actual == digest else "it is not the one that the job made"
