import hashlib
import os
from pathlib import Path

import pytest

from bot.contracts.tools import Answer
from bot.toolhost.context import Records
from bot.toolhost.files import LARGE
from tests.toolhost.conftest import Bench


def viewed(bench: Bench, name: str, content: str | bytes) -> Path:
    path = bench.write(name, content)
    bench.call("view", path=name)
    return path


def test_the_result_shows_the_place_and_the_metadata_has_diff_counts_and_hashes(bench: Bench):
    lines = [f"line {n}\n" for n in range(1, 11)]
    path = viewed(bench, "a.py", "".join(lines))
    path.chmod(0o550)
    outcome = bench.call("edit", path="a.py", old="line 5\n", new="five\nand a half\n")
    assert path.read_text().splitlines()[3:7] == ["line 4", "five", "and a half", "line 6"]
    assert outcome.content == (
        "Edited a.py (+2 -1).\n3|line 3\n4|line 4\n5|five\n6|and a half\n7|line 6\n8|line 7"
    )
    assert outcome.metadata == {
        "path": "a.py",
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -2,7 +2,8 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n+and a half\n"
        " line 6\n line 7\n line 8\n",
        "additions": 2,
        "removals": 1,
        "before_hash": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "after_hash": hashlib.sha256(path.read_bytes()).hexdigest(),
        "created": False,
        "mode": 0o550,
        "content": path.read_text(),
    }
    assert path.stat().st_mode & 0o7777 == 0o550
    assert os.listdir(bench.root) == ["a.py"], "no temporary file is left"
    [(tool, files, diff)] = bench.questions
    assert (tool, files) == ("edit", [("a.py", "change")])
    assert "-line 5\n+five\n" in diff


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\ntwo\n", "one\n", "", b"two\n"),
        (b"one\n", "one\n", "", b""),
        (b"", "", "one\n", b"one\n"),
        (b"one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n2b\n", b"1\r\n2\r\n2b\r\nthree\r\n"),
        (b"one\r\ntwo\r\n", "one\r\n", "1\r\n1b\r\n", b"1\r\n1b\r\ntwo\r\n"),
        (b"one\r\ntwo\r\nthree\nfour\n", "two", "2\n2b", b"one\r\n2\n2b\r\nthree\nfour\n"),
        (b"one\r\ntwo\nthree\r\n", "two", "2\n2b", b"one\r\n2\r\n2b\nthree\r\n"),
        (b"caf\xe9 one\n\x93two\x94\n", "one", "1", b"caf\xe9 1\n\x93two\x94\n"),
        (b"one\ntwo", "one", "1", b"1\ntwo"),
        ("größe\nzwei\n".encode("utf-8-sig"), "größe", "länge", "länge\nzwei\n".encode("utf-8-sig")),
    ],
)
def test_line_ends_encoding_and_byte_order_mark_stay(
    bench: Bench, before: bytes, old: str, new: str, after: bytes
):
    path = viewed(bench, "a.txt", before)
    bench.call("edit", path="a.txt", old=old, new=new)
    assert path.read_bytes() == after


NOTHING_ALIKE = "completely different text\nof two lines\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "words"),
    [
        ("a = 1\nb = 2\na = 1\n", "a = 1", "a = 3", "occurs 2 times in a.py (lines 1, 3)"),
        ("a = 1\nb = 2\na = 1\n", "a = 1", "a = 3", '2|b = 2\n3|a = 1\nExtend "old" with lines around'),
        ("aaa\n", "aa", "b", "occurs 2 times"),
        ("one\n", "", "two\n", "use write"),
        (b"caf\xe9 one\n", "one", "ü", "not UTF-8"),
        (b"\x7fELF\0\0", "E", "F", "is not text: it is a binary file"),
        (b"\xff\xfe\x00", "E", "F", "is not text: it is a binary file"),
        ("a = 1\n", NOTHING_ALIKE, "x", 'nor anything like it. Search for it with grep, or call view {"path": "a.py"}'),
        ("total = price * 2\n", "total = cost + 1", "total = price * 2", '"new" already is, at line 1'),
        ("def f():\n        return 1\n", "def f():\n    return 1\n", "x", "closest place is at line 1.\n1|def f():"),
        ("def f():\n        return 1\n", "def f():\n    return 1\n", "x",
         "First difference, line 2 of the file (· space, → tab):\nfile: ········return·1\nsent: ····return·1"),
        ("def f():\n\treturn 1\n", "def f():\n    return 1\n", "x", "file: →return·1\nsent: ····return·1"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2\n", "x", "file: a·=·1··\nsent: a·=·1\n"),
        ("say(“hello”)\n", 'say("hello")\n', "x", 'file: say(“hello”)\nsent: say("hello")'),
        ("alpha = 1\nbeta = 2\n", "1|alpha = 1\n2|beta = 2\n", "x", "file: alpha·=·1\nsent: 1|alpha·=·1"),
        ("a = 1\nb = 2\n", "a = 1\nb = 2\n\n", "x", "file: (no line)\nsent: \n"),
        ("Value = 1\n", "value = 1\n", "x", "file: Value·=·1\nsent: value·=·1"),
    ],
)  # fmt: skip
def test_what_cannot_be_replaced_is_refused_with_the_closest_place(
    bench: Bench, before: str | bytes, old: str, new: str, words: str
):
    path = bench.write("a.py", before)
    bench.context.assume_read = True
    assert words in bench.refusal("edit", path="a.py", old=old, new=new)
    assert path.read_bytes() == (before if isinstance(before, bytes) else before.encode())


def test_replace_all_goes_left_to_right_without_overlap_and_needs_a_match(bench: Bench):
    path = viewed(bench, "a.txt", "aaaa b aa\n")
    assert "3 occurrences" in bench.text("edit", path="a.txt", old="aa", new="x", replace_all=True)
    assert path.read_text() == "xx b x\n"
    refusal = bench.refusal("edit", path="a.txt", old="zzz", new="x", replace_all=True)
    assert '"old" is not in a.txt' in refusal


def test_equal_old_and_new_is_a_success_that_writes_nothing(bench: Bench):
    path = viewed(bench, "a.txt", "one\n")
    os.utime(path, ns=(5, 5))
    assert "not changed" in bench.text("edit", path="a.txt", old="one", new="one")
    assert path.stat().st_mtime_ns == 5
    assert not bench.questions


# What was shown.


def test_two_edits_need_one_view_and_a_new_time_is_no_change(bench: Bench):
    path = bench.write("a.py", "one\ntwo\n")
    assert bench.refusal("edit", path="a.py", old="one", new="1").endswith(
        'Call view {"path": "a.py"}, then send this again.'
    )
    bench.call("view", path="a.py")
    os.utime(path, ns=(1, 1))
    bench.call("edit", path="a.py", old="one", new="1")
    bench.call("edit", path="a.py", old="two", new="2")
    assert path.read_text() == "1\n2\n"


def test_other_bytes_with_the_same_size_and_time_are_a_change(bench: Bench):
    path = viewed(bench, "a.py", "one\n")
    before = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "(a.py changed since it was viewed.)" in bench.text("edit", path="a.py", old="two", new="2")


def test_in_a_file_that_changed_since_only_a_text_that_is_there_once_is_replaced(bench: Bench):
    path = viewed(bench, "a.py", "one\ntwo\n")
    path.write_text("zero\none\none\ntwo\n")
    assert "occurs 2 times" in bench.refusal("edit", path="a.py", old="one", new="1")
    message = bench.refusal("edit", path="a.py", old="one", new="1", replace_all=True)
    assert message == ('a.py changed since it was viewed. Call view {"path": "a.py"}, then send this again.')
    said = bench.text("edit", path="a.py", old="two", new="2")
    assert said.startswith("Edited a.py (+1 -1). (a.py changed since it was viewed.)\n")
    assert path.read_text() == "zero\none\none\n2\n"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("git blame a.py", True), ("sed -n 1p sub/../a.py", True), ("grep -n one -r .", True), ("git diff", True),
        ("ls", False),
    ],
)  # fmt: skip
def test_a_file_that_a_command_showed_may_be_edited_and_one_that_it_listed_not(
    bench: Bench, command: str, shown: bool
):
    bench.write("sub/x", "")
    path = bench.write("a.py", "one\n")
    bench.commit_all()
    path.write_text("one\ntwo\n")
    bench.context.environment = {"PATH": os.environ["PATH"]}
    bench.call("bash", command=command)
    if shown:
        bench.call("edit", path="a.py", old="two", new="2")
        assert path.read_text() == "one\n2\n"
    else:
        assert "was not viewed yet" in bench.refusal("edit", path="a.py", old="two", new="2")


def test_what_was_shown_is_known_to_another_host_of_the_run(bench: Bench, tmp_path: Path):
    bench.context.records = Records(tmp_path)
    path = viewed(bench, "a.py", "one\none\n")
    viewed(bench, "b.py", "one\n").unlink()
    bench.context.records.show(bench.root / "b.py", None)
    with (tmp_path / "shown.jsonl").open("a") as log:
        log.write('damaged\n["", 1, 2]\n')
    bench.context.records = Records(tmp_path)
    bench.call("edit", path="a.py", old="one", new="1", replace_all=True)
    assert path.read_text() == "1\n1\n"
    bench.write("b.py", "one\n")
    assert "not viewed yet" in bench.refusal("edit", path="b.py", old="one", new="1")


# Files that are made, links and paths.


def test_empty_old_creates_a_file_with_its_folders_that_may_be_edited_at_once(bench: Bench):
    outcome = bench.call("edit", path="new/deep/a.txt", old="", new="hello\n")
    assert outcome.metadata["created"] is True
    assert outcome.metadata["before_hash"] is None
    assert outcome.metadata["diff"] == "--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1,1 @@\n+hello\n"
    bench.call("edit", path=str(bench.root / "new/deep/a.txt"), old="hello", new="bye")
    assert (bench.root / "new/deep/a.txt").read_text() == "bye\n"


def test_a_link_inside_is_written_through_and_the_file_is_replaced(bench: Bench):
    target = bench.write("real/a.txt", "one\n")
    (bench.root / "link.txt").symlink_to("real/a.txt")
    bench.call("view", path="link.txt")
    with target.open() as reader:
        outcome = bench.call("edit", path="link.txt", old="one", new="two")
        assert reader.read() == "one\n"
    assert target.read_text() == "two\n"
    assert (bench.root / "link.txt").is_symlink()
    assert outcome.metadata["path"] == "real/a.txt"
    assert bench.questions[0][1] == [("real/a.txt", "change")]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../out.txt", "outside the repository"),
        ("/etc/hostname", "outside the repository"),
        ("a/../../out.txt", "outside the repository"),
        ("../tree-two/a.txt", "outside the repository"),
        ("link.txt", "leads out of the repository"),
        (".git/config", "belongs to git"),
        ("sub/.git/hooks/pre-commit", "belongs to git"),
        (".GIT/config", "belongs to git"),
    ],
)
def test_what_lies_outside_or_belongs_to_git_is_never_written(bench: Bench, path: str, words: str):
    (bench.root.parent / "tree-two").mkdir()
    (bench.root / "link.txt").symlink_to(bench.root.parent / "outside.txt")
    assert words in bench.refusal("edit", path=path, old="", new="x")
    assert sorted(os.listdir(bench.root)) == ["link.txt"]
    assert not (bench.root.parent / "outside.txt").exists()


def test_a_missing_file_is_told_with_close_names(bench: Bench):
    bench.write("src/server.py", "x\n")
    bench.write("lib/sever.py", "x\n")
    message = bench.refusal("edit", path="src/sever.py", old="x", new="y")
    assert message == "src/sever.py does not exist. Did you mean src/server.py, lib/sever.py?"


def test_a_file_over_the_limit_is_not_edited(bench: Bench):
    path = bench.write("big.txt", "one\n")
    os.truncate(path, LARGE + 1)
    assert "big.txt has over 64 MiB" in bench.refusal("edit", path="big.txt", old="one", new="two")


# While the question is open.


def test_a_denial_writes_nothing_makes_no_folder_and_gives_its_reason(bench: Bench):
    path = viewed(bench, "a.txt", "one\n")
    bench.answer = lambda: Answer(False, "rule 3 denies it")
    assert bench.refusal("edit", path="a.txt", old="one", new="two") == "rule 3 denies it"
    assert bench.refusal("edit", path="new/a.txt", old="", new="two") == "rule 3 denies it"
    assert path.read_text() == "one\n"
    assert not (bench.root / "new").exists()


@pytest.mark.parametrize(("old", "words"), [("one", "changed meanwhile"), ("", "appeared meanwhile")])
def test_a_change_during_the_question_is_not_overwritten(bench: Bench, old: str, words: str):
    if old:
        viewed(bench, "a.txt", "one\n")

    def meanwhile() -> Answer:
        bench.write("a.txt", "by somebody else\n")
        return Answer(True)

    bench.answer = meanwhile
    assert words in bench.refusal("edit", path="a.txt", old=old, new="two")
    assert (bench.root / "a.txt").read_text() == "by somebody else\n"


def test_a_link_out_that_appears_during_the_question_is_not_followed(bench: Bench, tmp_path: Path):
    path = viewed(bench, "a.txt", "one\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("one\n")

    def meanwhile() -> Answer:
        path.unlink()
        path.symlink_to(outside)
        return Answer(True)

    bench.answer = meanwhile
    bench.refusal("edit", path="a.txt", old="one", new="two")
    assert outside.read_text() == "one\n"


@pytest.mark.parametrize(
    ("where", "said"),
    [("../outside", "is a link that leads out of the repository"), ("other", "became a link meanwhile")],
)
@pytest.mark.parametrize("old", ["one", ""], ids=["changed", "created"])
def test_a_folder_that_becomes_a_link_during_the_question_is_not_followed(
    bench: Bench, old: str, where: str, said: str
):
    """The bytes there are the same, and the file itself is no link."""
    viewed(bench, "src/a.txt", "one\n")

    def meanwhile() -> Answer:
        (bench.root / "src").rename(bench.root / where)
        (bench.root / "src").symlink_to(where)
        return Answer(True)

    bench.answer = meanwhile
    assert said in bench.refusal("edit", path="src/a.txt" if old else "src/new.txt", old=old, new="two")
    assert {file.name: file.read_text() for file in (bench.root / where).iterdir()} == {"a.txt": "one\n"}


def test_a_cancelled_call_writes_nothing(bench: Bench):
    path = viewed(bench, "a.txt", "one\n")

    def cancelling() -> Answer:
        bench.context.cancelled.set()
        return Answer(True)

    bench.answer = cancelling
    assert "Cancelled" in bench.refusal("edit", path="a.txt", old="one", new="two")
    assert path.read_text() == "one\n"
