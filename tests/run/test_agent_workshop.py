"""The workshop of a run's calls: a sandbox that does not start, and the order in which changes are told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.run.agent_workshop import AgentWorkshop, CallPlace
from bot.run.folder import RunFolder
from bot.workshop.client.workshop import ScanResult, Workshop
from tests.support.workshops import Bench, eventually, make_tree


def test_one_that_did_not_start_is_tried_in_the_same_folder(tmp_path: Path) -> None:
    """Breaks: bot/run/folder.py "exist_ok=True"."""
    folder = RunFolder(tmp_path)
    assert folder.workshop("agent-0") == folder.workshop("agent-0")


def test_a_sandbox_that_does_not_start_fails_the_call_and_the_third_time_the_run() -> None:
    """Breaks: bot/run/agent_workshop.py "if self._failed_starts >= _MOST_FAILED_STARTS:"."""

    def start(number: int) -> Workshop:
        raise NoSandboxError(f"bwrap: no more namespaces ({number})")

    workshop = AgentWorkshop(start, lambda place, scan: None)
    for _ in range(2):
        outcome = workshop.call("bash", {"command": "true"}, CancelToken(), place=None)
        assert outcome.is_error
        assert outcome.content.startswith(
            "Nothing was run: the sandbox did not start. bwrap: no more namespaces (0)"
        )
    with pytest.raises(NoSandboxError):
        workshop.call("bash", {"command": "true"}, CancelToken(), place=None)


def test_what_is_found_at_the_end_is_told_after_what_was_found_before(tmp_path: Path) -> None:
    """Else a recording ends with the older of two versions. Breaks: bot/run/agent_workshop.py
    "self._settle()  # first".
    """
    bench = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\n"}))
    told: list[list[str]] = []
    first, second = threading.Event(), threading.Event()

    def changed(place: CallPlace, scan: ScanResult) -> None:
        if first.is_set():
            second.set()
        first.set()
        second.wait(1)
        told.append([change.path for change in scan.files])

    workshop = AgentWorkshop(lambda number: bench.start(), changed)
    try:
        writes = "touch one; until [ -e go ]; do sleep 0.01; done; touch two; sleep 600"
        workshop.call("bash", {"command": writes, "background": True}, CancelToken(), place=CallPlace(1, "a"))
        assert eventually((tmp_path / "tree" / "one").exists)
        workshop.scan_meanwhile()
        assert first.wait(60)
        (tmp_path / "tree" / "go").touch()
        assert eventually((tmp_path / "tree" / "two").exists)
        workshop.close()
    finally:
        workshop.kill()
        bench.close()
    assert [sorted({"one", "two"} & set(paths)) for paths in told] == [["one"], ["two"]]
