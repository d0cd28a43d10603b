"""A whole run words what goes well by its own name, and its replay says the same (S-165)."""

from __future__ import annotations

from pathlib import Path

import pytest

import bot.recovery.replay_run as replaying
from bot.agent.journal_file import JournalFile, read_journal
from bot.contracts import journal as lines
from bot.contracts.request import Verb
from bot.contracts.tools import Variation
from bot.recovery.replay_run import ReplayOptions, ReplayResult, replay
from bot.session.run_folder import RunFolder
from tests.support.fix_script import fix_steps
from tests.support.stage import Stage
from tests.support.verb_runs import request_in, run_verb


def told(journal: JournalFile) -> tuple[list[str], list[str]]:
    """Every result, and the digests of the requests that they went out in."""
    results = [line.content for line in journal.records(lines.Result)]
    return results, [line.digest for line in journal.records(lines.RequestSent)]


@pytest.mark.varied
@pytest.mark.slow
def test_a_run_is_worded_by_its_name(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "r1").variation == Variation("r1")


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_the_replay_of_a_run_is_word_for_word_the_run(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "variation", Variation("q"))
    run_verb(stage, request_in(stage, Verb.FIX, "mend it"), fix_steps())
    recorded = read_journal(stage.bundle / "journal.jsonl")
    _, first, second, described = told(recorded)[0]
    assert first.startswith("tidytime/format.py edited (+1 -1).\n")
    assert second.startswith("Edited tidytime/format.py (+1 -4).\n")
    assert described == "Kept."
    played: list[JournalFile] = []

    def compared(one: JournalFile, again: JournalFile, *rest: object) -> ReplayResult:
        played.append(again)
        return compare(one, again, *rest)  # type: ignore[arg-type]

    compare = replaying._compare
    monkeypatch.setattr(replaying, "_compare", compared)
    repo = stage.folder / "clone"
    stage.call(["git", "clone", "-q", stage.forge.clone_url(stage.repo), str(repo)], stage.environment())
    again = replay(ReplayOptions(stage.bundle / "journal.jsonl", repo), stage.environment())
    assert again.difference == ""
    assert told(played[0]) == told(recorded)
