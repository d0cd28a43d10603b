"""git's diffs, read: against git itself, and each thing that must be refused."""

import os
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.checkout.git import Git
from bot.checkout.objects import diff_between
from bot.contracts.pulls import Side
from bot.review.diff import Diff, DiffError, FileDiff, FileStatus, Hunk, parse_diff
from bot.review.diff_text import pieces_of, unreadable
from tests.support.repositories import Repository, commit_all, git, make_repository

LINES = [
    "alpha", "  beta", "", "gamma\r", "-- dash", "++ plus", "\\ No newline", "@@ -1 +1 @@",
    "diff --git a/x b/x",
]  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def put(repository: Repository, files: dict[bytes, bytes | None]) -> None:
    """Commit this state of the files."""
    for name, content in files.items():
        if content is None:
            (repository.path / os.fsdecode(name)).unlink()
        else:
            repository.write(os.fsdecode(name), content)
    repository.commit()


def diff_of(repository: Repository, *options: str) -> bytes:
    command = ["git", "diff", "-M", "--no-ext-diff", *options, "HEAD~", "HEAD"]
    return subprocess.run(command, cwd=repository.path, check=True, capture_output=True).stdout


def changed(
    repository: Repository, before: dict[bytes, bytes | None], after: dict[bytes, bytes | None]
) -> Diff:
    put(repository, before)
    put(repository, after)
    return parse_diff(diff_of(repository))


def only(diff: Diff) -> FileDiff:
    (file,) = diff.files
    return file


def test_a_changed_line_has_its_number_on_each_side(repository: Repository):
    file = only(changed(repository, {b"f": b"a\nb\nc\n"}, {b"f": b"a\nB\nc\nd\n"}))
    (hunk,) = file.hunks
    assert (file.path, file.status) == ("f", FileStatus.MODIFIED)
    rows = [(" ", 1, 1, "a"), ("-", 2, 0, "b"), ("+", 0, 2, "B"), (" ", 3, 3, "c"), ("+", 0, 4, "d")]
    assert [tuple(row) for row in hunk.rows()] == rows
    assert (hunk.side(Side.LEFT), hunk.side(Side.RIGHT)) == (["a", "b", "c"], ["a", "B", "c", "d"])
    assert (hunk.changed(Side.LEFT), hunk.changed(Side.RIGHT)) == ({2}, {2, 4})
    assert [hunk.holds(Side.RIGHT, line) for line in range(6)] == [False, True, True, True, True, False]
    assert [hunk.holds(Side.LEFT, line) for line in range(6)] == [False, True, True, True, False, False]


def test_a_renamed_file_is_found_by_both_names(repository: Repository):
    text = b"".join(b"line %d\n" % n for n in range(20))
    diff = changed(repository, {b"old name": text}, {b"old name": None, b"new name": text + b"more\n"})
    file = only(diff)
    assert (file.status, file.old_path, file.path) == (FileStatus.RENAMED, "old name", "new name")
    assert diff.find("old name") is diff.find("new name") is file
    assert len(file.hunks) == 1


def test_a_pure_rename_has_no_hunks(repository: Repository):
    text = b"".join(b"line %d\n" % n for n in range(20))
    assert only(changed(repository, {b"a": text}, {b"a": None, b"b": text})).hunks == ()


def test_added_removed_and_empty_files(repository: Repository):
    diff = changed(repository, {b"gone": b"x\n"}, {b"gone": None, b"new": b"y\n", b"empty": b""})
    found = {file.path: (file.status, len(file.hunks)) for file in diff.files}
    added = FileStatus.ADDED
    assert found == {"gone": (FileStatus.REMOVED, 1), "new": (added, 1), "empty": (added, 0)}


def test_a_mode_alone_changes_no_line(repository: Repository):
    put(repository, {b"run me": b"x\n"})
    (repository.path / "run me").chmod(0o755)
    put(repository, {})
    file = only(parse_diff(diff_of(repository)))
    assert (file.path, file.old_mode, file.new_mode, file.hunks) == ("run me", "100644", "100755", ())


def test_binary_files_are_known_in_both_forms(repository: Repository):
    before = {b"a.bin": b"\0" * 100, b"b": b"x\n"}
    put(repository, before)
    put(repository, {b"a.bin": bytes(range(256)) * 9, b"b": b"y\n"})
    for options in ((), ("--binary",)):
        binary, text = parse_diff(diff_of(repository, *options)).files
        assert (binary.binary, binary.hunks) == (True, ())
        assert (text.binary, len(text.hunks)) == (False, 1)


NAMES = [
    "with space", " ", "a b/c d", "ta\tb", "é", "日本語.txt", 'quo"te', "back\\slash", "new\nline", "a b/b",
    "x b/x", "-dash", "b/b", "tab\tand é", "\udcff\udcfe.txt",
]  # fmt: skip


def test_every_name_comes_back_as_it_is(repository: Repository):
    paths = [name.encode(errors="surrogateescape") for name in NAMES]
    put(repository, dict.fromkeys(paths, b"1\n"))
    for content in (b"2\n", b"\0bin", None):
        put(repository, dict.fromkeys(paths, content))
        assert {file.path for file in parse_diff(diff_of(repository)).files} == set(NAMES)


def test_a_missing_newline_is_no_line(repository: Repository):
    (hunk,) = only(changed(repository, {b"f": b"a\nb"}, {b"f": b"a\nc"})).hunks
    assert (hunk.side(Side.LEFT), hunk.side(Side.RIGHT)) == (["a", "b"], ["a", "c"])


def test_a_line_ends_at_a_line_feed_only(repository: Repository):
    text = "one\r\ntwo\x0cstill\u2028two\x85\r\n".encode()
    (hunk,) = only(changed(repository, {b"f": b""}, {b"f": text})).hunks
    assert hunk.side(Side.RIGHT) == ["one\r", "two\x0cstill\u2028two\x85\r"]


def test_a_file_that_became_a_link_shows_the_lines_of_both(repository: Repository):
    put(repository, {b"f": b"text\n"})
    (repository.path / "f").unlink()
    (repository.path / "f").symlink_to("elsewhere")
    put(repository, {})
    before, after = parse_diff(diff_of(repository)).files
    assert (before.status, after.status) == (FileStatus.REMOVED, FileStatus.ADDED)
    assert [file.hunks[0].texts for file in (before, after)] == [("text",), ("elsewhere",)]


def test_no_diff_has_no_files():
    assert parse_diff(b"").files == ()


@pytest.mark.parametrize("context", ["-U0", "-U1", "-U3", "-U50"])
def test_random_changes_come_back_as_git_made_them(repository: Repository, context: str):
    chance = random.Random(context)
    before = [chance.choice(LINES) for _ in range(200)]
    put(repository, {b"f": "\n".join(before).encode() + b"\n"})
    for _ in range(12):
        after = [line for line in before if chance.random() > 0.1]
        for _ in range(chance.randrange(12)):
            after.insert(chance.randrange(len(after) + 1), chance.choice(LINES))
        put(repository, {b"f": "\n".join(after).encode() + b"\n"})
        for file in parse_diff(diff_of(repository, context)).files:
            for hunk in file.hunks:
                _is_in(hunk, Side.LEFT, before)
                _is_in(hunk, Side.RIGHT, after)
            assert _put_together(before, file.hunks) == after
        before = after


def _is_in(hunk: Hunk, side: Side, lines: list[str]) -> None:
    start = hunk.start(side) - 1
    if hunk.size(side):
        assert hunk.side(side) == lines[start : start + hunk.size(side)]


def _put_together(before: list[str], hunks: tuple[Hunk, ...]) -> list[str]:
    lines = list(before)
    for hunk in reversed(hunks):
        start = hunk.old_start - 1 if hunk.size(Side.LEFT) else hunk.old_start
        lines[start : start + hunk.size(Side.LEFT)] = hunk.side(Side.RIGHT)
    return lines


GOOD = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ def f():\n-a\n+b\n c\n"


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        (b"diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined"),
        (b"diff --combined f\n", "combined"),
        (b"hello\n", "`diff --git` was expected"),
        (GOOD + b" d\n", "not as many lines"),
        (GOOD.replace(b" c\n", b""), "not as many lines"),
        (GOOD.replace(b"+b\n", b"+b\n+x\n+y\n"), "not as many lines"),
        (GOOD.replace(b"-1,2 +1,2", b"-1,x +1,2"), "head of a hunk"),
        (GOOD.replace(b"-1,2", b"-1,99999999999"), "head of a hunk"),
        (GOOD.replace(b"a/f b/f", b"a/f b/g"), "differ without a rename"),
        (GOOD.replace(b"a/f b/f", b'"a/f b/f'), "differ|quoted name"),
        (GOOD.replace(b"a/f b/f", b'"a/\\9" "b/f"'), "quoted name"),
        (GOOD.replace(b"a/f b/f", b"f f"), "differ"),
    ],
)
def test_what_git_does_not_write_is_refused(diff: bytes, why: str):
    assert len(parse_diff(GOOD).files) == 1
    with pytest.raises(DiffError, match=why):
        parse_diff(diff)


@given(st.binary(max_size=400))
def test_rubbish_is_refused_and_nothing_else_happens(rubbish: bytes):
    for diff in (rubbish, b"diff --git " + rubbish, GOOD + rubbish, GOOD.replace(b"+b", b"+" + rubbish)):
        with suppress(DiffError):
            parse_diff(diff)


def test_a_huge_diff_takes_time_in_proportion():
    def took(lines: int) -> float:
        body = b"".join(b"+line %d\n" % n for n in range(lines))
        head = b"diff --git a/f b/f\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,%d @@\n"
        raw = head % lines + body
        started = time.process_time()
        (file,) = parse_diff(raw).files
        assert file.hunks[0].size(Side.RIGHT) == lines
        return time.process_time() - started

    took(1000)
    # Ten times the lines at most forty times the time: a quadratic reader would need a hundred.
    assert took(200_000) < 40 * max(took(20_000), 0.005)


# Binary files


OLD = "let a = 1;\nlet b = 2;\n"
NEW = "let a = 1;\nfetch(evil); // caf\u00e9\n"


def changed_binary(tmp_path: Path, old: dict[str, bytes], new: dict[str, bytes]) -> Diff:
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
    file = changed_binary(tmp_path, {"a.js": OLD.encode()}, new).find("a.js")
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
    diff = changed_binary(tmp_path, {"wide.js": OLD.encode("utf-16")}, new)
    assert list(unreadable(pieces_of(diff))) == [
        "not looked at: big.sql, logo.png, nul.js, wide.js (binary, or too large)"
    ]
