"""Exit codes: 2 is bad input, and nothing that the machine lacks is; and what is no regular file is not read."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.agent.journal import JournalError
from bot.checkout.git import CheckoutError, Git, GitError
from bot.cli import clean, main
from bot.contracts.capacity import CapacityError
from bot.contracts.errors import AgentError, ExitCode, UsageError, shortage_remedy
from bot.contracts.outcome import Status, StopReason, exit_code
from bot.contracts.regular_files import read_regular
from bot.session.run_folder import FolderBusy, new_folder
from bot.workspace.process import WorkspaceError
from tests.support.files import write_file


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENOMEM])
def test_a_shortage_of_the_machine_is_no_bad_input_whatever_was_done(number: int):
    words = os.strerror(number)
    assert CheckoutError(f"x could not be fetched: {words}").exit_code is ExitCode.UNAVAILABLE
    assert shortage_remedy(f"a sentence: {words}.")


def test_bad_input_stays_bad_input():
    assert UsageError("--out x cannot be written: Permission denied").exit_code is ExitCode.USAGE


@pytest.mark.parametrize("error", [FolderBusy, JournalError, CapacityError, WorkspaceError])
def test_what_the_machine_could_not_do_exits_with_75(error: type[AgentError]):
    assert error("x").exit_code is ExitCode.UNAVAILABLE


def test_a_run_that_broke_off_is_not_called_an_internal_error():
    assert exit_code(StopReason.ERROR, Status.FAILED) is ExitCode.UNAVAILABLE


def test_a_git_that_was_killed_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "git"
    write_file(program, "#!/bin/sh\nkill -XFSZ $$\n", 0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="killed by SIGXFSZ") as caught:
        Git(tmp_path).run("status")
    assert shortage_remedy(str(caught.value)) == "allow larger files (`ulimit -f`)"


def test_a_folder_for_runs_that_cannot_be_made_names_what_to_set():
    with pytest.raises(AgentError, match="Set XDG_STATE_HOME") as caught:
        new_folder({"XDG_STATE_HOME": "/proc/nowhere"})
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.EROFS, os.strerror(errno.EROFS)), "make the disk writable"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "ulimit -f"),
        (ImportError("x.so: failed to map segment from shared object"), "free some memory"),
        (MemoryError(), "free some memory"),
    ],
)
def test_what_the_machine_lacks_is_no_internal_error(
    error: Exception, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(clean, "run", fail)
    assert main.run(["clean"]) == ExitCode.UNAVAILABLE
    assert remedy in capsys.readouterr().err


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def _link(path: Path) -> None:
    (path.parent / "target").write_bytes(b"of somebody else")
    path.symlink_to("target")


IRREGULAR: dict[str, Callable[[Path], object]] = {
    "a fifo": os.mkfifo,
    "a socket": _socket,
    "a link": _link,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_regular_file_is_refused_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # the name of a socket has an end
    IRREGULAR[kind](Path("x"))
    with pytest.raises(OSError, match="it is not a regular file"):
        read_regular("x", 10)


def test_a_device_is_refused():
    with pytest.raises(OSError, match="it is not a regular file"):
        read_regular("/dev/zero", 10)


def test_a_file_is_read_up_to_the_limit(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "x", 4) == b"0123"
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "y", 4)
