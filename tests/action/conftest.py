"""The Action as a runner would have it: installed from the lock, with a forge for its GitHub."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session.conftest import checks, stage
from tests.support.runner import ROOT

__all__ = ["checks", "stage"]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `install.py` makes, from the package index: some fifteen seconds, once for all workers of a run."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    venv, completed = shared / "action-venv", shared / "action-installed"
    with (shared / "action-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not completed.exists():
            subprocess.run([sys.executable, ROOT / ".github" / "action" / "install.py", venv], check=True)
            completed.touch()
    return venv
