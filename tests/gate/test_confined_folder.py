import contextlib
import os
import threading
from pathlib import Path

import pytest

from bot.contracts.errors import GateError
from bot.gate.confined_folder import open_below, open_confined
from tests.support.files import write_file


def names_in(folder: Path, path: str) -> list[str]:
    with open_confined(folder) as confined:
        descriptor = open_below(confined, path)
        try:
            return sorted(os.listdir(descriptor))
        finally:
            os.close(descriptor)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in/sub/inner").mkdir(parents=True)
    (tmp_path / "in/sub/file").write_text("inner")
    (tmp_path / "in/link").symlink_to("sub")
    (tmp_path / "in/up").symlink_to("..")
    os.mkfifo(tmp_path / "in/pipe")
    return tmp_path / "in"


def test_a_folder_is_opened(folder: Path):
    assert names_in(folder, "") == ["link", "pipe", "sub", "up"]
    assert names_in(folder, "sub") == ["file", "inner"]
    assert names_in(folder, "sub/inner") == []


@pytest.mark.parametrize(
    "path",
    ["link", "link/inner", "up", "up/in", "..", "sub/..", "sub/../../in", "/etc", ".", "sub/file", "pipe", "nowhere",
     "sub/"],
)  # fmt: skip
def test_a45_anything_else_is_refused(folder: Path, path: str):
    with pytest.raises(OSError, match="Errno"):
        names_in(folder, path)


def test_a_root_that_is_a_link_is_refused(folder: Path, tmp_path: Path):
    (tmp_path / "alias").symlink_to(folder)
    with pytest.raises(GateError, match="cannot be opened as a folder"):
        names_in(tmp_path / "alias", "sub")


def test_a45_swapping_a_folder_for_a_link_meanwhile_never_leads_out(folder: Path, tmp_path: Path):
    """A folder is swapped for a link and back as fast as it goes; the outside file must never come back."""
    write_file(tmp_path / "outside/secret", "secret")
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
            with contextlib.suppress(OSError):
                assert names_in(folder, "sub") == ["file", "inner"]
    finally:
        stop.set()
        thread.join()


def test_another_file_system_is_not_entered():
    """/proc lies on another one wherever there is one."""
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError, match="Invalid cross-device link"):
            open_below(descriptor, "proc/self")
    finally:
        os.close(descriptor)
