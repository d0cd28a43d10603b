"""Scans through the pipe: what a command changed, once, with what it was before."""

import hashlib
import os
import time
from pathlib import Path

from bot.contracts.cancel import CancelToken
from bot.contracts.journal import FileVersion
from bot.workspace.client import Workspace
from tests.support.workspaces import Bench, bash


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def changed(workspace: Workspace) -> dict[str, FileVersion]:
    return {change.path: change for change in workspace.scan().files}


def age(tree: Path) -> None:
    """Make the tree's files look as if written long ago, so that nothing is read before it moves."""
    for folder, _, names in os.walk(tree):
        for name in names:
            os.utime(os.path.join(folder, name), (1e9, 1e9))
    time.sleep(0.05)


def test_a_changed_file_has_both_hashes_and_its_content(workspace: Workspace):
    bash(workspace, "echo 1 > a.txt")
    workspace.scan()
    bash(workspace, "echo 2 >> a.txt")
    assert changed(workspace) == {
        "a.txt": FileVersion("a.txt", digest(b"1\n"), digest(b"1\n2\n"), 0o644, b"1\n2\n")
    }


def test_a_file_nobody_had_read_was_as_the_run_found_it(bench: Bench):
    age(bench.tree)
    workspace = bench.start()
    bash(workspace, "echo two >> a.txt; rm src/b.py")
    changes = changed(workspace)
    assert changes["a.txt"].before == ""
    assert changes["src/b.py"] == FileVersion("src/b.py", "", None)


def test_a_change_in_the_same_tick_and_of_the_same_size_is_seen(workspace: Workspace):
    bash(workspace, "printf 'two\\n' > a.txt")
    workspace.scan()
    bash(workspace, "touch -r a.txt $TMPDIR/stamp; printf 'six\\n' > a.txt; touch -r $TMPDIR/stamp a.txt")
    assert changed(workspace)["a.txt"].content == b"six\n"


def test_new_deleted_executable_and_linked_files_are_told_apart(workspace: Workspace):
    bash(workspace, "echo new > new.txt; rm a.txt; chmod 755 src/b.py; ln -s /etc/passwd link")
    changes = changed(workspace)
    assert changes["new.txt"].before is None
    assert changes["a.txt"].after is None
    assert changes["src/b.py"].mode == 0o755
    assert changes["src/b.py"].after == digest(b"print(1)\n")
    assert changes["link"].link == "/etc/passwd"
    assert changes["link"].content is None


def test_ignored_files_and_git_itself_are_left_out(workspace: Workspace):
    bash(workspace, "echo '*.log' > .gitignore; echo x > y.log; git add -A; git commit -qm x || true")
    assert set(changed(workspace)) == {".gitignore"}


def test_a_large_file_is_hashed_and_not_sent(workspace: Workspace):
    bash(workspace, "head -c 1048577 /dev/zero > big")
    change = changed(workspace)["big"]
    assert change.oversize
    assert change.content is None
    assert change.after == digest(bytes(1_048_577))


def test_more_than_one_frame_of_changes_arrives_whole(workspace: Workspace):
    bash(workspace, "for n in $(seq 20); do head -c 1000000 /dev/urandom > file-$n; done")
    changes = changed(workspace)
    assert len(changes) == 20
    assert all(len(change.content or b"") == 1_000_000 for change in changes.values())


def test_an_edit_by_a_tool_is_not_reported_again(workspace: Workspace):
    outcome = workspace.call("write", {"path": "made.txt", "content": "made\n"}, CancelToken())
    assert not outcome.is_error
    assert changed(workspace) == {}
    bash(workspace, "echo more >> made.txt")
    assert changed(workspace)["made.txt"].before == digest(b"made\n")


def test_a_file_without_end_takes_no_time(bench: Bench):
    """It is sparse: made in a moment, and hashed for hours. Its time stamp says that it was just written."""
    first = bench.start()
    bash(first, "echo two >> a.txt; touch huge")
    os.truncate(bench.tree / "huge", 8 << 40)
    os.utime(bench.tree / "huge", (4e9, 4e9))
    began = time.monotonic()
    scan = first.scan()
    assert [change.path for change in scan.files] == ["a.txt"]
    assert "files over 64 MiB were not looked at" in scan.note
    first.close()
    assert bash(bench.start(), "true").metadata["exit_code"] == 0
    assert time.monotonic() - began < 60
