"""The versions of a run's files, from its journal: how they are numbered, and what their bytes are worked out from."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from bot.agent.versions import OUTSIDE, version_content, versions
from bot.contracts.errors import UsageError
from bot.contracts.journal import FilesChanged, FileVersion, Record, Response, Result
from bot.contracts.messages import ToolCall
from bot.toolhost.diff import compare
from tests.support.sessions import journal_of


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def change(path: str, before: str | None, after: str | None, **more: Any) -> dict[str, Any]:
    """An edit's metadata, as the tool host makes it."""
    diff = compare(before, after, path)
    return {
        "path": path, "diff": diff.text, "additions": diff.additions, "removals": diff.removals,
        "before_hash": None if before is None else sha256(before.encode()),
        "after_hash": None if after is None else sha256(after.encode()), "content": after,
    } | more  # fmt: skip


def found(path: str, before: bytes | None, after: bytes | None, **more: Any) -> FileVersion:
    hashes = [None if data is None else sha256(data) for data in (before, after)]
    return FileVersion(path, hashes[0], hashes[1], content=after, **more)


def edit(turn: int, *files: dict[str, Any], tool: str = "edit") -> Result:
    metadata = files[0] if len(files) == 1 else {"files": list(files)}
    return Result(turn, f"c{turn}", tool, "done", metadata=metadata)


def bash(turn: int, *files: FileVersion) -> tuple[Record, ...]:
    return (Response(turn, (ToolCall("b", "bash", "{}"),), "tool_use", ""), FilesChanged(turn, files, "b"))


BASE = {"a.txt": b"one\ntwo\n"}


def test_edits_and_commands_make_versions_in_their_order(tmp_path: Path):
    history = versions(
        journal_of(
            tmp_path,
            edit(1, change("a.txt", "one\ntwo\n", "1\ntwo\n")),
            *bash(2, found("a.txt", b"1\ntwo\n", b"1\n2\n"), found("new.txt", None, b"n\n")),
            edit(3, change("a.txt", "1\n2\n", "1\n2\n3\n"), change("new.txt", "n\n", None), tool="patch"),
        )
    )
    told = [(v.number, v.by, v.turn, v.what) for v in history["a.txt"]]
    assert told == [
        (0, "base", 0, "as it was"), (1, "edit", 1, "+1 -1"), (2, "bash", 2, "changed"), (3, "patch", 3, "+1 -0"),
    ]  # fmt: skip
    assert [v.what for v in history["new.txt"]] == ["as it was", "changed", "deleted"]
    data = [version_content(v, BASE.get) for v in history["a.txt"]]
    assert data == [b"one\ntwo\n", b"1\ntwo\n", b"1\n2\n", b"1\n2\n3\n"]
    assert [version_content(v, BASE.get) for v in history["new.txt"]] == [None, b"n\n", None]


def test_a_file_that_is_created_was_absent_before(tmp_path: Path):
    history = versions(journal_of(tmp_path, edit(1, change("a.txt", None, "one\n"))))
    assert [v.what for v in history["a.txt"]] == ["absent", "+1 -0"]
    # Even where the base has one: a command may have removed it before.
    assert [version_content(v, BASE.get) for v in history["a.txt"]] == [None, b"one\n"]


def test_a_version_has_the_mode_that_the_file_had(tmp_path: Path):
    """Of a deleted executable only the journal knows that it was one."""
    gone = change("run.sh", "one\n", None, mode=0o755)
    made = change("new.sh", None, "one\n", mode=0o700)
    history = versions(
        journal_of(tmp_path, edit(1, gone), edit(2, made), edit(3, change("old.sh", "a\n", "b\n")))
    )
    assert history["run.sh"][0].mode == 0o755
    assert history["new.sh"][1].mode == 0o700
    assert [version.mode for version in history["old.sh"]] == [None, None]  # as journals of before have it


def test_a_moved_file_has_its_new_text(tmp_path: Path):
    moved = change("b.txt", "one\ntwo\n", "1\ntwo\n", before_hash=None, moved_from="a.txt")
    gone = change("a.txt", "one\ntwo\n", None, diff="", moved_to="b.txt")
    history = versions(journal_of(tmp_path, edit(1, moved, gone, tool="patch")))
    assert version_content(history["b.txt"][1], BASE.get) == b"1\ntwo\n"
    assert [version_content(v, BASE.get) for v in history["a.txt"]] == [BASE["a.txt"], None]


def test_what_nothing_in_the_journal_made_is_a_version_of_its_own(tmp_path: Path):
    history = versions(
        journal_of(
            tmp_path,
            edit(1, change("a.txt", "one\ntwo\n", "1\ntwo\n")),
            edit(2, change("a.txt", "other\n", "another\n")),
        )
    )
    assert [v.by for v in history["a.txt"]] == ["base", "edit", OUTSIDE, "edit"]
    with pytest.raises(UsageError, match=r"Version 2 of a.txt was made by nothing that the journal holds"):
        version_content(history["a.txt"][2], BASE.get)


def test_a_text_that_was_masked_gives_no_version(tmp_path: Path):
    masked = journal_of(
        tmp_path,
        edit(1, change("a.txt", "one\ntwo\n", "hunter2\ntwo\n")),
        redact=lambda text: text.replace("hunter2", "*"),
    )
    history = versions(masked)
    with pytest.raises(UsageError, match=r"Version 1 of a.txt lacks what the redactor masked"):
        version_content(history["a.txt"][1], BASE.get)


def test_a_file_too_large_to_record_and_a_link_give_no_version(tmp_path: Path):
    large = FileVersion("a.txt", sha256(BASE["a.txt"]), sha256(b"x"))
    link = FileVersion("l", None, sha256(b"target"), link="target")
    edited = change("b.txt", None, "x")
    del edited["content"]
    history = versions(journal_of(tmp_path, *bash(1, large, link), edit(2, edited)))
    for path in ("a.txt", "b.txt"):
        with pytest.raises(UsageError, match="too large to record"):
            version_content(history[path][1], BASE.get)
    with pytest.raises(UsageError, match="is a link to target"):
        version_content(history["l"][1], BASE.get)


def test_the_base_of_another_repository_is_not_taken(tmp_path: Path):
    history = versions(journal_of(tmp_path, edit(1, change("a.txt", "one\ntwo\n", "1\ntwo\n"))))
    with pytest.raises(UsageError, match="is of another repository"):
        version_content(history["a.txt"][0], lambda path: b"something else\n")


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_text_is_in_the_encoding_of_its_file(tmp_path: Path, codec: str):
    data = "caf\xe9\r\n".encode(codec)
    edited = change("a.txt", "one\n", "caf\xe9\r\n", after_hash=sha256(data))
    history = versions(journal_of(tmp_path, edit(1, edited)))
    assert version_content(history["a.txt"][1], BASE.get) == data
