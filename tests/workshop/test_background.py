"""Commands in the background, through the pipe, on a real host: started, looked at, ended, and never left behind."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.sandbox.choose import bubblewrap
from bot.workshop.client.workshop import Workshop
from bot.workshop.host.background import MOST
from tests.support.workshops import Bench, bash, eventually, running


def start(workshop: Workshop, command: str, **more: Any) -> ToolOutcome:
    return bash(workshop, command, background=True, **more)


def look(workshop: Workshop, number: int = 1, **more: Any) -> ToolOutcome:
    return workshop.call("bash_output", {"id": number, **more}, CancelToken())


def kill(workshop: Workshop, number: int | None = None) -> ToolOutcome:
    return workshop.call("bash_kill", {} if number is None else {"id": number}, CancelToken())


def printed(workshop: Workshop, words: str) -> bool:
    """Whether the first command's whole output holds `words`."""
    return words in look(workshop, offset=1).content


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A number of seconds that nobody else sleeps."""
    return f"3{abs(hash(str(tmp_path))) % 10**9}"


def test_it_comes_back_at_once_and_says_where_it_is(workshop: Workshop, bench: Bench, mark: str) -> None:
    began = time.monotonic()
    outcome = start(workshop, f"echo up; sleep {mark}")
    assert time.monotonic() - began < 20
    assert not outcome.is_error
    spill = outcome.metadata["spill"]
    assert outcome.metadata["running"] == 1
    assert f"[background command 1 was started in {bench.tree}; " in outcome.content
    assert f"its output goes to {spill}; see bash_output" in outcome.content
    assert f"The working folder is still {bench.tree}]" in outcome.content
    assert eventually(lambda: printed(workshop, "up\n"))
    assert len(running(mark)) > 0


def test_its_own_cd_changes_no_working_folder(workshop: Workshop, bench: Bench) -> None:
    start(workshop, "cd src")
    look(workshop, wait=20)
    assert bash(workshop, "pwd").content.startswith(f"{bench.tree}\n")


def test_it_begins_in_the_working_folder(workshop: Workshop, bench: Bench) -> None:
    bash(workshop, "cd src")
    start(workshop, "pwd")
    look(workshop, wait=20)
    assert printed(workshop, f"{bench.tree}/src\n")


def test_a_command_that_cannot_run_says_so_at_once(workshop: Workshop) -> None:
    outcome = start(workshop, "no-such-program --serve")
    assert "no-such-program: command not found\n" in outcome.content + look(workshop, offset=1).content
    assert eventually(lambda: "[exit code 127]" in look(workshop).content)


def test_a_look_shows_what_is_new_and_a_line_that_has_not_ended(workshop: Workshop) -> None:
    start(workshop, "echo one; printf two; read _ < <(sleep 3600)")
    assert eventually(lambda: printed(workshop, "one\ntwo"))
    again = look(workshop)
    assert again.content.startswith("two\n[running for ")
    assert "one" not in again.content


def test_a_look_at_an_offset_begins_with_that_line(workshop: Workshop) -> None:
    start(workshop, "seq 10")
    look(workshop, wait=20)
    assert look(workshop, offset=9).content.startswith("9\n10\n[exit code 0]")
    assert look(workshop).content == "(no new output)\n[exit code 0]"


def test_a_look_beyond_the_end_says_how_much_there_is(workshop: Workshop) -> None:
    start(workshop, "seq 3")
    look(workshop, wait=60)
    assert look(workshop, offset=4).content == "(no new output)\n[exit code 0]"
    assert look(workshop, offset=9).content == (
        "(no new output)\n[its output has 3 whole lines so far]\n[exit code 0]"
    )


def test_a_look_waits_for_the_end_where_it_is_asked_to(workshop: Workshop) -> None:
    start(workshop, "sleep 0.5; echo done; exit 3")
    outcome = look(workshop, wait=60)
    assert outcome.content.endswith("done\n[exit code 3]")
    assert outcome.metadata["exit_code"] == 3
    assert not outcome.is_error


def test_waiting_ends_when_the_call_is_cancelled(workshop: Workshop, mark: str) -> None:
    start(workshop, f"sleep {mark}")
    cancel = CancelToken()
    cancel.fire("enough")
    began = time.monotonic()
    workshop.call("bash_output", {"id": 1, "wait": 100}, cancel)
    assert time.monotonic() - began < 50
    assert running(mark) != [], "only the look was cancelled"


def test_two_looks_at_one_that_is_silent_differ(workshop: Workshop, mark: str) -> None:
    """Else a run that waits would be taken for one that goes round in circles."""
    start(workshop, f"sleep {mark}")
    first = look(workshop).content
    time.sleep(0.15)
    assert look(workshop).content != first


def test_long_output_is_shown_by_head_and_tail_and_can_be_paged(workshop: Workshop) -> None:
    spill = start(workshop, "seq 100000").metadata["spill"]
    look(workshop, wait=60)
    text = look(workshop, offset=1).content
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("99999\n100000\n[exit code 0]")
    assert len(text) < 31_000
    page = workshop.call("view", {"path": spill, "offset": 50_000, "limit": 1}, CancelToken())
    assert "50000|50000" in page.content


def test_commands_beside_it_leave_it_alone(workshop: Workshop, mark: str) -> None:
    """The sweep after a command must not take what is in the background for the command's."""
    start(workshop, f"setsid sleep {mark} & ( ( sleep {mark} & ) & ) ; sleep {mark}")
    assert eventually(lambda: len(running(f"sleep\0{mark}")) == 3)
    outcome = bash(workshop, "sleep 3600 & echo beside")
    assert "1 process was still running in the background and was stopped" in outcome.content
    assert bash(workshop, "git status --short; ls").metadata["exit_code"] == 0
    assert len(running(f"sleep\0{mark}")) == 3
    assert look(workshop).metadata["running"] == 1


DAEMONS = {
    "plain": "sleep {}",
    "setsid": "setsid sleep {} >/dev/null 2>&1 & sleep {}",
    "double fork": "( ( sleep {} >/dev/null 2>&1 & ) & ); sleep {}",
    "all at once": "( trap '' HUP TERM INT; setsid setsid env -i nohup sleep {} >/dev/null 2>&1 & ) ; sleep {}",
    "deaf": "trap '' TERM; sleep {}; sleep {}",
}


@pytest.mark.parametrize("style", DAEMONS)
def test_killing_it_kills_all_that_came_from_it(workshop: Workshop, style: str, mark: str) -> None:
    start(workshop, f"echo up; {DAEMONS[style].replace('{}', mark)}")
    assert eventually(lambda: running(f"sleep\0{mark}") != [])
    outcome = kill(workshop, 1)
    assert running(f"sleep\0{mark}") == []
    assert re.search(r"\[killed after \d+\.\d s\]$", outcome.content)
    assert outcome.metadata["running"] == 0


@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_of_it_outlives_the_workshop(workshop: Workshop, style: str, mark: str) -> None:
    start(workshop, DAEMONS[style].replace("{}", mark))
    assert eventually(lambda: running(f"sleep\0{mark}") != [])
    workshop.close()
    assert eventually(lambda: running(f"sleep\0{mark}") == [])


@pytest.mark.bubblewrap
@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_of_it_outlives_the_sandbox(bench: Bench, style: str, mark: str) -> None:
    workshop = bench.start(bubblewrap())
    start(workshop, DAEMONS[style].replace("{}", mark))
    assert eventually(lambda: running(f"sleep\0{mark}") != [])
    workshop.close()
    assert running(f"sleep\0{mark}") == []


SUPERVISOR = """
import os, sys
from pathlib import Path
from bot.contracts.cancel import CancelToken
from bot.sandbox.choose import candidates
from bot.workshop.client.workshop import Answer, Workshop
folder = Path(sys.argv[1])
workshop = Workshop.start(candidates(sys.argv[2])[0][0], tree=folder / "tree", folder=folder, environment=os.environ,
                          ask=lambda _: Answer(True))
workshop.call("bash", {"command": sys.argv[3], "background": True}, CancelToken())
print("up", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("sandbox", ["off", pytest.param("strict", marks=pytest.mark.bubblewrap)])
@pytest.mark.parametrize("style", DAEMONS)
def test_nothing_of_it_outlives_a_supervisor_that_was_killed(
    bench: Bench, sandbox: str, style: str, mark: str
) -> None:
    command = DAEMONS[style].replace("{}", mark)
    arguments = [sys.executable, "-c", SUPERVISOR, str(bench.folder), sandbox, command]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"up\n"
        assert eventually(lambda: running(f"sleep\0{mark}") != [])
        supervisor.kill()
    assert eventually(lambda: running(f"sleep\0{mark}") == [])


def test_what_it_leaves_behind_ends_with_it(workshop: Workshop, mark: str) -> None:
    start(workshop, f"setsid sleep {mark} >/dev/null 2>&1 & sleep 0.1; echo over")
    assert "[exit code 0]" in look(workshop, wait=60).content
    assert eventually(lambda: running(f"sleep\0{mark}") == [])


def test_a_time_limit_ends_it_and_is_an_error(workshop: Workshop, mark: str) -> None:
    start(workshop, f"echo up; sleep {mark}", timeout=2)
    outcome = look(workshop, wait=60)
    assert outcome.is_error
    assert outcome.metadata["timed_out"] is True
    assert (
        f"[timed out after 2 s: the command and all its processes were killed while these ran: sleep {mark};"
        in (outcome.content)
    )
    assert running(f"sleep\0{mark}") == []


def test_ending_all_ends_all(workshop: Workshop, mark: str) -> None:
    for _ in range(2):
        start(workshop, f"sleep {mark}")
    assert kill(workshop).content == "[background commands ended: 1, 2]"
    assert running(f"sleep\0{mark}") == []
    assert kill(workshop).content == "[background commands ended: none was running]"


def test_killing_what_has_ended_says_how_it_ended(workshop: Workshop) -> None:
    start(workshop, "exit 4")
    look(workshop, wait=60)
    assert kill(workshop, 1).content == (
        "(no new output)\n[background command 1 had ended already]\n[exit code 4]"
    )


def test_only_so_many_at_once(workshop: Workshop, mark: str) -> None:
    for _ in range(MOST):
        assert not start(workshop, f"sleep {mark}").is_error
    refused = start(workshop, f"sleep {mark}")
    assert refused.is_error
    assert refused.content.startswith(
        f"{MOST} commands run in the background, and no more may: 1 (sleep {mark}), 2 "
    )
    kill(workshop, 2)
    assert not start(workshop, f"sleep {mark}").is_error


def test_an_unknown_one_is_answered_with_those_there_are(workshop: Workshop, mark: str) -> None:
    assert "None was started, or they were ended for the checks." in look(workshop, 1).content
    start(workshop, f"sleep {mark}")
    outcome = kill(workshop, 7)
    assert outcome.is_error
    assert f"There is no background command 7. There are: 1 (sleep {mark}, running)." in outcome.content


def test_exit_codes_of_both_kinds_are_their_own(workshop: Workshop) -> None:
    """Nobody reaps the other's process: a lost exit code would read as success."""
    for _ in range(MOST):
        start(workshop, "sleep 0.3; exit 7")
    for _ in range(10):
        assert bash(workshop, "sleep 0.05; exit 5").metadata["exit_code"] == 5
    for number in range(1, MOST + 1):
        assert look(workshop, number, wait=60).metadata["exit_code"] == 7


def test_a_very_long_command_works_in_the_background(workshop: Workshop) -> None:
    start(workshop, f"echo {'x' * 300_000} | wc -c")
    assert "300001\n" in look(workshop, offset=1, wait=60).content


def test_a_program_that_prints_without_end_is_bounded(workshop: Workshop) -> None:
    spill = Path(start(workshop, "yes 'a line that is printed without end'").metadata["spill"])
    assert eventually(lambda: look(workshop).metadata["bytes"] > 60_000_000)
    assert "a line that is printed without end" in look(workshop).content
    kill(workshop, 1)
    assert spill.stat().st_size < 54_000_000


def test_what_it_wrote_is_found_by_the_scan(workshop: Workshop) -> None:
    start(workshop, "echo two >> a.txt")
    look(workshop, wait=60)
    assert {change.path for change in workshop.scan().files} == {"a.txt"}


def test_what_it_changed_must_be_viewed_again_before_an_edit(workshop: Workshop) -> None:
    workshop.call("view", {"path": "a.txt"}, CancelToken())
    start(workshop, "echo two >> a.txt; echo three >> a.txt")
    look(workshop, wait=60)
    outcome = workshop.call("edit", {"path": "a.txt", "old": "one", "new": "two"}, CancelToken())
    assert outcome.is_error
    assert "changed" in outcome.content
