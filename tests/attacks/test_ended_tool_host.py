"""A tool host that is killed or stopped while a command runs: noticed at once, and started again once."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.session.workspaces.start_workspaces import CallPosition
from bot.toolhost.descendants import children
from bot.workspace.client import HostEndedError, Workspace
from tests.support.repositories import make_repository
from tests.support.workspaces import BACK_ENDS, EACH_BACK_END, Bench, ScriptedWorkspace, eventually

_SECONDS = 30.0
"""Of a command that would take 60: long for the busiest machine."""

back_ends = pytest.mark.parametrize("back_end", EACH_BACK_END)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    yield bench
    bench.close()


class Run:
    """The agent's workspace, with a signal that reaches its tool host while a command runs."""

    def __init__(self, bench: Bench, back_end: str) -> None:
        self._bench = bench
        self._started: list[Workspace] = []
        self.workspace = ScriptedWorkspace(lambda number: self._start(back_end))

    def _start(self, back_end: str) -> Workspace:
        self._started.append(self._bench.start(BACK_ENDS[back_end]()))
        return self._started[-1]

    def bash(self, command: str) -> ToolOutcome:
        return self.workspace.call("bash", {"command": command}, CancelToken(), position=CallPosition(1, "a"))

    def signalled(self, number: int) -> ToolOutcome:
        """The outcome of a command during which its tool host gets the signal."""
        mark = self._bench.tree / "mark"

        def send() -> None:
            if eventually(mark.exists):
                os.kill(children(self._started[-1]._host.process.pid)[0], number)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            return self.bash("touch mark; sleep 60")
        finally:
            sender.join()
            mark.unlink()


@back_ends
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a81_a_host_that_was_killed_or_stopped_is_started_again_once(
    back_end: str, number: int, bench: Bench
):
    run = Run(bench, back_end)
    started = time.monotonic()
    outcome = run.signalled(number)
    assert time.monotonic() - started < _SECONDS
    assert outcome.is_error
    assert "A new one works on the same tree" in outcome.content
    assert run.bash("cat a.txt").content.startswith("one\n")
    with pytest.raises(HostEndedError):
        run.signalled(number)
