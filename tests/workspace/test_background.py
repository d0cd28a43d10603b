"""Commands in the background, through the pipe, on a real host: started, looked at, ended, and never left behind."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tool_limits import MAX_BACKGROUND
from bot.contracts.tools import ToolOutcome
from bot.toolhost.resource_limits import MIB, ExceededLimit, ResourceLimits, reached_kernel_limit
from bot.toolhost.shell import CommandResult
from bot.toolhost.tools.bash_output import ending, on_one_line
from bot.workspace.client import Workspace
from tests.support.workspaces import Bench, bash, eventually, running


def start(workspace: Workspace, command: str, **more: Any) -> ToolOutcome:
    return bash(workspace, command, background=True, **more)


def begin(workspace: Workspace, command: str, **more: Any) -> int:
    """Its number."""
    return int(start(workspace, command, **more).metadata["background"])


def look(workspace: Workspace, number: int, **more: Any) -> ToolOutcome:
    return workspace.call("bash_output", {"id": number, **more}, CancelToken())


def kill(workspace: Workspace, number: int | None = None) -> ToolOutcome:
    return workspace.call("bash_kill", {} if number is None else {"id": number}, CancelToken())


def printed(workspace: Workspace, number: int, words: str) -> bool:
    """Whether its whole output holds `words`."""
    return words in Path(look(workspace, number).metadata["spill"]).read_text()


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A number of seconds that nobody else sleeps."""
    return f"3{abs(hash(str(tmp_path))) % 10**9}"


def test_it_comes_back_at_once_and_says_where_it_is(workspace: Workspace, tree: Path, mark: str):
    began = time.monotonic()
    outcome = start(workspace, f"echo up; sleep {mark}")
    assert time.monotonic() - began < 20
    assert not outcome.is_error
    spill, number = outcome.metadata["spill"], outcome.metadata["background"]
    assert outcome.metadata["running"] == 1
    assert f"[background command {number} was started in {tree}; " in outcome.content
    assert f"its output goes to $TMPDIR/out/{Path(spill).name}; see bash_output" in outcome.content
    assert f"The working folder is still {tree}]" in outcome.content
    assert eventually(lambda: printed(workspace, number, "up\n"))
    assert len(running(mark)) > 0


def test_a_command_that_cannot_run_says_so_at_once(workspace: Workspace):
    outcome = start(workspace, "no-such-program --serve")
    number = outcome.metadata["background"]
    assert eventually(lambda: printed(workspace, number, "no-such-program: command not found\n"))
    assert eventually(lambda: "[exit code 127]" in look(workspace, number).content)


def test_a_look_shows_what_is_new_and_a_line_that_has_not_ended(workspace: Workspace):
    number = begin(workspace, "echo one; printf two; read _ < <(sleep 3600)")
    assert eventually(lambda: look(workspace, number).content.startswith("two\n[running for "))


def test_a_look_at_what_has_ended_shows_nothing_twice(workspace: Workspace):
    number = begin(workspace, "seq 10")
    look(workspace, number, wait=20)
    assert look(workspace, number).content == "(no new output)\n[exit code 0]"


def test_a_look_waits_for_the_end_where_it_is_asked_to(workspace: Workspace):
    outcome = look(workspace, begin(workspace, "sleep 0.5; echo done; exit 3"), wait=60)
    assert outcome.content.endswith("done\n[exit code 3]")
    assert outcome.metadata["exit_code"] == 3
    assert not outcome.is_error


def test_waiting_ends_when_the_call_is_cancelled(workspace: Workspace, mark: str):
    number = begin(workspace, f"sleep {mark}")
    cancel = CancelToken()
    cancel.fire("enough")
    began = time.monotonic()
    workspace.call("bash_output", {"id": number, "wait": 100}, cancel)
    assert time.monotonic() - began < 50
    assert running(mark) != [], "only the look was cancelled"


def test_two_looks_at_one_that_is_silent_differ(workspace: Workspace, mark: str):
    """Else a run that waits would be taken for one that goes round in circles."""
    number = begin(workspace, f"sleep {mark}")
    first = look(workspace, number).content
    time.sleep(0.15)
    assert look(workspace, number).content != first


def test_commands_beside_it_leave_it_alone(workspace: Workspace, mark: str):
    """The sweep after a command must not take what is in the background for the command's."""
    number = begin(workspace, f"setsid sleep {mark} & ( ( sleep {mark} & ) & ) ; sleep {mark}")
    assert eventually(lambda: len(running(f"sleep\0{mark}")) == 3)
    outcome = bash(workspace, "sleep 3600 & echo beside")
    assert "1 process was still running in the background and was stopped" in outcome.content
    assert bash(workspace, "git status --short; ls").metadata["exit_code"] == 0
    assert len(running(f"sleep\0{mark}")) == 3
    assert look(workspace, number).metadata["running"] == 1


DAEMONS = {
    "plain": "sleep {}",
    "setsid": "setsid sleep {} >/dev/null 2>&1 & sleep {}",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & ); sleep {}",
    "all at once": "( trap '' HUP TERM INT; setsid setsid env -i nohup sleep {} >/dev/null 2>&1 & ) ; sleep {}",
    "deaf": "trap '' TERM; sleep {}; sleep {}",
}


def daemons(mark: str) -> dict[str, str]:
    """A command of each style, which sleeps for a time of its own."""
    return {style: DAEMONS[style].replace("{}", f"{mark}.{n}") for n, style in enumerate(DAEMONS, 1)}


def living(mark: str) -> list[str]:
    """The styles of which a process is left."""
    return [style for n, style in enumerate(DAEMONS, 1) if running(f"sleep\0{mark}.{n}")]


@pytest.mark.slow
def test_killing_it_kills_all_that_came_from_it(workspace: Workspace, mark: str):
    numbers = {style: begin(workspace, f"echo up; {command}") for style, command in daemons(mark).items()}
    assert eventually(lambda: living(mark) == list(DAEMONS))
    left = list(DAEMONS)
    for style, number in numbers.items():
        outcome = kill(workspace, number)
        left.remove(style)
        assert living(mark) == left, style
        assert re.search(r"\[killed after \d+\.\d s\]$", outcome.content), style
        assert outcome.metadata["running"] == len(left), style


def test_a_time_limit_ends_it_and_is_an_error(workspace: Workspace, mark: str):
    outcome = look(workspace, begin(workspace, f"echo up; sleep {mark}", timeout=2), wait=60)
    assert outcome.is_error
    assert outcome.metadata["timed_out"] is True
    assert (
        f"[timed out after 2 s: the command and all its processes were killed while these ran: sleep {mark};"
        in (outcome.content)
    )
    assert running(f"sleep\0{mark}") == []


def test_ending_all_ends_all(workspace: Workspace, mark: str):
    first, second = (begin(workspace, f"sleep {mark}") for _ in range(2))
    assert kill(workspace).content == f"[background commands ended: {first}, {second}]"
    assert running(f"sleep\0{mark}") == []
    assert kill(workspace).content == "[background commands ended: none was running]"


@pytest.mark.slow
def test_only_so_many_at_once(workspace: Workspace, mark: str):
    numbers = [begin(workspace, f"sleep {mark}") for _ in range(MAX_BACKGROUND)]
    refused = start(workspace, f"sleep {mark}")
    assert refused.is_error
    assert refused.content.startswith(
        f"{MAX_BACKGROUND} commands run in the background, and no more may: {numbers[0]} (sleep {mark}), {numbers[1]} "
    )
    kill(workspace, numbers[1])
    assert not start(workspace, f"sleep {mark}").is_error


def test_an_unknown_one_is_answered_with_those_there_are(bench: Bench, mark: str):
    workspace = bench.start()
    assert "None was started, or they were ended for the checks." in look(workspace, 1).content
    start(workspace, f"sleep {mark}")
    outcome = kill(workspace, 7)
    assert outcome.is_error
    assert f"There is no background command 7. There are: 1 (sleep {mark}, running)." in outcome.content


@pytest.mark.slow
def test_exit_codes_of_both_kinds_are_their_own(workspace: Workspace):
    """Nobody reaps the other's process: a lost exit code would read as success."""
    numbers = [begin(workspace, "sleep 0.3; exit 7") for _ in range(MAX_BACKGROUND)]
    for _ in range(10):
        assert bash(workspace, "sleep 0.05; exit 5").metadata["exit_code"] == 5
    for number in numbers:
        assert look(workspace, number, wait=60).metadata["exit_code"] == 7


LATE = CommandResult(
    -15, timed_out=True, cancelled=False, duration=120.0, swept=2, running=("pytest -x", "sleep 9")
)


def test_a_time_out_says_what_was_killed_what_ran_and_what_to_do():
    (note,) = ending(LATE, 120)
    assert note == (
        "timed out after 120 s: the command and all its processes were killed while these ran: pytest -x, sleep 9; "
        "what it printed is above. Give a longer timeout (at most 600 s), do less in one call, or use background "
        "without one"
    )
    assert "; what it printed is in $TMPDIR/out/7.txt. Give" in ending(LATE, 120, "$TMPDIR/out/7.txt")[0]


def test_a_long_silence_before_the_time_out_says_that_it_may_hang():
    (note,) = ending(LATE._replace(quiet=100.0), 120)
    assert "it printed nothing for 100 s: it may hang, or wait for input, of which there is none" in note


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-11, "killed by SIGSEGV"), (-250, "killed by signal 250")],
)
def test_an_end_is_named(code: int, words: str):
    assert ending(CommandResult(code, timed_out=False, cancelled=False, duration=1.0), 120) == [words]


def test_a_long_command_is_named_by_its_beginning():
    assert on_one_line("echo  one\necho two") == "echo one echo two"
    assert len(on_one_line("x" * 500)) == 60


@pytest.mark.parametrize(
    ("ended", "notes"),
    [
        (CommandResult(-9, cancelled=True), ["cancelled: the command and all its processes were killed"]),
        (
            CommandResult(-9, all_ended=True),
            [
                "killed by SIGKILL",
                (
                    "everything that ran in the workspace, background commands and language servers too, was killed, "
                    "since a command had ended the process that waits for it"
                ),
            ],
        ),
        (CommandResult(0, swept=1), ["exit code 0", "1 process was still running in the background and was stopped"]),
        (
            CommandResult(1, swept=3),
            ["exit code 1", "3 processes were still running in the background and were stopped"],
        ),
    ],
)  # fmt: skip
def test_what_was_killed_with_a_command_is_said(ended: CommandResult, notes: list[str]):
    assert ending(ended, 120) == notes


@pytest.mark.parametrize("all_ended", [False, True])
def test_a_limit_is_named_with_what_was_killed_and_what_to_do(all_ended: bool):
    limit = ExceededLimit("memory", 512 * MIB)
    (note,) = ending(CommandResult(-9, limit=limit, running=("make -j9",), all_ended=all_ended), 120)
    assert note.startswith(
        "stopped: more than 512 MiB of memory was held by the command and all it started, which is "
    )
    assert ("everything that ran in the workspace" in note) is all_ended
    assert "while these ran: make -j9; what it printed is above. Do less at once: fewer workers" in note


@pytest.mark.parametrize(
    ("code", "printed", "name", "words"),
    [
        (-25, b"", "file", "one file may have 4 GiB here, holes included. Write less"),
        (1, b"OSError: [Errno 24] Too many open files", "open_files",
         "one process may have 65536 open files here. "),
        (1, b"fork: retry: Resource temporarily unavailable", "processes",
         "the workspace may have 1000 processes at "),
        (1, b"std::bad_alloc", "memory",
         "one process may ask for 8 GiB of memory here, all together may hold as much"),
    ],
)  # fmt: skip
def test_a_limit_of_the_kernel_is_read_from_what_a_failed_command_printed(
    code: int, printed: bytes, name: str, words: str
):
    met = reached_kernel_limit(code, printed, ResourceLimits(), [])
    assert met is not None
    assert met[0] == name
    assert met[1].startswith(words)


def test_a_disk_with_room_and_other_failures_are_no_limit():
    assert (
        reached_kernel_limit(1, b"No space left on device", ResourceLimits(), ["/", "/nonexistent"]) is None
    )
    assert reached_kernel_limit(1, b"AssertionError", ResourceLimits(), []) is None
