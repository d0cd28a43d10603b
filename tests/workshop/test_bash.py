"""The bash tool through the pipe, on a real host."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.workshop.client.workshop import Workshop
from tests.support.workshops import Bench, bash, eventually, running


def test_both_outputs_come_in_order(workshop: Workshop) -> None:
    assert bash(workshop, "echo 1; echo 2 >&2; echo 3").content == "1\n2\n3\n[exit code 0]"


def test_a_failing_command_shows_its_exit_code_and_is_no_error(workshop: Workshop) -> None:
    outcome = bash(workshop, "grep nothing a.txt")
    assert not outcome.is_error
    assert outcome.content == "(no output)\n[exit code 1]"
    assert outcome.metadata["exit_code"] == 1


def test_metadata_names_command_time_and_spill_file(workshop: Workshop) -> None:
    metadata = bash(workshop, "echo hi").metadata
    assert metadata["command"] == "echo hi"
    assert 0 <= metadata["duration"] < 10
    assert metadata["timed_out"] is False
    assert metadata["truncated"] is False
    assert Path(metadata["spill"]).read_bytes() == b"hi\n"


def test_it_runs_in_the_work_tree_with_nothing_on_standard_input(workshop: Workshop, bench: Bench) -> None:
    assert bash(workshop, "cat; pwd").content == f"{bench.tree}\n[exit code 0]"


def test_the_working_folder_carries_over_even_past_an_exit(workshop: Workshop, bench: Bench) -> None:
    assert f"[working folder is now {bench.tree}/src]" in bash(workshop, "cd src; exit 3").content
    assert bash(workshop, "pwd").content == f"{bench.tree}/src\n[exit code 0]"


def test_variables_do_not_carry_over(workshop: Workshop) -> None:
    bash(workshop, "export LEFT=over")
    assert bash(workshop, "echo ${LEFT:-none}").content.startswith("none\n")


def test_in_a_deleted_working_folder_nothing_is_run_and_the_next_call_is_in_the_root(
    workshop: Workshop, bench: Bench
) -> None:
    bash(workshop, "mkdir gone && cd gone")
    (bench.tree / "gone").rmdir()
    outcome = bash(workshop, "touch ran")
    assert outcome.is_error
    assert outcome.content.startswith(
        f"The working folder {bench.tree}/gone is gone or cannot be entered, so nothing was run."
    )
    assert not (bench.tree / "ran").exists()
    assert bash(workshop, "pwd").content.startswith(f"{bench.tree}\n")


def test_a_working_folder_outside_the_repository_is_said(workshop: Workshop, bench: Bench) -> None:
    assert bash(workshop, "cd /usr").content.endswith("[working folder is now /usr, outside the repository]")
    assert bash(workshop, "pwd").content.startswith("/usr\n")
    assert bash(workshop, f"cd {bench.tree}").content.endswith(f"[working folder is now {bench.tree}]")


def test_a_folder_whose_name_begins_like_the_repositorys_is_outside(workshop: Workshop, bench: Bench) -> None:
    Path(f"{bench.tree}-two").mkdir()
    assert ", outside the repository]" in bash(workshop, f"cd {bench.tree}-two").content


def test_a_command_may_delete_the_folder_it_ends_in(workshop: Workshop, bench: Bench) -> None:
    outcome = bash(workshop, "mkdir doomed && cd doomed && rmdir ../doomed")
    gone = f"[the working folder in which it ended is gone; the next command runs in {bench.tree}]"
    assert outcome.content == f"(no output)\n[exit code 0]\n{gone}"
    assert bash(workshop, "pwd").content.startswith(f"{bench.tree}\n")


@pytest.mark.parametrize("command", ["rmdir ../doomed", 'rmdir "$PWD"', "rmdir ../doomed; exec true # cd"])
def test_a_command_may_delete_the_folder_it_began_in(workshop: Workshop, bench: Bench, command: str) -> None:
    """Breaks: bot/workshop/host/tools/bash.py "context.cwd = None"."""
    bash(workshop, "mkdir doomed && cd doomed")
    content = bash(workshop, command).content
    assert content.startswith("(no output)\n[exit code 0]\n[the working folder ")
    assert content.endswith(f" is gone; the next command runs in {bench.tree}]")
    assert bash(workshop, "pwd").content == f"{bench.tree}\n[exit code 0]"


def test_where_the_shell_could_not_say_where_it_ended_the_folder_stays_and_that_is_said(
    workshop: Workshop, bench: Bench
) -> None:
    for command in ("cd src; exec true", "trap 'true' EXIT; cd src", "cd src; kill -9 $$"):
        assert bash(workshop, command).content.endswith(f"[the working folder is still {bench.tree}]"), (
            command
        )
        assert bash(workshop, "pwd").content == f"{bench.tree}\n[exit code 0]", command


def test_a_program_that_is_the_whole_command_is_run_in_the_shells_place(
    workshop: Workshop, bench: Bench
) -> None:
    """So its end is told as it was. Breaks: bot/workshop/host/tools/bash.py "moves = context.environment, may_move"."""
    (bench.tree / "die.sh").write_text("kill -SEGV $$\n")
    outcome = bash(workshop, "sh die.sh")
    assert outcome.content == "(no output)\n[killed by SIGSEGV]"
    assert outcome.metadata["exit_code"] == -11
    assert bash(workshop, "cd src && sh ../die.sh").metadata["exit_code"] == 128 + 11


def test_the_working_folder_carries_over_whatever_the_runs_own_folder_is_called(bench: Bench) -> None:
    """bash expands the name of the file by which it does."""
    bench.folder = bench.folder / '$HOME `pwd` "quoted" it\'s \\n'
    bench.folder.mkdir()
    workshop = bench.start()
    bash(workshop, "cd src")
    assert bash(workshop, "pwd").content == f"{bench.tree}/src\n[exit code 0]"


def test_where_no_note_of_the_folder_can_be_kept_commands_run_all_the_same(
    workshop: Workshop, bench: Bench
) -> None:
    """As on a full disk, where the next command is the one that makes room."""
    bash(workshop, 'rm "$TMPDIR"/.cwd-*; mkdir "$TMPDIR"/.cwd-{2..9} 2>/dev/null')
    for _ in range(2):
        assert bash(workshop, "cd src; echo ran").content == (
            f"ran\n[exit code 0]\n[the working folder is still {bench.tree}]"
        )
    bash(workshop, 'rmdir "$TMPDIR"/.cwd-*')
    assert bash(workshop, "cd src").content.endswith("/src]")


@pytest.mark.parametrize(
    "instead",
    [
        'rm "$n"', 'rm "$n"; mkfifo "$n"', 'rm "$n"; mkdir "$n"', 'rm "$n"; ln -s "$PWD/kept" "$n"',
        'rm "$n"; ln -s /dev/zero "$n"', 'rm "$n"; cp kept "$n"', 'chmod 0 "$n"', '> "$n"', 'echo true > "$n"',
    ],
)  # fmt: skip
def test_whatever_a_command_leaves_in_place_of_the_note_the_next_one_has_its_own(
    workshop: Workshop, bench: Bench, instead: str
) -> None:
    (bench.tree / "kept").write_text("kept")
    for trap in ("", "trap - EXIT; "):
        # Short: a pipe in the note's place keeps this very command from its end.
        bash(workshop, f'{trap}for n in "$TMPDIR"/.cwd-*; do {instead}; done', timeout=4)
        assert (
            bash(workshop, "cd src", timeout=20).content
            == f"(no output)\n[exit code 0]\n[working folder is now {bench.tree}/src]"
        )
        assert bash(workshop, "cd ..; echo ran", timeout=20).content.startswith(
            "ran\n[exit code 0]\n[working"
        )


def test_notes_of_the_folder_do_not_grow_without_end(workshop: Workshop, bench: Bench) -> None:
    fill = 'for n in "$TMPDIR"/.cwd-*[0-9]; do head -c 1100000 /dev/zero | tr "\\0" x >> "$n"; done'
    assert " is gone; the next command runs in " in bash(workshop, fill).content
    assert bash(workshop, "cd src").content.endswith("/src]")
    assert int(bash(workshop, 'cat "$TMPDIR"/.cwd-* | wc -c').content.split()[0]) < 2000


def test_the_working_folder_may_have_any_name(workshop: Workshop, bench: Bench) -> None:
    name = 'it\'s a "folder" $(with) ünusual\nname'
    (bench.tree / name).mkdir()
    bash(workshop, "cd it*")
    assert Path(bash(workshop, "pwd").content.removesuffix("\n[exit code 0]")).name == name


@pytest.mark.parametrize(
    "setting", ["set -o noclobber", "set -eu", "set -o pipefail", "trap 'echo bye' EXIT"]
)
def test_shell_settings_of_the_command_do_not_break_the_call(workshop: Workshop, setting: str) -> None:
    outcome = bash(workshop, f"{setting}; echo ran")
    assert outcome.content.startswith("ran\n")
    assert outcome.metadata["exit_code"] == 0


def test_line_numbers_in_bash_errors_are_those_of_the_command(workshop: Workshop) -> None:
    assert "line 3: nonsense" in bash(workshop, "true\ntrue\nnonsense").content


def test_a_commands_errors_and_trace_show_nothing_that_it_does_not_say_itself(workshop: Workshop) -> None:
    assert bash(workshop, "if then").content == (
        "bash: -c: line 1: syntax error near unexpected token `then'\nbash: -c: line 1: `if then'\n[exit code 2]"
    )
    assert bash(workshop, "set -x; cd src").content.startswith("+ cd src\n[exit code 0]")
    assert bash(workshop, "env | grep BASH_ENV").content.startswith("(no output)\n[exit code 1]")


def test_a_here_document_works(workshop: Workshop) -> None:
    assert bash(workshop, "cat <<'END'\n$HOME\nEND").content.startswith("$HOME\n")


def test_a_very_long_command_works(workshop: Workshop) -> None:
    outcome = bash(workshop, f"echo {'x' * 300_000} | wc -c")
    assert outcome.content.startswith("300001\n")


def test_writing_to_dev_stderr_by_name_does_not_lose_what_was_printed_before(workshop: Workshop) -> None:
    assert bash(workshop, "echo first; echo second > /dev/stderr").content.startswith("first\nsecond\n")


def test_time_out_is_an_error_that_shows_what_was_printed(workshop: Workshop) -> None:
    outcome = bash(workshop, "echo begun; sleep 60", timeout=2)
    assert outcome.is_error
    assert outcome.metadata["timed_out"] is True
    assert outcome.content.startswith(
        "begun\n[timed out after 2 s: the command and all its processes were killed"
    )
    assert "while these ran: sleep 60;" in outcome.content


def test_a_command_that_ran_out_of_time_may_tidy_up(workshop: Workshop) -> None:
    command = "trap 'echo tidied; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
    assert "tidied\n[timed out after 2 s" in bash(workshop, command, timeout=2).content


def test_a_command_killed_by_a_signal_names_it(workshop: Workshop) -> None:
    assert "[killed by SIGSEGV]" in bash(workshop, "kill -SEGV $$").content


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": " \n"}, "is empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "echo \ud800"}, "holds half of a character"),
        ({"command": "true", "timeout": 21601}, "whole number from 1 to"),
    ],
)
def test_arguments_that_make_no_sense_are_answered_with_an_error(
    workshop: Workshop, arguments: dict[str, object], said: str
) -> None:
    outcome = bash(workshop, **arguments)  # type: ignore[arg-type] - a table of bad arguments
    assert (outcome.is_error, said in outcome.content) == (True, True)


def test_a_background_child_that_keeps_the_output_does_not_hang_the_call(workshop: Workshop) -> None:
    started = time.monotonic()
    outcome = bash(workshop, "sleep 3600 & echo hi", timeout=600)
    assert time.monotonic() - started < 60
    assert "1 process was still running in the background and was stopped" in outcome.content


DAEMONS = {
    "background": "sleep {} &",
    "nohup": "nohup sleep {} >/dev/null 2>&1 &",
    "setsid": "setsid sleep {} >/dev/null 2>&1 &",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & )",
    "disowned coprocess": "coproc setsid bash -c 'trap \"\" TERM HUP; exec env -i sleep {}'; disown -a",
}


@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_a_command_started_outlives_it(workshop: Workshop, style: str, tmp_path: Path) -> None:
    mark = f"1{abs(hash((style, str(tmp_path)))) % 10**9}"
    bash(workshop, DAEMONS[style].format(mark))
    assert running(mark) == []


@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_outlives_a_time_out(workshop: Workshop, style: str, tmp_path: Path) -> None:
    mark = f"2{abs(hash((style, str(tmp_path)))) % 10**9}"
    assert bash(workshop, f"{DAEMONS[style].format(mark)}\nsleep 60", timeout=1).metadata["timed_out"]
    assert eventually(lambda: running(mark) == [])


def test_escape_sequences_and_progress_bars_are_not_shown(workshop: Workshop) -> None:
    outcome = bash(workshop, r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\ndone\a\n'")
    assert outcome.content.startswith("red\n100%\ndone\n")


def test_binary_output_is_named_and_not_shown(workshop: Workshop) -> None:
    outcome = bash(workshop, "head -c 1000 /dev/zero")
    assert outcome.content.startswith("[binary output, 1000 bytes")


def test_long_output_shows_head_and_tail_and_the_way_to_the_rest(workshop: Workshop) -> None:
    outcome = bash(workshop, "seq 100000")
    assert outcome.content.startswith("1\n2\n3\n")
    assert outcome.content.endswith("99999\n100000\n[exit code 0]")
    assert f"full output: {outcome.metadata['spill']}" in outcome.content
    assert len(outcome.content) < 31_000
    assert Path(outcome.metadata["spill"]).read_text() == "".join(f"{n}\n" for n in range(1, 100_001))


def test_view_and_grep_reach_the_rest_of_long_output(workshop: Workshop) -> None:
    spill = bash(workshop, "seq 100000").metadata["spill"]
    page = workshop.call("view", {"path": spill, "offset": 50_000, "limit": 2}, CancelToken())
    assert not page.is_error
    assert "50000" in page.content
    found = workshop.call("grep", {"pattern": "^777$", "path": spill}, CancelToken())
    assert "777" in found.content
    assert not found.is_error


def test_of_output_over_the_cap_the_end_is_shown_and_kept(workshop: Workshop) -> None:
    outcome = bash(workshop, "head -c 60000000 /dev/zero | tr '\\0' '\\n'; echo the very end")
    assert (
        "\nthe very end\n\n[the output was 60000013 bytes; the file keeps its beginning and end"
        in outcome.content
    )
    assert 52_428_800 < Path(outcome.metadata["spill"]).stat().st_size < 54_000_000
    assert Path(outcome.metadata["spill"]).read_bytes().endswith(b"\nthe very end\n")


def test_colours_in_the_kept_output_do_not_hide_a_line_from_grep(workshop: Workshop) -> None:
    spill = bash(workshop, r"printf '\033[31mFAILED\033[0m a.py\n10%%\r100%%\n'; seq 20000").metadata["spill"]
    found = workshop.call("grep", {"pattern": "^(FAILED a|100%$)", "path": spill}, CancelToken())
    assert found.content.startswith(f"{spill}\n1:FAILED a.py\n2:100%")


def test_kept_output_is_the_owners_alone_and_found_by_no_search_that_does_not_name_it(
    workshop: Workshop,
) -> None:
    spill = Path(bash(workshop, "echo a-needle").metadata["spill"])
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600
    for tool, arguments in (("grep", {"pattern": "a-needle"}), ("glob", {"pattern": "**/*.txt"}), ("ls", {})):
        assert spill.name not in workshop.call(tool, arguments, CancelToken()).content
    named = workshop.call("grep", {"pattern": "a-needle", "path": str(spill.parent)}, CancelToken())
    assert named.content.startswith(f"{spill}\n1:a-needle")
    listed = workshop.call("glob", {"pattern": "*.txt", "path": str(spill.parent)}, CancelToken())
    assert listed.content == str(spill)


def test_what_a_command_printed_does_not_count_as_viewed(workshop: Workshop) -> None:
    bash(workshop, "cat a.txt")
    outcome = workshop.call("edit", {"path": "a.txt", "old": "one", "new": "two"}, CancelToken())
    assert outcome.is_error
    assert "view" in outcome.content


def test_a_command_that_could_not_be_run_is_an_error_and_no_more(workshop: Workshop) -> None:
    spill = Path(bash(workshop, "true").metadata["spill"]).parent
    bash(workshop, f"rm -r {spill}")
    for more in ({}, {"background": True}):
        outcome = bash(workshop, "true", **more)
        assert outcome.is_error
        assert outcome.content == "The command could not be run: No such file or directory."
    spill.mkdir()
    assert bash(workshop, "echo again").content == "again\n[exit code 0]"
