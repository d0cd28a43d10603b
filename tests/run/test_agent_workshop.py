"""A sandbox that held when it was probed and does not start later: the call fails, three in a row end the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.run.agent_workshop import AgentWorkshop
from bot.run.folder import RunFolder
from bot.workshop.client.workshop import Workshop


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
