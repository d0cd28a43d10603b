"""The bash tool through the pipe, on a real host."""

from __future__ import annotations

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


def test_a_deleted_working_folder_is_replaced_by_the_root_and_said(workshop: Workshop, bench: Bench) -> None:
    bash(workshop, "mkdir gone && cd gone")
    (bench.tree / "gone").rmdir()
    outcome = bash(workshop, "pwd")
    assert outcome.content.startswith(f"{bench.tree}\n")
    assert f"[the working folder {bench.tree}/gone is gone; this ran in {bench.tree}]" in outcome.content


def test_a_command_may_delete_the_folder_it_ends_in(workshop: Workshop, bench: Bench) -> None:
    bash(workshop, "mkdir doomed && cd doomed && rmdir ../doomed")
    assert bash(workshop, "pwd").content.startswith(f"{bench.tree}\n")


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


def test_a_here_document_works(workshop: Workshop) -> None:
    assert bash(workshop, "cat <<'END'\n$HOME\nEND").content.startswith("$HOME\n")


def test_a_very_long_command_works(workshop: Workshop) -> None:
    outcome = bash(workshop, f"echo {'x' * 300_000} | wc -c")
    assert outcome.content.startswith("300001\n")


def test_writing_to_dev_stderr_by_name_does_not_lose_what_was_printed_before(workshop: Workshop) -> None:
    assert bash(workshop, "echo first; echo second > /dev/stderr").content.startswith("first\nsecond\n")


def test_time_out_is_an_error_that_shows_what_was_printed(workshop: Workshop) -> None:
    outcome = bash(workshop, "echo begun; sleep 60", timeout=1)
    assert outcome.is_error
    assert outcome.metadata["timed_out"] is True
    assert outcome.content.startswith("begun\n[timed out after 1 s")


def test_a_command_killed_by_a_signal_names_it(workshop: Workshop) -> None:
    assert "[killed by SIGSEGV]" in bash(workshop, "kill -SEGV $$").content


@pytest.mark.parametrize(
    "arguments", [{"command": " \n"}, {"command": "a\0b"}, {"command": "true", "timeout": 21601}]
)
def test_arguments_that_make_no_sense_are_answered_with_an_error(
    workshop: Workshop, arguments: dict[str, object]
) -> None:
    assert bash(workshop, **arguments).is_error  # type: ignore[arg-type] - a table of bad arguments


def test_a_background_child_that_keeps_the_output_does_not_hang_the_call(workshop: Workshop) -> None:
    started = time.monotonic()
    outcome = bash(workshop, "sleep 60 & echo hi")
    assert time.monotonic() - started < 2
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


def test_output_over_the_cap_is_dropped_and_counted(workshop: Workshop) -> None:
    outcome = bash(workshop, "head -c 60000000 /dev/zero | tr '\\0' '\\n'")
    assert "the output was 60000000 bytes; only the first 52428800 were kept" in outcome.content
    assert Path(outcome.metadata["spill"]).stat().st_size == 52_428_800
