"""Programs that are run to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_program(
    argv: Sequence[str | Path], *, check: bool = False, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Its exit code and what it printed, as text. `more` as for `subprocess.run`."""
    return subprocess.run(argv, capture_output=True, text=True, check=check, **more)
