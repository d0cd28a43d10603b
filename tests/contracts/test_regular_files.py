"""Only regular files are read, and nothing is waited for."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.contracts.regular_files import read_regular


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
