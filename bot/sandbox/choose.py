"""Find the sandbox that a run will use. Whether it really holds is shown at its start, by canaries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import Literal

from bot.contracts.errors import NoSandboxError
from bot.sandbox.bubblewrap import Bubblewrap
from bot.sandbox.confinement import Confinement
from bot.sandbox.off import Off

Setting = Literal["auto", "strict", "off"]

HOW_TO_FIX = (
    "Install it (apt-get install bubblewrap); on GitHub's runners keep the action's input setup-sandbox "
    "on; at your own terminal, and only for a repository and a request that you trust, use --sandbox off."
)

_USUAL = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap")


def choose(setting: Setting) -> Confinement:
    """The confinement for `setting`; nothing is started. Raises `NoSandboxError` where there is none."""
    if setting == "off":
        return Off()
    if sys.platform != "linux":
        raise NoSandboxError(f"There is no sandbox for {sys.platform}; the agent runs on Linux. {HOW_TO_FIX}")
    program = next((path for path in _USUAL if os.access(path, os.X_OK)), None) or shutil.which("bwrap")
    if program is None:
        raise NoSandboxError(f"bubblewrap (bwrap) is not installed. {HOW_TO_FIX}")
    return Bubblewrap(os.path.abspath(program), _version(program))


def _version(program: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True, env={}, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise NoSandboxError(f"{program} --version failed: {error}. {HOW_TO_FIX}") from error
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", answer)
    if found is None:
        raise NoSandboxError(f"{program} gave no version but {answer.strip()!r}. {HOW_TO_FIX}")
    return tuple(map(int, found.groups()))
