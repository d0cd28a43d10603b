"""What a review sees of files that git, or an attribute, calls binary: real git, no model."""

from pathlib import Path

import pytest

from bot.checkout.git import Git
from bot.checkout.objects import diff_between
from bot.review.diff import Diff, parse_diff
from bot.review.diff_text import pieces_of, unreadable
from tests.support.repositories import commit_all, git, make_repository

OLD = "let a = 1;\nlet b = 2;\n"
NEW = "let a = 1;\nfetch(evil); // caf\u00e9\n"


def changed(tmp_path: Path, old: dict[str, bytes], new: dict[str, bytes]) -> Diff:
    repo = make_repository(tmp_path / "r", {"README.md": "x\n", **old})
    git(repo, "switch", "-q", "-c", "topic")
    for name, content in new.items():
        (repo / name).write_bytes(content)
    commit_all(repo)
    ends = git(repo, "rev-parse", "main"), git(repo, "rev-parse", "HEAD")
    return parse_diff(diff_between(Git(repo / ".git"), *ends))


@pytest.mark.parametrize(
    "attributes", ["* -diff", "*.js binary", "*.js -text", "*.js diff=none", "* filter=x"]
)
def test_attributes_of_the_head_hide_nothing(tmp_path: Path, attributes: str):
    new = {"a.js": NEW.encode(), ".gitattributes": attributes.encode()}
    file = changed(tmp_path, {"a.js": OLD.encode()}, new).find("a.js")
    assert file is not None
    assert [row.kind + row.text for hunk in file.hunks for row in hunk.rows()][1:] == [
        "-let b = 2;", "+fetch(evil); // caf\u00e9"
    ]  # fmt: skip


def test_what_git_shows_no_lines_of_is_named_as_not_looked_at(tmp_path: Path):
    new = {
        "big.sql": b"x\n" * (3 << 20),
        "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "nul.js": b"x = 1 // \0\n",
        "wide.js": NEW.encode("utf-16"),
        "a.js": NEW.encode(),
    }
    diff = changed(tmp_path, {"wide.js": OLD.encode("utf-16")}, new)
    assert list(unreadable(pieces_of(diff))) == [
        "not looked at: big.sql, logo.png, nul.js, wide.js (binary, or too large)"
    ]
