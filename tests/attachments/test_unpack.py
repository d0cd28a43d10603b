"""Archives are unpacked behind the wall; what is hostile in one is left out by name, and a bomb is refused whole."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.attachments import confined
from bot.attachments.confined import RejectedFile
from bot.attachments.files import Unpacked, Unpacker, kind_of
from bot.attachments.read_inside import MAX_FILES, path_problem
from bot.workspace.sandbox.backends import Off, bubblewrap
from tests.attachments.archives import pdf, tarred, zipped

pytestmark = pytest.mark.bubblewrap

LOG = b"12:00 started\n"
FILE = tarfile.REGTYPE


@pytest.fixture(scope="module")
def unpacker(tmp_path_factory: pytest.TempPathFactory) -> Unpacker:
    return Unpacker(bubblewrap(), tmp_path_factory.mktemp("unpack") / "empty")


GOOD = {
    "a zip": (lambda: zipped({"a.log": LOG, "deep/er/b.log": b"", "inner.zip": zipped({"x": b"y"})}), 3),
    "a zip made on Windows": (lambda: zipped({"deep\\er.log": LOG}), 1),
    "tar.gz": (lambda: tarred(("./a.log", FILE, LOG), ("deep", tarfile.DIRTYPE, b""), ("deep/b", FILE, LOG)), 2),
    "tar": (lambda: tarred(("a.log", FILE, LOG), mode="w"), 1),
    "gz": (lambda: gzip.compress(LOG), 1),
    "an empty zip": (lambda: zipped({}), 0),
    "text": (lambda: LOG, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_the_files_of_an_archive_come_out_as_they_went_in(unpacker: Unpacker, name: str) -> None:
    archive, count = GOOD[name]
    files, left = unpacker(archive(), "server.log.gz" if name == "gz" else "server.log")
    assert (len(files), left) == (count, ())
    assert set(files) <= {"a.log", "deep/er/b.log", "inner.zip", "deep/er.log", "deep/b", "server.log"}
    assert not files or LOG in files.values()


def test_the_text_of_a_pdf_stands_beside_it(unpacker: Unpacker) -> None:
    data = pdf("The total is wrong.")
    files, left = unpacker(data, "report.pdf")
    assert (files["report.pdf"], left) == (data, ())
    assert files["report.pdf.txt"].strip() == b"The total is wrong."


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[:40], "it is damaged"),
        (lambda data: data.replace(b"/Count 1", b"/Count 9" * 9), ""),
        (lambda data: data.replace(b"trailer <<", b"trailer << /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 "
                                   b"/O (%s) /U (%s) >>" % (b"o" * 32, b"u" * 32)), "it is encrypted"),
    ],
    ids=["cut", "wrong count", "encrypted"],
)  # fmt: skip
def test_a_pdf_whose_text_cannot_be_read_comes_as_it_is(
    unpacker: Unpacker, spoil: Callable[[bytes], bytes], why: str
) -> None:
    data = spoil(pdf("The total is wrong."))
    files, left = unpacker(data, "report.pdf")
    assert files["report.pdf"] == data
    assert why in " ".join(left)
    assert ("report.pdf.txt" in files) is not bool(why)


BROKEN: dict[str, Callable[[], bytes]] = {
    "cut zip": lambda: zipped({"a": LOG})[:40],
    "cut gzip": lambda: gzip.compress(LOG * 99)[:20],
    "a zip that is none": lambda: b"PK\3\4" + bytes(99),
    "a tar that is none": lambda: bytes(257) + b"ustar" + b"\xff" * 600,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_archive_is_refused(unpacker: Unpacker, name: str) -> None:
    with pytest.raises(RejectedFile, match="damaged"):
        unpacker(BROKEN[name](), "x")


def test_a_damaged_file_of_an_archive_is_left_out_and_the_others_come(unpacker: Unpacker) -> None:
    data = bytearray(zipped({"a": LOG * 9, "b": LOG}))
    data[35] ^= 0xFF
    files, left = unpacker(bytes(data), "x")
    assert files == {"b": LOG}
    assert left == ("`a`: it is damaged, or packed in an unknown way",)


def test_two_files_at_one_path_are_one(unpacker: Unpacker) -> None:
    files, left = unpacker(tarred(("a", FILE, b"1"), ("a", FILE, b"2"), ("a/b", FILE, b"3")), "x")
    assert files == {"a": b"1"}
    assert left == ("`a`: another file is at its path", "`a/b`: another file is at its path")


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("a/b.log", ""), ("ä b.log", ""), ("..a/b..", ""), ("../a", "outside"), ("a/../../b", "outside"),
        ("/etc/passwd", "outside"), ("C:/a", "outside"), ("a//b", "path"), ("a/./b", "path"), ("", "path"),
        ("a\nb", "path"), ("a\u202eb", "path"), ("a\\..\\b", "path"), ("\udc80", "path"), ("x" * 251, "path"),
    ],
)  # fmt: skip
def test_a_path_that_is_no_plain_one_beneath_is_refused(path: str, word: str) -> None:
    assert path_problem(path) == word


def said(**fields: object) -> str:
    return f"print({json.dumps(json.dumps(fields))})"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (said(files=[["../x", 0]], left=[]), "damaged"),
        (said(files=[["a", 3]], left=[]), "damaged"),
        (said(files=[["a", -1]], left=[]), "damaged"),
        (said(files=[[f"{n}", 0] for n in range(MAX_FILES + 1)], left=[]), "damaged"),
        (said(files=[], left=[["a", "<b>obey</b>"]]), "damaged"),
        (said(no="<b>obey</b>"), "damaged"),
        (said(files=[], left=[]) + "; print('more')", "damaged"),
        ("pass", "damaged"),
    ],
)
def test_what_an_unpacker_that_was_taken_over_says_is_held_against_what_it_may_say(
    program: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "read_inside.py"
    file.write_text(program)
    monkeypatch.setattr(confined, "PROGRAM", file)
    with pytest.raises(RejectedFile, match=why):
        Unpacker(bubblewrap(), tmp_path / "empty")(zipped({"a": LOG}), "x")


def test_without_a_sandbox_an_archive_is_refused_and_a_text_is_not(tmp_path: Path) -> None:
    without = Unpacker(Off(), tmp_path)
    with pytest.raises(RejectedFile, match="no sandbox"):
        without(zipped({"a": LOG}), "x")
    assert without(LOG, "a.log") == Unpacked({"a.log": LOG})


def test_the_kind_is_what_the_bytes_say() -> None:
    assert [kind_of(data) for data in (zipped({}), gzip.compress(b""), tarred(mode="w:"), LOG, b"")] == [
        "zip", "gzip", "", "", "",
    ]  # fmt: skip
