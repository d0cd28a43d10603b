"""Trouble on the way from a comment to its pull request: each gives a sentence, an exit code, and loses no diff."""

from __future__ import annotations

import pytest

from slash_forge.bundled import REPORTER
from tests.support.fix_script import DONE
from tests.support.model_script import Say
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage

pytestmark = pytest.mark.bubblewrap


def assert_told(stage: Stage, ran: CommandResult, said: str, number: int = 0) -> None:
    """One sentence on the log, the same in the thread, no comment that is still at work, no process."""
    assert said in ran.err, ran.output
    assert "Traceback" not in ran.output
    comments = stage.bot_comments(number)
    assert any("The run failed" in body for body in comments), comments
    assert not any("Working on it" in body for body in comments), comments
    assert stage.remaining_processes() == []


def test_a_policy_that_is_not_yaml_is_told_to_whoever_may_command(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": "checks: [\n"})
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server)
        assert server.requests == []
    assert ran.code == 2
    assert_told(stage, ran, ".github/agent.yml:")


def test_a_policy_that_is_not_yaml_is_nothing_to_tell_an_outsider(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": "checks: [\n"})
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=stage.ask("/agent fix this", REPORTER))
    assert ran.code == 2
    assert stage.bot_comments() == []


@pytest.mark.slow
def test_a_models_words_are_no_command_to_the_runner(stage: Stage) -> None:
    words = "Done.\n::add-mask::e\n##[add-path]/tmp\n::error::boo"
    with ModelServer([Say(words)]) as server:
        ran = stage.run(model=server, GITHUB_ACTIONS="true")
    lines = ran.output.splitlines()
    inside = outside = 0
    token = ""
    for line in lines:
        if line.startswith("::stop-commands::"):
            assert not token
            token = line.rpartition("::")[2]
        elif line == f"::{token}::":
            token = ""
        elif any(word in line for word in ("add-mask::e", "[add-path", "error::boo")):
            inside, outside = inside + bool(token), outside + (not token)
    assert (inside > 0, outside) == (True, 0), ran.output
    assert not [line for line in lines if line.startswith(("::add-mask::e", "##[add-path", "::error"))]
