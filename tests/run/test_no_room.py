"""A whole run that ends for want of room to judge its tree: the tree stays, and the run says how to go on from it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.progress import Event
from bot.run.local import Fix, fix
from bot.run.salvage import salvage
from tests.support.fix_script import DONE, EDITS, VIEW
from tests.support.model_script import Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository

pytestmark = pytest.mark.bubblewrap


class Nobody:
    """Looks on, and says nothing."""

    person = None
    interrupted = None

    def tell(self, event: Event) -> None: ...

    def cut_off(self, text: str) -> None: ...


def test_a_run_without_room_for_the_gate_keeps_its_tree_and_salvage_judges_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks: bot/run/local.py "if not ended.unjudged:"."""
    repo = sample_repository(tmp_path / "tidytime")

    make = tempfile.mkdtemp

    def full(suffix: str | None = None, prefix: str | None = None, dir: Path | None = None) -> str:
        if prefix == "gate-":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return make(suffix, prefix, dir)

    with ModelServer([VIEW, Turn(EDITS), DONE]) as server, monkeypatch.context() as patched:
        patched.setattr("bot.gate.scratch.tempfile.mkdtemp", full)
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        asked = Fix(repo, "fix it", "anthropic/claude-sonnet-4-5", out=tmp_path / "out")
        fixed = fix(asked, environment, Nobody())
    assert (fixed.exit_code, fixed.branch) == (ExitCode.GATE, "")
    assert "No space left on device. It is kept: `slash-agent salvage`" in fixed.outcome.reason
    [folder] = (tmp_path / ".local/state/slash-agent/runs").iterdir()
    salvaged = salvage(folder, environment, tmp_path / "again")
    assert [file.path for file in salvaged.outcome.files] == ["tidytime/format.py"]
