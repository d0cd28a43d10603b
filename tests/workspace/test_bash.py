"""The bash tool through the pipe, on a real host, and scans: what a command changed, once, with what it was before."""

import hashlib
import os
import stat
import time
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.journal import FileVersion
from bot.workspace.client import Workspace
from tests.support.workspaces import Bench, bash


def test_a_failing_command_shows_its_output_in_order_and_is_no_error(workspace: Workspace):
    outcome = bash(workspace, "echo 1; echo 2 >&2; echo 3; exit 4")
    assert (outcome.content, outcome.is_error) == ("1\n2\n3\n[exit code 4]", False)
    metadata = dict(outcome.metadata)
    assert metadata["command"].startswith("echo 1;")
    assert (metadata["exit_code"], metadata["timed_out"]) == (4, False)
    assert Path(metadata["spill"]).read_bytes() == b"1\n2\n3\n"


def test_it_runs_in_the_work_tree_with_nothing_on_standard_input(workspace: Workspace, tree: Path):
    assert bash(workspace, "cat; pwd; export LEFT=over").content == f"{tree}\n[exit code 0]"
    assert bash(workspace, "echo ${LEFT:-none}").content.startswith("none\n")


def test_the_working_folder_carries_over_even_past_an_exit(workspace: Workspace, tree: Path):
    assert f"[working folder is now {tree}/src]" in bash(workspace, "cd src; exit 3").content
    assert bash(workspace, "pwd").content == f"{tree}/src\n[exit code 0]"


@pytest.mark.slow
def test_at_most_one_line_a_second_is_sent_while_a_command_runs(workspace: Workspace):
    lines: list[str] = []
    command = {"command": "for n in {1..20}; do echo $n; sleep 0.1; done"}
    began = time.monotonic()
    workspace.call("bash", command, CancelToken(), printed=lines.append)
    assert 1 <= len(lines) <= time.monotonic() - began + 1


def test_in_a_deleted_working_folder_nothing_is_run_and_the_next_call_is_in_the_root(
    workspace: Workspace, tree: Path
):
    bash(workspace, "mkdir gone && cd gone")
    (tree / "gone").rmdir()
    outcome = bash(workspace, "touch ran")
    assert outcome.is_error
    assert outcome.content.startswith(
        f"The working folder {tree}/gone is gone or cannot be entered, so nothing was run."
    )
    assert not (tree / "ran").exists()
    assert bash(workspace, "pwd").content.startswith(f"{tree}\n")


def test_a_working_folder_outside_the_repository_is_said(workspace: Workspace, tree: Path):
    assert bash(workspace, "cd /usr").content.endswith("[working folder is now /usr, outside the repository]")
    assert bash(workspace, "pwd").content.startswith("/usr\n")
    assert bash(workspace, f"cd {tree}").content.endswith(f"[working folder is now {tree}]")


@pytest.mark.parametrize("command", ["rmdir ../doomed", 'rmdir "$PWD"', "rmdir ../doomed; exec true # cd"])
def test_a_command_may_delete_the_folder_it_began_in(workspace: Workspace, tree: Path, command: str):
    bash(workspace, "mkdir doomed && cd doomed")
    content = bash(workspace, command).content
    assert content.startswith("(no output)\n[exit code 0]\n[the working folder ")
    assert content.endswith(f" is gone; the next command runs in {tree}]")
    assert bash(workspace, "pwd").content == f"{tree}\n[exit code 0]"


def test_where_the_shell_could_not_say_where_it_ended_the_folder_stays_and_that_is_said(
    workspace: Workspace, tree: Path
):
    for command in ("cd src; exec true", "trap 'true' EXIT; cd src", "cd src; kill -9 $$"):
        assert bash(workspace, command).content.endswith(f"[the working folder is still {tree}]"), command
        assert bash(workspace, "pwd").content == f"{tree}\n[exit code 0]", command


def test_the_working_folder_carries_over_whatever_the_runs_own_folder_is_called(bench: Bench):
    """bash expands the name of the file by which it does."""
    bench.folder = bench.folder / '$HOME `pwd` "quoted" it\'s \\n'
    bench.folder.mkdir()
    workspace = bench.start()
    bash(workspace, "cd src")
    assert bash(workspace, "pwd").content == f"{bench.tree}/src\n[exit code 0]"


def test_where_no_note_of_the_folder_can_be_kept_commands_run_all_the_same(bench: Bench):
    """As on a full disk, where the next command is the one that makes room."""
    workspace = bench.start()
    bash(workspace, 'mv "$TMPDIR" "$TMPDIR".away; touch "$TMPDIR"')
    for _ in range(2):
        assert bash(workspace, "cd src; echo ran").content == (
            f"ran\n[exit code 0]\n[the working folder is still {bench.tree}]"
        )
    bash(workspace, 'rm "$TMPDIR"; mv "$TMPDIR".away "$TMPDIR"')
    assert bash(workspace, "cd src").content.endswith("/src]")


def test_a_command_may_remove_the_temporary_folder_and_make_it_anew(bench: Bench):
    workspace = bench.start()
    assert bash(workspace, 'rm -r "$TMPDIR"; sleep 0.2; echo ran').content.startswith("ran\n")
    assert bash(workspace, 'sleep 0.2; mkdir "$TMPDIR"; echo again').content.startswith("again\n")


@pytest.mark.parametrize(
    "instead",
    [
        pytest.param('rm "$n"; mkfifo "$n"', marks=pytest.mark.slow),
        'rm "$n"; mkdir "$n"', 'rm "$n"; ln -s "$PWD/kept" "$n"', 'rm "$n"; ln -s /dev/zero "$n"',
        'chmod 0 "$n"', 'echo true > "$n"',
    ],
)  # fmt: skip
def test_whatever_a_command_leaves_in_place_of_the_note_the_next_one_has_its_own(
    workspace: Workspace, tree: Path, instead: str
):
    (tree / "kept").write_text("kept")
    for trap in ("", "trap - EXIT; "):
        # Short: a pipe in the note's place keeps this very command from its end.
        bash(workspace, f'{trap}for n in "$TMPDIR"/.of-command-*; do {instead}; done', timeout=4)
        assert (
            bash(workspace, "cd src", timeout=20).content
            == f"(no output)\n[exit code 0]\n[working folder is now {tree}/src]"
        )
        assert bash(workspace, "cd ..; echo ran", timeout=20).content.startswith(
            "ran\n[exit code 0]\n[working"
        )


@pytest.mark.parametrize(
    "setting", ["set -o noclobber", "set -eu", "set -o pipefail", "trap 'echo bye' EXIT"]
)
def test_shell_settings_of_the_command_do_not_break_the_call(workspace: Workspace, setting: str):
    outcome = bash(workspace, f"{setting}; echo ran")
    assert outcome.content.startswith("ran\n")
    assert outcome.metadata["exit_code"] == 0


def test_line_numbers_in_bash_errors_are_those_of_the_command(workspace: Workspace):
    assert "line 3: nonsense" in bash(workspace, "true\ntrue\nnonsense").content


def test_a_commands_errors_and_trace_show_nothing_that_it_does_not_say_itself(workspace: Workspace):
    assert bash(workspace, "if then").content == (
        "bash: -c: line 1: syntax error near unexpected token `then'\nbash: -c: line 1: `if then'\n[exit code 2]"
    )
    assert bash(workspace, "set -x; cd src").content.startswith("+ cd src\n[exit code 0]")
    assert bash(workspace, "env | grep BASH_ENV").content.startswith("(no output)\n[exit code 1]")


def test_writing_to_dev_stderr_by_name_does_not_lose_what_was_printed_before(workspace: Workspace):
    assert bash(workspace, "echo first; echo second > /dev/stderr").content.startswith("first\nsecond\n")


def test_time_out_is_an_error_that_shows_what_was_printed(workspace: Workspace):
    outcome = bash(workspace, "trap 'echo tidied; exit 0' TERM; echo begun; sleep 60 & wait", timeout=2)
    assert outcome.is_error
    assert outcome.metadata["timed_out"] is True
    assert outcome.content.startswith(
        "begun\ntidied\n[timed out after 2 s: the command and all its processes were killed"
    )
    assert "sleep 60;" in outcome.content


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": " \n"}, "is empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "true", "timeout": 21601}, "whole number from 1 to"),
    ],
)
def test_arguments_that_make_no_sense_are_answered_with_an_error(
    workspace: Workspace, arguments: dict[str, object], said: str
):
    outcome = bash(workspace, **arguments)  # type: ignore[arg-type]  # a table of bad arguments
    assert (outcome.is_error, said in outcome.content) == (True, True)


def test_long_output_shows_head_and_tail_and_the_way_to_the_rest(workspace: Workspace):
    outcome = bash(workspace, "seq 100000")
    assert outcome.content.startswith("1\n2\n3\n")
    assert outcome.content.endswith("99999\n100000\n[exit code 0]")
    name = f"$TMPDIR/out/{Path(outcome.metadata['spill']).name}"
    assert f"full output: {name}" in outcome.content
    assert len(outcome.content) < 12_500
    assert workspace.call(
        "view", {"path": name, "offset": 70_000, "limit": 1}, CancelToken()
    ).content.endswith("70000")
    assert bash(workspace, f"sed -n 70000p {name}").content.startswith("70000\n")
    assert Path(outcome.metadata["spill"]).read_text() == "".join(f"{n}\n" for n in range(1, 100_001))


def test_kept_output_is_the_owners_alone_and_found_by_no_search_that_does_not_name_it(workspace: Workspace):
    spill = Path(bash(workspace, "echo a-needle").metadata["spill"])
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600
    for tool, arguments in (("grep", {"pattern": "a-needle"}), ("glob", {"pattern": "**/*.txt"}), ("ls", {})):
        assert spill.name not in workspace.call(tool, arguments, CancelToken()).content
    named = workspace.call("grep", {"pattern": "a-needle", "path": str(spill.parent)}, CancelToken())
    name = f"$TMPDIR/out/{spill.name}"
    assert named.content.startswith(f"{name}\n1:a-needle")
    listed = workspace.call("glob", {"pattern": f"{spill.stem}.*", "path": str(spill.parent)}, CancelToken())
    assert listed.content == name


def test_a_command_that_could_not_be_run_is_an_error_and_no_more(workspace: Workspace):
    spill = Path(bash(workspace, "true").metadata["spill"]).parent
    bash(workspace, f"until rm -rf {spill} && [ ! -e {spill} ]; do sleep 0.1; done")
    for more in ({}, {"background": True}):
        outcome = bash(workspace, "true", **more)
        assert outcome.is_error
        assert outcome.content == "The command could not be run: No such file or directory."
    spill.mkdir()
    assert bash(workspace, "echo again").content == "again\n[exit code 0]"


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
