"""A whole run words what goes well by its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.agent.journal_file import read_journal
from bot.contracts import journal as lines
from bot.contracts.tools import Variation
from bot.session.run_folder import RunFolder
from tests.support.fix_script import fix_steps
from tests.support.stage import Stage
from tests.support.verb_runs import request_in, run_verb


@pytest.mark.varied
@pytest.mark.slow
def test_a_run_is_worded_by_its_name(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "r1").variation == Variation("r1")


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_results_are_worded_by_the_name_of_the_run(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "variation", Variation("q"))
    run_verb(stage, request_in(stage, "fix", "mend it"), fix_steps())
    recorded = read_journal(stage.bundle / "journal.jsonl")
    _, first, second, described = (line.content for line in recorded.records(lines.Result))
    assert first.startswith("tidytime/format.py edited (+1 -1).\n")
    assert second.startswith("Edited tidytime/format.py (+1 -4).\n")
    assert described == "Kept."
