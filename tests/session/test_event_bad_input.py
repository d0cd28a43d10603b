"""What GitHub does not give, and what is taken away while a run goes on: a sentence each, and no diff is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support import warm
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps, shell
from tests.support.model_script import ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.stage import MODEL, Stage

MENDED = b"round(abs(seconds))"


def test_without_any_token_the_variable_is_named(stage: Stage) -> None:
    """Neither for GitHub nor for a model: the one that is needed first is asked for first."""
    ran = stage.run(token="")
    assert ran.code == 2
    assert "GITHUB_TOKEN" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert stage.bot_requests() == []


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_a_token_that_may_only_read_costs_the_comments_and_keeps_the_bundle(stage: Stage) -> None:
    reading = stage.forge.token(permissions={"contents": "read", "issues": "read"}, repo=stage.repo)
    with ModelServer(fix_steps()) as server:
        ran = stage.run(model=server, token=reading)
    assert ran.code == 0, ran.output
    assert "the progress comment was not kept up to date" in ran.out
    assert MENDED in (stage.bundle / "changes.patch").read_bytes()
    published = stage.publish(token=reading)
    assert published.code == 6
    assert "Traceback" not in published.output
    assert MENDED in (stage.bundle / "changes.patch").read_bytes()
    assert stage.pulls() == []


@pytest.mark.slow
def test_a_refusal_with_a_token_that_may_only_read_is_still_one(stage: Stage) -> None:
    reading = stage.forge.token(permissions={"contents": "read", "issues": "read"}, repo=stage.repo)
    ran = stage.run(event=stage.ask("/agent revew"), token=reading)
    assert ran.code == 2
    assert "the thread could not be told" in ran.out


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
@pytest.mark.slow
def test_a_token_that_expires_half_way_costs_the_comments_and_keeps_the_bundle(stage: Stage) -> None:
    token = stage.forge.token(permissions={"contents": "read", "issues": "write"}, repo=stage.repo)
    with running(stage, token) as program:
        stage.forge.revoke_token(token)
    words = said(program)
    assert program.completed.result().returncode == 0, words
    assert "the progress comment was not kept up to date" in words
    assert token not in words
    expired = stage.publish(token=token)
    assert expired.code != 0
    assert "wrong or has expired" in expired.err
    assert "Traceback" not in expired.output
    assert stage.publish().code == 0
    assert len(stage.pulls()) == 1
    assert not any("Working on it" in body for body in stage.bot_comments())


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
