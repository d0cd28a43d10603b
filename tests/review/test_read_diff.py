"""What a review sees of files that git calls binary: real git, no model."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from bot.checkout.git import Git
from bot.contracts.pulls import Side
from bot.review.diff import Diff, FileStatus
from bot.review.diff_text import pieces_of, unreadable
from bot.review.read_diff import read_diff
from tests.support.repositories import commit_all, git, make_repository

OLD = "let a = 1;\nlet b = 2;\n"
NEW = "let a = 1;\nfetch(evil); // caf\u00e9\n"
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(128, 256)) * 4


def between(repo: Path, base: str = "main", head: str = "HEAD") -> Diff:
    return read_diff(Git(repo / ".git"), git(repo, "rev-parse", base), git(repo, "rev-parse", head))


def changed(tmp_path: Path, old: dict[str, bytes], new: dict[str, bytes | None]) -> Path:
    repo = make_repository(tmp_path / "r", {"README.md": "x\n", **old})
    git(repo, "switch", "-q", "-c", "topic")
    for name, content in new.items():
        (repo / name).unlink(missing_ok=True)
        if content is not None:
            (repo / name).write_bytes(content)
    commit_all(repo)
    return repo


def rows(diff: Diff, path: str = "a.js") -> list[str]:
    file = diff.find(path)
    assert file is not None
    return [row.kind + row.text for hunk in file.hunks for row in hunk.rows()]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_text_with_a_mark_is_shown_as_text(tmp_path: Path, codec: str) -> None:
    mark = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }
    old, new = (mark.get(codec, b"") + text.encode(codec) for text in (OLD, NEW))
    repo = changed(tmp_path, {"a.js": old}, {"a.js": new})
    assert [row.removeprefix(" ").removeprefix("\ufeff") for row in rows(between(repo))] == [
        "let a = 1;", "-let b = 2;", "+fetch(evil); // caf\u00e9"
    ]  # fmt: skip


def left_out(diff: Diff) -> list[str]:
    return list(unreadable(pieces_of(diff)))


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"x = 1 // \0\n", "+x = 1 // \u2400"),
        (b"caf\xe9 // \0\n", "+caf\ufffd // \u2400"),
        (codecs.BOM_UTF16_LE + "abc\n".encode("utf-16-le") + b"\x00\xd8", "+abc"),
    ],
    ids=["NUL", "Latin-1 with a NUL", "half a pair"],
)
def test_a_stray_byte_hides_nothing(tmp_path: Path, data: bytes, shown: str) -> None:
    diff = between(changed(tmp_path, {}, {"a.js": data}))
    assert rows(diff)[0] == shown
    [piece] = pieces_of(diff)
    assert shown[1:] in piece.text
    assert left_out(diff) == []


def test_text_that_becomes_wide_shows_what_really_changed(tmp_path: Path) -> None:
    repo = changed(tmp_path, {"a.js": OLD.encode()}, {"a.js": NEW.encode("utf-16")})
    assert rows(between(repo)) == [" let a = 1;", "-let b = 2;", "+fetch(evil); // caf\u00e9"]


@pytest.mark.parametrize(
    "attributes", ["* -diff", "*.js binary", "*.js -text", "*.js diff=none", "* filter=x"]
)
def test_attributes_of_the_head_hide_nothing(tmp_path: Path, attributes: str) -> None:
    new = {"a.js": NEW.encode(), ".gitattributes": attributes.encode()}
    assert rows(between(changed(tmp_path, {"a.js": OLD.encode()}, new)))[1:] == [
        "-let b = 2;", "+fetch(evil); // caf\u00e9"
    ]  # fmt: skip


def test_what_is_no_text_is_named_as_not_looked_at(tmp_path: Path) -> None:
    new = {"logo.png": PICTURE, "big.sql": b"x\n" * (3 << 20), "a.js": NEW.encode()}
    diff = between(changed(tmp_path, {}, {**new}))
    assert left_out(diff) == ["not looked at: big.sql, logo.png (binary, or too large)"]


def test_text_in_place_of_a_picture_is_shown(tmp_path: Path) -> None:
    repo = changed(tmp_path, {"a.js": PICTURE}, {"a.js": NEW.encode()})
    assert rows(between(repo)) == ["+let a = 1;", "+fetch(evil); // caf\u00e9"]


def test_a_picture_in_place_of_text_is_named(tmp_path: Path) -> None:
    diff = between(changed(tmp_path, {"a.js": OLD.encode()}, {"a.js": PICTURE}))
    assert left_out(diff) == ["not looked at: a.js (binary, or too large)"]


@pytest.mark.parametrize("data", [NEW.encode(), NEW.encode("utf-16")])
def test_a_link_that_becomes_a_file_is_shown(tmp_path: Path, data: bytes) -> None:
    repo = make_repository(tmp_path / "r", {"README.md": "x\n"})
    (repo / "a.js").symlink_to("README.md")
    commit_all(repo)
    git(repo, "switch", "-q", "-c", "topic")
    (repo / "a.js").unlink()
    (repo / "a.js").write_bytes(data)
    commit_all(repo)
    diff = between(repo)
    assert rows(diff) == ["-README.md", "+let a = 1;", "+fetch(evil); // caf\u00e9"]
    assert diff.files[0].status is FileStatus.RETYPED


def test_a_file_that_cannot_be_read_stays_in_a_review_of_what_is_new(tmp_path: Path) -> None:
    repo = changed(tmp_path, {}, {"a.js": PICTURE, "b.js": OLD.encode("utf-16")})
    before = git(repo, "rev-parse", "HEAD")
    for name in ("a.js", "b.js"):
        (repo / name).write_bytes((repo / name).read_bytes()[:-4])
    commit_all(repo)
    new = pieces_of(between(repo), between(repo, before))
    assert [piece.name for piece in new] == ["a.js", "b.js"]


def test_a_submodule_in_place_of_a_picture_is_no_error(tmp_path: Path) -> None:
    repo = changed(tmp_path, {"a.js": PICTURE}, {"a.js": None})
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD')},a.js")
    git(repo, "commit", "-q", "-m", "Submodule")
    assert left_out(between(repo)) == ["not looked at: a.js (binary, or too large)"]


def test_line_numbers_are_those_of_the_decoded_file(tmp_path: Path) -> None:
    file = between(changed(tmp_path, {"a.js": OLD.encode("utf-16")}, {"a.js": NEW.encode("utf-16")})).files[0]
    assert [hunk.changed(Side.RIGHT) for hunk in file.hunks] == [{2}]
