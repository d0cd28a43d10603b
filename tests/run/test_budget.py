"""The limits of a whole run: told in time, kept to, and nothing of the work lost at the end."""

from __future__ import annotations

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.outcome import Status, StopReason
from bot.contracts.request import Verb
from bot.run.conclude import exit_code
from tests.support.fix_script import EDITS, VIEW, shell
from tests.support.model_script import Turn
from tests.support.stage import Stage
from tests.support.verb_runs import carry_out, request_in

pytestmark = pytest.mark.bubblewrap


def test_at_the_cap_on_commands_the_run_ends_with_what_it_has(stage: Stage) -> None:
    policy = "version: 1\ntiers:\n  maintainer:\n    commands: 5\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    flood = Turn(tuple(shell(f"echo {n}") for n in range(50)))
    came = carry_out(
        stage,
        request_in(stage, Verb.FIX),
        [VIEW, Turn(EDITS), *(shell(f"echo first {n}") for n in range(4)), flood],
    )
    said = [text for text in came.begun_last if "Used so far: 4 of 5 commands" in text]
    assert len(said) == 1
    assert came.outcome.stop_reason is StopReason.BUDGET
    assert "The limit of 5 commands is reached" in came.outcome.reason
    assert exit_code(came.outcome.stop_reason, came.outcome.status) is ExitCode.BUDGET
    assert came.outcome.status is Status.PARTIAL
    assert [file.path for file in came.outcome.files] == ["tidytime/format.py"]
    kept = came.folder.journal.read_text().splitlines()
    assert len([line for line in kept if '"name":"bash"' in line and '"exit_code"' in line]) == 5
