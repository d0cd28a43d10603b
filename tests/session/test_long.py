"""A run that fills its model's window: made shorter, looked up in the archive."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from bot.agent.journal_file import read_journal
from bot.contracts.journal import Result
from bot.contracts.outcome import Status
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW
from tests.support.model_script import Call, Say, ScriptRequest, Step, Tokens, Turn
from tests.support.stage import Stage
from tests.support.verb_runs import request_in, run_verb

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
