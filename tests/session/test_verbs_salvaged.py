"""A run of a reading verb that died: its bundle has what was handed over, and nothing of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.contracts.outcome import Status
from bot.contracts.writes import AddLabel, Writes
from bot.publish.bundle.read import read_bundle
from bot.run.salvage import salvage
from tests.support.fix_script import DONE, EDITS, VIEW
from tests.support.model_script import Call, Turn
from tests.support.stage import Stage
from tests.support.verb_runs import VerbRun, request_in, run_verb

pytestmark = pytest.mark.bubblewrap

SUBMIT = Call("submit_plan", {"title": "Round first", "steps": [{"text": "Round first."}]})


def died(came: VerbRun, out: Path) -> Path:
    """The run's folder as a kill before its end leaves it: the journal stops after the last result."""
    lines = came.folder.journal.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"type":"result"' in line)
    came.folder.journal.write_text("".join(lines[: last + 1]))
    return out


def test_a_plan_that_was_handed_over_is_kept(stage: Stage, tmp_path: Path) -> None:
    came = run_verb(stage, request_in(stage, "plan"), [VIEW, SUBMIT, DONE])
    salvaged = salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.plan == came.bundle.plan is not None
    assert bundle.patch == b""
    assert salvaged.outcome.status is Status.PLANNED


@pytest.mark.slow
def test_a_question_that_was_asked_is_kept_beside_the_change(stage: Stage, tmp_path: Path) -> None:
    ask = Call("ask_user", {"question": "Which?"})
    came = run_verb(stage, request_in(stage, "fix"), [VIEW, Turn((*EDITS, ask))])
    salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.outcome.question == "Which?"
    assert bundle.patch == came.bundle.patch != b""


@pytest.mark.slow
def test_what_was_proposed_is_kept(stage: Stage, tmp_path: Path) -> None:
    policy = {".github/agent.yml": "writes: { verbs: [explain], labels: [needs tests] }\n"}
    stage.forge.commit(stage.repo, policy)
    asked = request_in(stage, "explain")
    assert asked.thread is not None
    label = {"kind": "add_label", "number": asked.thread.number, "label": "needs tests"}
    came = run_verb(stage, asked, [Call("propose_write", label), DONE])
    assert came.bundle.outcome.status is Status.ANSWERED
    salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.outcome.status is Status.PARTIAL
    assert bundle.writes == came.bundle.writes == Writes((AddLabel(asked.thread.number, "needs tests"),))
