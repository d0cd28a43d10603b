"""How a command ended, in words."""

import pytest

from bot.toolhost.resource_limits import MIB, ExceededLimit, ResourceLimits
from bot.toolhost.shell import CommandResult
from bot.toolhost.tools.bash_output import ending, on_one_line, reached_kernel_limit

LATE = CommandResult(
    -15, timed_out=True, cancelled=False, duration=120.0, swept=2, running=("pytest -x", "sleep 9")
)


def test_a_time_out_says_what_was_killed_what_ran_and_what_to_do() -> None:
    (note,) = ending(LATE, 120)
    assert note == (
        "timed out after 120 s: the command and all its processes were killed while these ran: pytest -x, sleep 9; "
        "what it printed is above. Give a longer timeout (at most 600 s), do less in one call, or use background "
        "without one"
    )
    assert "; what it printed is in $TMPDIR/out/7.txt. Give" in ending(LATE, 120, "$TMPDIR/out/7.txt")[0]


def test_a_long_silence_before_the_time_out_says_that_it_may_hang() -> None:
    (note,) = ending(LATE._replace(quiet=100.0), 120)
    assert "it printed nothing for 100 s: it may hang, or wait for input, of which there is none" in note


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-11, "killed by SIGSEGV"), (-250, "killed by signal 250")],
)
def test_an_end_is_named(code: int, words: str) -> None:
    assert ending(CommandResult(code, timed_out=False, cancelled=False, duration=1.0), 120) == [words]


def test_a_long_command_is_named_by_its_beginning() -> None:
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
        (
            CommandResult(0, swept=1),
            ["exit code 0", "1 process was still running in the background and was stopped"],
        ),
        (
            CommandResult(1, swept=3),
            ["exit code 1", "3 processes were still running in the background and were stopped"],
        ),
    ],
)
def test_what_was_killed_with_a_command_is_said(ended: CommandResult, notes: list[str]) -> None:
    assert ending(ended, 120) == notes


@pytest.mark.parametrize("all_ended", [False, True])
def test_a_limit_is_named_with_what_was_killed_and_what_to_do(all_ended: bool) -> None:
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
        (
            1,
            b"OSError: [Errno 24] Too many open files",
            "open_files",
            "one process may have 65536 open files here. ",
        ),
        (
            1,
            b"fork: retry: Resource temporarily unavailable",
            "processes",
            "the workspace may have 1000 processes at ",
        ),
        (
            1,
            b"std::bad_alloc",
            "memory",
            "one process may ask for 8 GiB of memory here, all together may hold as much",
        ),
    ],
)
def test_a_limit_of_the_kernel_is_read_from_what_a_failed_command_printed(
    code: int, printed: bytes, name: str, words: str
) -> None:
    met = reached_kernel_limit(code, printed, ResourceLimits(), [])
    assert met is not None
    assert met[0] == name
    assert met[1].startswith(words)


def test_a_disk_with_room_and_other_failures_are_no_limit() -> None:
    assert (
        reached_kernel_limit(1, b"No space left on device", ResourceLimits(), ["/", "/nonexistent"]) is None
    )
    assert reached_kernel_limit(1, b"AssertionError", ResourceLimits(), []) is None
