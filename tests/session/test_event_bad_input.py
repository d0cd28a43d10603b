"""What GitHub does not give, and what is taken away while a run goes on: a sentence each, and no diff is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support import warm
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, shell
from tests.support.model_script import ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.stage import MODEL, Stage


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.05)


@contextmanager
def running(stage: Stage, token: str) -> Iterator[warm.Running]:
    """A run whose model answers the third of its requests when the block ends."""
    go_on = threading.Event()

    def script(asked: ScriptRequest) -> Step:
        assert asked.number != 2 or go_on.wait(240)
        return STEPS[asked.number]

    with ModelServer(script) as server:
        environment = stage.environment(token, **{**server.environment(), "SLASH_AGENT_MODEL": MODEL})
        with warm.running(stage.run_command(), environment) as program:
            try:
                until(lambda: len(server.requests) >= 3 or program.completed.done())
                yield program
            finally:
                go_on.set()


def said(program: warm.Running) -> str:
    return program.completed.result().stdout + program.completed.result().stderr


STEPS: list[Step] = [VIEW, Turn(EDITS), shell("true"), DESCRIBE, DONE]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("which", ["asking", "progress"])
@pytest.mark.slow
def test_a_comment_that_is_deleted_during_the_run_ends_nothing(stage: Stage, which: str) -> None:
    def progress() -> list[Any]:
        return [one for one in stage.get("issues/1/comments") if "Working on it" in one["body"]]

    with running(stage, stage.sample.run_token) as program:
        until(lambda: bool(progress()))
        gone = stage.sample.comment if which == "asking" else progress()[0]["id"]
        stage.forge.delete_comment(stage.repo, gone)
    assert program.completed.result().returncode == 0, said(program)
    assert stage.publish().code == 0
    assert len(stage.pulls()) == 1
    left = [body for body in stage.bot_comments() if "<!-- slash-agent progress" in body]
    assert len(left) == (1 if which == "asking" else 0)


@pytest.mark.slow
def test_an_event_of_a_repository_that_is_gone_ends_with_a_sentence(stage: Stage) -> None:
    event = stage.sample.event
    stage.forge.delete_repository(stage.repo)
    ran = stage.run(event=event, token=stage.sample.maintainer_token)
    assert ran.code == 3
    assert "Traceback" not in ran.output
    assert len(ran.output.splitlines()) == 1
