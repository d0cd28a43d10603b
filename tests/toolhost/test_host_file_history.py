"""The history of the files that tools changed, and `restore`: every version by its number, whoever made it."""

from __future__ import annotations

from pathlib import Path

from bot.toolhost.context import Answer
from bot.toolhost.file_history import OUTSIDE, FileHistory
from tests.toolhost.conftest import Bench
from tests.toolhost.test_host_patch import apply, fill


def told(bench: Bench, path: str) -> list[tuple[int, str, bytes | None]]:
    history = bench.context.history
    return [(one.number, one.tool, history.content(one)) for one in history.versions(path)]


def test_every_change_is_a_version_after_the_base(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    bench.call("write", path="a.txt", content="three\n")
    apply(bench, "*** Update File: a.txt", "@@", "-three", "+four")
    assert told(bench, "a.txt") == [
        (0, "base", b"one\n"), (1, "edit", b"two\n"), (2, "write", b"three\n"), (3, "patch", b"four\n"),
    ]  # fmt: skip


def test_a_file_that_was_absent_has_a_base_without_bytes_and_a_deletion_is_none_either(bench: Bench) -> None:
    bench.call("write", path="a.txt", content="")
    apply(bench, "*** Delete File: a.txt")
    assert told(bench, "a.txt") == [(0, "base", None), (1, "write", b""), (2, "patch", None)]


def test_what_a_command_made_of_a_file_is_a_version_of_its_own(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    (bench.root / "a.txt").write_text("by hand\n")
    bench.call("view", path="a.txt")
    bench.call("edit", path="a.txt", old="by hand", new="three")
    assert [(number, tool) for number, tool, _ in told(bench, "a.txt")] == [
        (0, "base"), (1, "edit"), (2, OUTSIDE), (3, "edit"),
    ]  # fmt: skip
    (bench.root / "a.txt").unlink()
    bench.call("write", path="a.txt", content="again\n")
    assert told(bench, "a.txt")[4:] == [(4, OUTSIDE, None), (5, "write", b"again\n")]


def test_a_move_is_a_version_of_both_files(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    apply(bench, "*** Update File: a.txt", "*** Move to: b.txt", "@@", "-one", "+two")
    assert told(bench, "a.txt") == [(0, "base", b"one\n"), (1, "patch", None)]
    assert told(bench, "b.txt") == [(0, "base", None), (1, "patch", b"two\n")]


def test_equal_bytes_are_kept_once(bench: Bench, tmp_path: Path) -> None:
    fill(bench, {"a.txt": "one\n" * 100})
    bench.call("edit", path="a.txt", old="one\n" * 100, new="two\n" * 100)
    for content in ("one\n" * 100, "two\n" * 100, "one\n" * 100):
        bench.call("write", path="a.txt", content=content)
    assert (tmp_path / "history/content").stat().st_size == 800


def test_a_version_is_restored_and_that_is_a_version_too(bench: Bench) -> None:
    path = bench.write("a.txt", b"\xef\xbb\xbfone\r\n")
    path.chmod(0o751)
    bench.call("view", path="a.txt")
    bench.call("edit", path="a.txt", old="one", new="two")
    assert bench.text("restore", path="a.txt", version=0) == "Restored a.txt to version 0."
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\n"
    assert path.stat().st_mode & 0o777 == 0o751
    assert [tool for _, tool, _ in told(bench, "a.txt")] == ["base", "edit", "restore"]
    assert bench.questions[-1][:2] == ("restore", [("a.txt", "change")])
    # What the model knew of the file it knows still.
    bench.call("edit", path="a.txt", old="one", new="three")


def test_a_deleted_file_comes_back_with_its_mode_and_an_absent_one_goes(bench: Bench) -> None:
    fill(bench, {"run.sh": "echo\n"})
    (bench.root / "run.sh").chmod(0o750)
    apply(bench, "*** Delete File: run.sh", "*** Add File: b.txt", "+b")
    bench.call("restore", path="run.sh", version=0)
    assert (bench.root / "run.sh").read_text() == "echo\n"
    assert (bench.root / "run.sh").stat().st_mode & 0o777 == 0o750
    bench.call("restore", path="b.txt", version=0)
    assert not (bench.root / "b.txt").exists()


def test_a_restore_of_what_is_there_writes_nothing(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    assert bench.text("restore", path="a.txt", version=1) == "a.txt is as it was at version 1."
    assert len(bench.questions) == 1


def test_what_somebody_else_did_since_is_kept_as_a_version_before_a_restore(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    (bench.root / "a.txt").write_text("by hand\n")
    bench.call("restore", path="a.txt", version=0)
    assert told(bench, "a.txt")[2:] == [(2, OUTSIDE, b"by hand\n"), (3, "restore", b"one\n")]


def test_a_version_that_cannot_be_had_says_why(bench: Bench, tmp_path: Path) -> None:
    fill(bench, {"a.txt": "one\n"})
    assert "a.txt has no version 0: no tool changed it" in bench.refusal("restore", path="a.txt", version=0)
    bench.call("edit", path="a.txt", old="one", new="two")
    assert "it has 0 to 1" in bench.refusal("restore", path="a.txt", version=2)
    (tmp_path / "history/content").write_bytes(b"evil\nevil\n")
    assert "changed after they were kept" in bench.refusal("restore", path="a.txt", version=0)
    (tmp_path / "history/content").unlink()
    assert "its bytes are gone" in bench.refusal("restore", path="a.txt", version=0)


def test_a_denied_restore_changes_nothing(bench: Bench) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    bench.answer = lambda: Answer(False, "no")
    bench.refusal("restore", path="a.txt", version=0)
    assert (bench.root / "a.txt").read_text() == "two\n"
    assert len(told(bench, "a.txt")) == 2


def test_another_workspace_of_the_run_goes_on_with_the_history(bench: Bench, tmp_path: Path) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.call("edit", path="a.txt", old="one", new="two")
    with (tmp_path / "history/log.jsonl").open("ab") as log:
        log.write(b'{"path": "cut off\n[]\nnot JSON\n')
    bench.context.history = FileHistory(tmp_path / "history")
    bench.call("edit", path="a.txt", old="two", new="three")
    assert told(bench, "a.txt") == [(0, "base", b"one\n"), (1, "edit", b"two\n"), (2, "edit", b"three\n")]
    assert bench.text("restore", path="a.txt", version=0).startswith("Restored")


def test_a_history_that_cannot_be_written_costs_no_change(bench: Bench, tmp_path: Path) -> None:
    fill(bench, {"a.txt": "one\n"})
    bench.context.history = FileHistory(tmp_path / "nowhere")
    said = bench.text("edit", path="a.txt", old="one", new="two")
    assert "(This change is not in the file history: No such file or directory.)" in said
    assert (bench.root / "a.txt").read_text() == "two\n"
