"""One run a folder: a second is refused at once, and one that died is in nobody's way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode
from bot.run.run import run_until
from bot.session.context.run import RunSpec
from bot.session.run_folder import FolderBusy, RunFolder, lock_folder

HOLD = """
import subprocess, sys
from pathlib import Path
from bot.session.run_folder import lock_folder
with lock_folder(Path(sys.argv[1])):
    # A child that outlives its parent must not keep the lock.
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    sys.stdin.read()
"""


def test_a_second_run_in_one_process_is_refused_and_the_first_ends_freely(tmp_path: Path) -> None:
    with lock_folder(tmp_path):
        with pytest.raises(FolderBusy, match="busy: another run uses") as caught, lock_folder(tmp_path):
            pass
        assert caught.value.exit_code is ExitCode.UNAVAILABLE
    with lock_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_meanwhile_leaves_the_folder_free(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lock_folder(tmp_path):
        raise RuntimeError
    with lock_folder(tmp_path):
        pass


def test_another_process_is_refused_until_the_first_is_dead_however_it_died(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = 0
    try:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        with pytest.raises(FolderBusy), lock_folder(tmp_path):
            pass
        other.kill()
        other.wait(timeout=60)
        with lock_folder(tmp_path):
            pass
    finally:
        other.kill()
        if child:
            os.kill(child, signal.SIGKILL)  # before the pipe is read to its end, which it holds open
        other.communicate(timeout=60)


def test_a_run_in_a_folder_that_another_has_is_refused_before_it_begins(tmp_path: Path) -> None:
    from tests.support.sessions import header

    asked = RunSpec(
        request=header().request, source=None, folder=RunFolder(tmp_path), connect=None, environment={}
    )  # type: ignore[arg-type]  # it must not get so far as to need them
    (tmp_path / "kept").write_text("of the other run")
    with lock_folder(tmp_path), pytest.raises(FolderBusy):
        run_until(CancelToken(), asked)
    assert (tmp_path / "kept").exists()
