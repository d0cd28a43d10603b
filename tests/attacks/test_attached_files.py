"""Hostile archives that somebody attached (A-83), by the real unpacker in the real sandbox."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.attachments.confined import RejectedFile
from bot.attachments.fetch import FILE_LIMITS, Fetcher, site_of
from bot.attachments.files import AttachedFiles, Unpacker, file_line
from bot.attachments.read_inside import MAX_BYTES, MAX_FILES, _Rejected, unpack_archive
from bot.workspace.sandbox.backends import bubblewrap
from slash_forge import Forge
from tests.attachments.archives import encrypted, tarred, zipped

pytestmark = pytest.mark.bubblewrap

FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
CHARACTER, PIPE = tarfile.CHRTYPE, tarfile.FIFOTYPE
OUTSIDE, A_LINK, SPECIAL = "its path leads out of the archive", "it is a link", "it is not a regular file"
REPO = "octo/hello"


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    with Forge() as forge:
        forge.add_user("octo")
        forge.create_repository("octo", "hello")
        yield forge


def attach(forge: Forge, folder: Path, data: bytes) -> AttachedFiles:
    """Fetch and unpack `data` as a run does, into `folder`/archive/attachments."""
    files = AttachedFiles(
        folder / "archive" / "attachments",
        Fetcher(site_of(forge.url), FILE_LIMITS),
        Unpacker(bubblewrap(), folder / "empty"),
    )
    files.add(forge.attach_file(REPO, "octo", "logs.zip", data), "the issue")
    return files


# One archive each, with the names that are left out and why. Every one holds a harmless `ok.log` too.
HOSTILE: dict[str, tuple[bytes, dict[str, str]]] = {
    "zip paths": (
        zipped(dict.fromkeys(["../../x", "/tmp/a83", "a/../../x", "C:\\x", "..\\..\\x", "ok.log"], b"12:00")),
        dict.fromkeys(["../../x", "/tmp/a83", "a/../../x", "C:/x"], OUTSIDE),
    ),
    "tar paths": (
        tarred(("../../x", FILE, b"12:00"), ("/tmp/a83", FILE, b"12:00"), ("ok.log", FILE, b"12:00")),
        {"../../x": OUTSIDE, "/tmp/a83": OUTSIDE},
    ),
    "tar links": (
        tarred(
            ("etc", LINK, b"/etc"), ("etc/x", FILE, b"12:00"), ("up", LINK, b"../../.."),
            ("hard", HARD, b"/etc/passwd"), ("ok.log", FILE, b"12:00"),
        ),
        {"etc": A_LINK, "up": A_LINK, "hard": A_LINK},
    ),
    "tar devices": (
        tarred(("null", CHARACTER, b""), ("pipe", PIPE, b""), ("ok.log", FILE, b"12:00")),
        {"null": SPECIAL, "pipe": SPECIAL},
    ),
    "encrypted": (encrypted({"secret.log": b"12:00"}), {"secret.log": "it is encrypted"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a83_what_is_hostile_in_an_archive_is_left_out_by_name(
    forge: Forge, tmp_path: Path, name: str
) -> None:
    data, left = HOSTILE[name]
    [file] = attach(forge, tmp_path, data).files
    for path, why in left.items():
        assert f"`{path}`: {why}" in file.left
        assert f"`{path}`: {why}" in file_line(file)
    assert_only_files_beneath(tmp_path, name)


def assert_only_files_beneath(folder: Path, name: str) -> None:
    own = folder / "archive" / "attachments" / "1"
    there = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert all(path.is_file() and not path.is_symlink() and own in path.parents for path in there)
    assert (own / "ok.log").exists() == (name != "encrypted")
    assert not Path("/tmp/a83").exists()


def test_a83_a_link_in_a_zip_is_no_link(forge: Forge, tmp_path: Path) -> None:
    [file] = attach(forge, tmp_path, zipped({"etc": b"/etc", "etc/x": b"12:00"}, stat.S_IFLNK)).files
    assert (file.files, file.left) == ((), (f"`etc`: {A_LINK}", f"`etc/x`: {A_LINK}"))


def lying() -> bytes:
    """A zip that says that 100 MB are ten bytes."""
    data = bytearray(zipped({"a": bytes(100_000_000)}))
    for mark, field in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        place = data.find(mark) + field
        data[place : place + 4] = (10).to_bytes(4, "little")
    return bytes(data)


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "zip": (lambda: zipped({"a": bytes(100_000_000)}), "more than 200 times its size"),
    "zip of many": (
        lambda: zipped({f"{n}": bytes(1_000_000) for n in range(60)}),
        "more than 200 times its size",
    ),
    "gzip": (lambda: gzip.compress(bytes(100_000_000)), "more than 200 times its size"),
    "tar": (lambda: tarred(("a", FILE, bytes(100_000_000))), "more than 200 times its size"),
    "files": (lambda: zipped(dict.fromkeys(map(str, range(MAX_FILES + 1)), b"")), "more than 1,000 files"),
    "folders": (
        lambda: tarred(*((f"a/{n}", FILE, b"") for n in range(MAX_FILES + 1))),
        "more than 1,000 files",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a83_a_bomb_is_refused_whole(forge: Forge, tmp_path: Path, name: str) -> None:
    made, why = BOMBS[name]
    with pytest.raises(RejectedFile, match=why):
        attach(forge, tmp_path, made())
    assert not (tmp_path / "archive").exists()


def test_a83_a_file_that_is_longer_than_its_archive_says_does_not_come(forge: Forge, tmp_path: Path) -> None:
    [file] = attach(forge, tmp_path, lying()).files
    assert (file.files, file.left) == ((), ("`a`: it is damaged, or packed in an unknown way",))


def test_a83_no_archive_becomes_more_than_a_size_whatever_its_own() -> None:
    """Stored and not packed, by the program that runs inside."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", bytes(MAX_BYTES))
        archive.writestr("b", b"1")
    with pytest.raises(_Rejected, match="size"):
        unpack_archive(buffer.getvalue(), "zip", "")
