"""A run that fills its model's window: made shorter, looked up in the archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from bot.agent.journal_file import read_journal
from bot.contracts.journal import CompactionRecord, Result
from bot.contracts.outcome import Status
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW
from tests.support.model_script import Call, Say, ScriptRequest, Step, Tokens, Turn
from tests.support.stage import Stage
from tests.support.verb_runs import VerbRun, request_in, run_verb

pytestmark = pytest.mark.bubblewrap

FULL = Tokens(input=10**6)
LISTED = Call("todo", {"items": [{"text": "Round first", "status": "completed"}]})
SUMMARY = Say("## Decided\n- Round first.")


class Script:
    """Plays its steps; the step after the summary looks for the task in the transcript that the summary names."""

    def __init__(self) -> None:
        steps: list[Step] = [VIEW, LISTED, Turn(EDITS, tokens=FULL), SUMMARY]
        self._steps: Iterator[Step] = iter([*steps, DESCRIBE, DONE])
        self._looked = False

    def __call__(self, asked: ScriptRequest) -> Step:
        named = re.search(r"searched or viewed: ([^\s\\]+)", str(asked.body["messages"][-1]["content"]))
        if named and not self._looked:
            self._looked = True
            return Call("grep", {"pattern": "agent calls edit", "path": named.group(1)})
        return next(self._steps)


def long_run(stage: Stage) -> VerbRun:
    return run_verb(stage, request_in(stage, "fix", "round first"), Script())


@pytest.mark.slow
def test_a_run_that_fills_the_window_goes_on_from_a_summary(stage: Stage) -> None:
    came = long_run(stage)
    assert came.outcome.status is Status.CHANGED, came.outcome.reason
    summary = json.dumps(came.model_requests[-1]["messages"][0])
    assert "round first" in summary
    assert "- Round first." in summary
    assert "1. [x] Round first" in summary
    assert "- Files changed: `tidytime/format.py`" in summary
    recorded = read_journal(stage.bundle / "journal.jsonl")
    [made] = recorded.records(CompactionRecord)
    assert made.before > 10**6 > made.after
    [looked] = [one for one in recorded.records(Result) if one.name == "grep"]
    assert "agent calls edit" in looked.content


@pytest.mark.slow
def test_the_model_cannot_change_the_transcript(stage: Stage) -> None:
    class Wrecker(Script):
        def __call__(self, asked: ScriptRequest) -> Step:
            step = super().__call__(asked)
            if isinstance(step, Call) and step.name == "grep":
                return Call("bash", {"command": f"echo no > {step.arguments['path']}"})  # type: ignore[index]
            return step

    came = run_verb(stage, request_in(stage, "fix", "round first"), Wrecker())
    assert came.outcome.status is Status.CHANGED, came.outcome.reason
    [wrecked] = [
        one for one in read_journal(stage.bundle / "journal.jsonl").records(Result) if one.name == "bash"
    ]
    assert "Read-only file system" in wrecked.content
