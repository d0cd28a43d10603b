"""The Action as a runner would have it: installed from the lock, with a forge for its GitHub."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slash_forge import Forge
from tests.support.runner import ROOT
from tests.support.stage import Stage, open_stage


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


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Forge() as forge:
        yield open_stage(forge, tmp_path / "stage", checks=False)
