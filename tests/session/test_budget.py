"""The limits of a whole run: told in time, kept to, and nothing of the work lost at the end."""

from dataclasses import replace

import pytest

from bot.contracts.outcome import Status, StopReason
from bot.contracts.request import Tier
from bot.policy.tiers import default_tiers
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import Turn
from tests.support.stage import Stage
from tests.support.verb_runs import request_in, run_verb

pytestmark = pytest.mark.bubblewrap


@pytest.mark.slow
def test_a_run_that_is_given_no_commands_goes_on_without_them(stage: Stage):
    """And the checks that the policy names are run, since they do not count."""
    policy = "version: 1\nbudget: {commands: 0}\nchecks: [python3 -m unittest]\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    came = run_verb(stage, request_in(stage, "fix"), [VIEW, shell("touch evil"), Turn(EDITS), DESCRIBE, DONE])
    assert came.outcome.stop_reason is StopReason.END_TURN
    assert came.outcome.status is Status.CHANGED
    assert [file.path for file in came.outcome.files] == ["tidytime/format.py"]
    assert [check.after.state.value for check in came.outcome.checks] == ["passed"]
    assert "gives you none" in came.first
    assert "bash" not in came.tools
    assert "Used so far" not in came.folder.journal.read_text()


@pytest.mark.slow
def test_commands_that_may_print_nothing_are_none():
    limits = default_tiers()[Tier.MAINTAINER]
    assert not replace(limits, output=0).runs_commands
    assert not replace(limits, commands=0).runs_commands
    assert replace(limits, commands=None, output=None).runs_commands
