from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from bot.toolhost.context import Answer
from bot.toolhost.files import LARGE
from bot.toolhost.records import Records
from tests.toolhost.conftest import Bench


def viewed(bench: Bench, name: str, content: str | bytes) -> Path:
    path = bench.write(name, content)
    bench.call("view", path=name)
    return path


def test_one_match_is_replaced_and_the_result_shows_the_place(bench: Bench) -> None:
    path = viewed(bench, "a.py", "".join(f"line {n}\n" for n in range(1, 11)))
    outcome = bench.call("edit", path="a.py", old="line 5\n", new="five\nand a half\n")
    assert path.read_text().splitlines()[3:7] == ["line 4", "five", "and a half", "line 6"]
    assert outcome.content == (
        "Edited a.py (+2 -1).\n3|line 3\n4|line 4\n5|five\n6|and a half\n7|line 6\n8|line 7"
    )


def test_the_metadata_has_diff_counts_and_hashes(bench: Bench) -> None:
    viewed(bench, "a.py", "one\ntwo\n")
    (bench.root / "a.py").chmod(0o750)
    metadata = bench.call("edit", path="a.py", old="two", new="2").metadata
    assert metadata == {
        "path": "a.py",
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
        "additions": 1,
        "removals": 1,
        "before_hash": hashlib.sha256(b"one\ntwo\n").hexdigest(),
        "after_hash": hashlib.sha256(b"one\n2\n").hexdigest(),
        "created": False,
        "mode": 0o750,
    }


def test_a_file_that_was_not_viewed_is_not_edited(bench: Bench) -> None:
    path = bench.write("a.py", "one\n")
    assert bench.refusal("edit", path="a.py", old="one", new="1").endswith(
        'Call view {"path": "a.py"}, then send this again.'
    )
    assert path.read_text() == "one\n"


def test_a_new_mtime_with_the_same_bytes_is_no_change(bench: Bench) -> None:
    path = viewed(bench, "a.py", "one\n")
    os.utime(path, ns=(1, 1))
    bench.call("edit", path="a.py", old="one", new="1")
    assert path.read_text() == "1\n"


def test_other_bytes_with_the_same_size_and_mtime_are_a_change(bench: Bench) -> None:
    path = viewed(bench, "a.py", "one\n")
    before = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "(a.py changed since it was viewed.)" in bench.text("edit", path="a.py", old="two", new="2")


def test_in_a_file_that_changed_since_only_a_text_that_is_there_once_is_replaced(bench: Bench) -> None:
    path = viewed(bench, "a.py", "one\ntwo\n")
    path.write_text("zero\none\none\ntwo\n")
    assert "occurs 2 times" in bench.refusal("edit", path="a.py", old="one", new="1")
    message = bench.refusal("edit", path="a.py", old="one", new="1", replace_all=True)
    assert message == ('a.py changed since it was viewed. Call view {"path": "a.py"}, then send this again.')
    said = bench.text("edit", path="a.py", old="two", new="2")
    assert said.startswith("Edited a.py (+1 -1). (a.py changed since it was viewed.)\n")
    assert path.read_text() == "zero\none\none\n2\n"


@pytest.mark.parametrize(
    "command",
    ["git blame a.py", "sed -n 1p sub/../a.py", "grep -n one -r .", "git diff"],
)
def test_a_file_that_a_command_showed_may_be_edited(bench: Bench, command: str) -> None:
    bench.write("sub/x", "")
    path = bench.write("a.py", "one\n")
    bench.commit_all()
    path.write_text("one\ntwo\n")
    bench.context.environment = {"PATH": os.environ["PATH"]}
    bench.call("bash", command=command)
    bench.call("edit", path="a.py", old="two", new="2")
    assert path.read_text() == "one\n2\n"


def test_a_file_whose_name_a_command_listed_was_not_shown(bench: Bench) -> None:
    bench.write("a.py", "one\n")
    bench.context.environment = {"PATH": os.environ["PATH"]}
    bench.call("bash", command="ls")
    assert "was not viewed yet" in bench.refusal("edit", path="a.py", old="one", new="1")


def test_what_was_shown_is_known_to_another_host_of_the_run(bench: Bench, tmp_path: Path) -> None:
    bench.context.records = Records(tmp_path)
    path = viewed(bench, "a.py", "one\none\n")
    viewed(bench, "b.py", "one\n").unlink()
    bench.context.records.forget(bench.root / "b.py")
    with (tmp_path / "shown.jsonl").open("a") as log:
        log.write('damaged\n["", 1]\n')
    bench.context.records = Records(tmp_path, "another agent")
    assert "not viewed yet" in bench.refusal("edit", path="a.py", old="one", new="1", replace_all=True)
    bench.context.records = Records(tmp_path)
    bench.call("edit", path="a.py", old="one", new="1", replace_all=True)
    assert path.read_text() == "1\n1\n"
    bench.write("b.py", "one\n")
    assert "not viewed yet" in bench.refusal("edit", path="b.py", old="one", new="1")


def test_two_edits_need_one_view(bench: Bench) -> None:
    path = viewed(bench, "a.py", "one\ntwo\n")
    bench.call("edit", path="a.py", old="one", new="1")
    bench.call("edit", path="a.py", old="two", new="2")
    assert path.read_text() == "1\n2\n"


def test_with_assume_read_no_view_is_needed(bench: Bench) -> None:
    path = bench.write("a.py", "one\n")
    bench.context.assume_read = True
    bench.call("edit", path="a.py", old="one", new="1")
    assert path.read_text() == "1\n"


def test_several_matches_are_refused_with_their_lines(bench: Bench) -> None:
    path = viewed(bench, "a.py", "a = 1\nb = 2\na = 1\n")
    message = bench.refusal("edit", path="a.py", old="a = 1", new="a = 3")
    assert "occurs 2 times in a.py (lines 1, 3)" in message
    assert "2|b = 2\n3|a = 1" in message
    assert "replace_all" in message
    assert path.read_text() == "a = 1\nb = 2\na = 1\n"


def test_overlapping_matches_are_several(bench: Bench) -> None:
    viewed(bench, "a.txt", "aaa\n")
    assert "occurs 2 times" in bench.refusal("edit", path="a.txt", old="aa", new="b")


def test_replace_all_goes_left_to_right_without_overlap_and_says_how_many(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "aaaa b aa\n")
    assert "3 occurrences" in bench.text("edit", path="a.txt", old="aa", new="x", replace_all=True)
    assert path.read_text() == "xx b x\n"


def test_replace_all_without_a_match_is_an_error(bench: Bench) -> None:
    viewed(bench, "a.txt", "one\n")
    assert '"old" is not in a.txt' in bench.refusal(
        "edit", path="a.txt", old="zzz", new="x", replace_all=True
    )


def test_empty_new_deletes(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\ntwo\n")
    bench.call("edit", path="a.txt", old="one\n", new="")
    assert path.read_text() == "two\n"


def test_deleting_everything_leaves_an_empty_file(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    assert "empty now" in bench.text("edit", path="a.txt", old="one\n", new="")
    assert path.read_bytes() == b""


def test_equal_old_and_new_is_a_success_that_writes_nothing(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    os.utime(path, ns=(5, 5))
    assert "not changed" in bench.text("edit", path="a.txt", old="one", new="one")
    assert path.stat().st_mtime_ns == 5
    assert not bench.questions


def test_empty_old_creates_a_file_with_its_folders(bench: Bench) -> None:
    outcome = bench.call("edit", path="new/deep/a.txt", old="", new="hello\n")
    assert (bench.root / "new/deep/a.txt").read_text() == "hello\n"
    assert outcome.metadata["created"] is True
    assert outcome.metadata["before_hash"] is None
    assert outcome.metadata["diff"].startswith(
        "--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1,1 @@\n+hello\n"
    )


def test_a_created_file_may_be_edited_at_once(bench: Bench) -> None:
    bench.call("edit", path="a.txt", old="", new="one\ntwo\n")
    bench.call("edit", path="a.txt", old="two", new="2")
    assert (bench.root / "a.txt").read_text() == "one\n2\n"


def test_empty_old_fills_an_empty_file(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "")
    bench.call("edit", path="a.txt", old="", new="one\n")
    assert path.read_text() == "one\n"


def test_empty_old_never_wipes_a_file(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    assert "write" in bench.refusal("edit", path="a.txt", old="", new="two\n")
    assert path.read_text() == "one\n"


def test_crlf_lines_match_what_a_view_shows_and_stay_crlf(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"one\r\ntwo\r\nthree\r\n")
    bench.call("edit", path="a.txt", old="one\ntwo\n", new="1\n2\n2b\n")
    assert path.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


def test_crlf_in_new_is_not_doubled(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"one\r\ntwo\r\n")
    bench.call("edit", path="a.txt", old="one\r\n", new="1\r\n1b\r\n")
    assert path.read_bytes() == b"1\r\n1b\r\ntwo\r\n"


def test_mixed_line_ends_stay_and_new_lines_take_those_of_the_place(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"one\ntwo\r\nthree\nfour\r\n")
    bench.call("edit", path="a.txt", old="two", new="2\n2b")
    bench.call("edit", path="a.txt", old="three", new="3\n3b")
    assert path.read_bytes() == b"one\n2\r\n2b\r\n3\n3b\nfour\r\n"


def test_old_mac_line_ends_are_line_ends(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"one\rtwo\rthree\r")
    bench.call("edit", path="a.txt", old="two\nthree", new="2\n3\n4")
    assert path.read_bytes() == b"one\r2\r3\r4\r"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_and_encoding_stay(bench: Bench, codec: str) -> None:
    path = viewed(bench, "a.txt", "größe\nzwei\n".encode(codec))
    bench.call("edit", path="a.txt", old="größe", new="länge")
    assert path.read_bytes() == "länge\nzwei\n".encode(codec)


def test_bytes_of_an_unknown_encoding_stay(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"caf\xe9 one\n\x93two\x94\n")
    bench.call("edit", path="a.txt", old="one", new="1")
    assert path.read_bytes() == b"caf\xe9 1\n\x93two\x94\n"


def test_a_character_that_an_unknown_encoding_may_not_have_is_refused(bench: Bench) -> None:
    path = viewed(bench, "a.txt", b"caf\xe9 one\n")
    assert "not UTF-8" in bench.refusal("edit", path="a.txt", old="one", new="ü")
    assert path.read_bytes() == b"caf\xe9 one\n"


def test_half_a_surrogate_pair_is_refused(bench: Bench) -> None:
    viewed(bench, "a.txt", "one\n")
    assert "surrogate" in bench.refusal("edit", path="a.txt", old="one", new="\ud800")


def test_a_missing_last_line_end_stays_missing(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\ntwo")
    outcome = bench.call("edit", path="a.txt", old="one", new="1")
    assert path.read_bytes() == b"1\ntwo"
    assert "\\ No newline at end of file" in outcome.metadata["diff"]


def test_the_mode_stays(bench: Bench) -> None:
    path = viewed(bench, "run.sh", "echo one\n")
    path.chmod(0o751)
    bench.call("edit", path="run.sh", old="one", new="two")
    assert path.stat().st_mode & 0o7777 == 0o751


def test_no_temporary_file_is_left(bench: Bench) -> None:
    viewed(bench, "a.txt", "one\n")
    bench.call("edit", path="a.txt", old="one", new="two")
    assert os.listdir(bench.root) == ["a.txt"]


def test_the_file_is_replaced_and_not_rewritten(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    with path.open() as reader:
        bench.call("edit", path="a.txt", old="one", new="two")
        assert reader.read() == "one\n"


def test_a_link_inside_is_written_through(bench: Bench) -> None:
    target = bench.write("real/a.txt", "one\n")
    (bench.root / "link.txt").symlink_to("real/a.txt")
    bench.call("view", path="link.txt")
    outcome = bench.call("edit", path="link.txt", old="one", new="two")
    assert target.read_text() == "two\n"
    assert (bench.root / "link.txt").is_symlink()
    assert outcome.metadata["path"] == "real/a.txt"
    assert bench.questions[0][1] == [("real/a.txt", "change")]


def test_a_link_that_leads_out_is_refused(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "outside.txt"
    secret.write_text("one\n")
    (bench.root / "link.txt").symlink_to(secret)
    bench.context.assume_read = True
    assert "leads out of the repository" in bench.refusal("edit", path="link.txt", old="one", new="two")
    assert secret.read_text() == "one\n"


def test_a_dangling_link_inside_creates_its_target(bench: Bench) -> None:
    (bench.root / "link.txt").symlink_to("real.txt")
    bench.call("edit", path="link.txt", old="", new="one\n")
    assert (bench.root / "real.txt").read_text() == "one\n"
    assert (bench.root / "link.txt").is_symlink()


def test_the_question_carries_path_action_and_diff(bench: Bench) -> None:
    viewed(bench, "a.txt", "one\n")
    bench.call("edit", path="a.txt", old="one", new="two")
    tool, files, diff = bench.questions[0]
    assert (tool, files) == ("edit", [("a.txt", "change")])
    assert "-one\n+two\n" in diff


def test_a_denial_writes_nothing_and_gives_its_reason(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    bench.answer = lambda: Answer(False, "rule 3 denies a.txt")
    assert bench.refusal("edit", path="a.txt", old="one", new="two") == "rule 3 denies a.txt"
    assert path.read_text() == "one\n"


def test_a_denied_creation_makes_no_folder(bench: Bench) -> None:
    bench.answer = lambda: Answer(False, "no")
    bench.refusal("edit", path="new/a.txt", old="", new="one\n")
    assert not (bench.root / "new").exists()


def test_a_change_during_the_question_is_not_overwritten(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")

    def meanwhile() -> Answer:
        path.write_text("one, by somebody else\n")
        return Answer(True)

    bench.answer = meanwhile
    assert "changed meanwhile" in bench.refusal("edit", path="a.txt", old="one", new="two")
    assert path.read_text() == "one, by somebody else\n"


def test_a_file_that_appears_during_the_question_is_not_overwritten(bench: Bench) -> None:
    def meanwhile() -> Answer:
        bench.write("a.txt", "by somebody else\n")
        return Answer(True)

    bench.answer = meanwhile
    assert "appeared meanwhile" in bench.refusal("edit", path="a.txt", old="", new="two\n")
    assert (bench.root / "a.txt").read_text() == "by somebody else\n"


def test_a_link_out_that_appears_during_the_question_is_not_followed(bench: Bench, tmp_path: Path) -> None:
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
) -> None:
    """The bytes there are the same, and the file itself is no link."""
    viewed(bench, "src/a.txt", "one\n")

    def meanwhile() -> Answer:
        (bench.root / "src").rename(bench.root / where)
        (bench.root / "src").symlink_to(where)
        return Answer(True)

    bench.answer = meanwhile
    assert said in bench.refusal("edit", path="src/a.txt" if old else "src/new.txt", old=old, new="two")
    assert {file.name: file.read_text() for file in (bench.root / where).iterdir()} == {"a.txt": "one\n"}


def test_a_cancelled_call_writes_nothing(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")

    def cancelling() -> Answer:
        bench.context.cancelled.set()
        return Answer(True)

    bench.answer = cancelling
    assert "Cancelled" in bench.refusal("edit", path="a.txt", old="one", new="two")
    assert path.read_text() == "one\n"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/hostname", "a/../../out.txt"])
def test_a_path_outside_is_refused(bench: Bench, path: str) -> None:
    assert "outside the repository" in bench.refusal("edit", path=path, old="", new="x")


def test_an_absolute_path_inside_is_taken(bench: Bench) -> None:
    bench.call("edit", path=str(bench.root / "a.txt"), old="", new="x\n")
    assert (bench.root / "a.txt").read_text() == "x\n"


def test_a_folder_whose_name_begins_like_the_root_is_outside(bench: Bench) -> None:
    twin = bench.root.parent / "tree-two"
    twin.mkdir()
    assert "outside the repository" in bench.refusal("edit", path=str(twin / "a.txt"), old="", new="x")


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config"])
def test_what_belongs_to_git_is_never_written(bench: Bench, path: str) -> None:
    assert "belongs to git" in bench.refusal("edit", path=path, old="", new="x")
    assert not (bench.root / path).exists()


def test_a_missing_file_is_told_with_close_names(bench: Bench) -> None:
    bench.write("src/server.py", "x\n")
    bench.write("lib/sever.py", "x\n")
    message = bench.refusal("edit", path="src/sever.py", old="x", new="y")
    assert message == "src/sever.py does not exist. Did you mean src/server.py, lib/sever.py?"


def test_a_file_over_the_limit_is_not_edited(bench: Bench) -> None:
    path = bench.write("big.txt", "one\n")
    os.truncate(path, LARGE + 1)
    assert "cannot be edited" in bench.refusal("edit", path="big.txt", old="one", new="two")


@pytest.mark.parametrize("content", [b"\x7fELF\0\0", b"\xff\xfe\x00"])
def test_a_file_that_is_no_text_is_not_edited(bench: Bench, content: bytes) -> None:
    bench.write("a.bin", content)
    bench.context.assume_read = True
    assert "cannot be changed as text" in bench.refusal("edit", path="a.bin", old="E", new="F")


def near_miss(bench: Bench, content: str, old: str) -> str:
    viewed(bench, "a.py", content)
    return bench.refusal("edit", path="a.py", old=old, new="something else entirely")


def test_near_miss_indentation(bench: Bench) -> None:
    message = near_miss(bench, "def f():\n        return 1\n", "def f():\n    return 1\n")
    assert "closest place is at line 1: only the indentation differs" in message
    assert "First difference, line 2" in message
    assert "file: ········return 1\nold:  ····return 1" in message


def test_near_miss_tabs(bench: Bench) -> None:
    assert "tabs where the text has spaces" in near_miss(
        bench, "def f():\n\treturn 1\n", "def f():\n    return 1\n"
    )


def test_near_miss_trailing_space(bench: Bench) -> None:
    assert "spaces at line ends" in near_miss(bench, "a = 1  \nb = 2\n", "a = 1\nb = 2\n")


def test_near_miss_quotes(bench: Bench) -> None:
    assert "only look alike" in near_miss(bench, "say(“hello”)\n", 'say("hello")\n')


def test_near_miss_line_numbers(bench: Bench) -> None:
    assert "line numbers of a view" in near_miss(bench, "a = 1\nb = 2\n", "1|a = 1\n2|b = 2\n")


def test_near_miss_escaped_line_break(bench: Bench) -> None:
    assert "backslash and a letter" in near_miss(bench, "a = 1\nb = 2\n", "a = 1\\nb = 2")


def test_near_miss_blank_line(bench: Bench) -> None:
    assert "blank line" in near_miss(bench, "a = 1\nb = 2\n", "\na = 1\nb = 2\n\n")


def test_near_miss_case(bench: Bench) -> None:
    assert "upper and lower case" in near_miss(bench, "Value = 1\n", "value = 1\n")


def test_near_miss_similar_text_is_shown_with_its_line_numbers(bench: Bench) -> None:
    content = "\n".join(
        [f"filler {n}" for n in range(50)] + ["def total(items, tax):", "    return sum(items)", ""]
    )
    message = near_miss(bench, content, "def total(items):\n    return sum(items)\n")
    assert "closest place is at line 51" in message
    assert "51|def total(items, tax):\n52|    return sum(items)" in message


def test_text_like_nothing_in_the_file_names_the_next_call(bench: Bench) -> None:
    assert 'view {"path": "a.py"}' in near_miss(bench, "a = 1\n", "completely different text\nof two lines\n")


def test_an_edit_that_is_in_already_is_told_so(bench: Bench) -> None:
    viewed(bench, "a.py", "total = price * 2\n")
    message = bench.refusal("edit", path="a.py", old="total = cost + 1", new="total = price * 2")
    assert '"new" already is, at line 1' in message


def test_a_read_only_file_is_edited_and_that_is_said(bench: Bench) -> None:
    path = viewed(bench, "a.txt", "one\n")
    path.chmod(0o444)
    said = bench.text("edit", path="a.txt", old="one", new="two")
    assert said.endswith("\n(a.txt is read-only, mode 0444, and stays so.)")
    assert path.stat().st_mode & 0o777 == 0o444
