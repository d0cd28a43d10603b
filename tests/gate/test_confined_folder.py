from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from bot.gate.confined_folder import UnreadableError, open_below, read_confined


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/file").write_bytes(b"\0data")
    (tmp_path / "in/sub/file").write_text("inner")
    (tmp_path / "in/link").symlink_to("file")
    (tmp_path / "in/out").symlink_to(tmp_path / "secret")
    (tmp_path / "in/up").symlink_to("..")
    return tmp_path / "in"


def test_a_file_is_read(folder: Path) -> None:
    assert read_confined(folder, "file", 5) == b"\0data"
    assert read_confined(folder, "sub/file", 100) == b"inner"


@pytest.mark.parametrize(
    "name",
    ["link", "out", "up/secret", "../secret", "sub/../../secret", "/etc/passwd", "/proc/self/environ", "sub",
     "", ".", "nowhere", "file\0", "file/", "sub/../up/secret"],
)  # fmt: skip
def test_anything_else_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(UnreadableError):
        read_confined(folder, name, 1000)


def test_a_file_over_the_limit_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(UnreadableError, match=r"'file' in .* has 5 bytes; the limit is 4"):
        read_confined(folder, "file", 4)


def test_a_pipe_is_refused_without_hanging(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(UnreadableError, match="not a regular file"):
        read_confined(folder, "pipe", 10)


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(folder)
    with pytest.raises(UnreadableError, match="cannot be opened as a folder"):
        read_confined(tmp_path / "alias", "file", 10)


def test_swapping_a_folder_for_a_link_meanwhile_never_leads_out(folder: Path, tmp_path: Path) -> None:
    """A folder is swapped for a link and back as fast as it goes; the outside file must never come back."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("secret")
    (tmp_path / "alias").symlink_to(tmp_path / "outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(folder / "sub", tmp_path / "away")
            os.rename(tmp_path / "alias", folder / "sub")
            os.rename(folder / "sub", tmp_path / "alias")
            os.rename(tmp_path / "away", folder / "sub")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(3000):
            with contextlib.suppress(UnreadableError):
                assert read_confined(folder, "sub/file", 100) == b"inner"
    finally:
        stop.set()
        thread.join()


def test_another_file_system_is_not_entered() -> None:
    """/proc lies on another one wherever there is one."""
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError, match="Invalid cross-device link"):
            open_below(descriptor, "proc/self/environ", os.O_RDONLY)
    finally:
        os.close(descriptor)
