"""One whole answer whose deltas nobody looks at, over real wire formats: the path of summaries."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.agent.receive import drain
from bot.contracts.cancel import CancelToken
from bot.contracts.model import (
    Complete,
    Event,
    Failed,
    ModelInfo,
    ModelRequest,
    Provider,
    Retrying,
    TextDelta,
)
from bot.providers.connect import connect
from tests.support.model_script import Hangup, Say, Status, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import INFO, MODELS, NO_DELAY, ask


@pytest.mark.parametrize("model", MODELS)
def test_the_whole_answer_comes_with_its_finish_and_every_wait_is_told(model: str) -> None:
    waits: list[Retrying] = []
    with ModelServer([Hangup(), Say("A title")]) as server:
        provider = connect(model, server.environment(), policy=NO_DELAY)
        end = drain(provider, replace(ask(), max_output=80), CancelToken(), waits.append)
        provider.close()
        body = json.loads(server.requests[1].body)
    assert isinstance(end, Complete)
    assert (end.message.text, end.finish.value, len(waits)) == ("A title", "end_turn", 1)
    limits = ("max_tokens", "max_output_tokens", "max_completion_tokens")
    assert [body[name] for name in limits if name in body] == [80]


@pytest.mark.parametrize("model", MODELS)
def test_a_failure_is_given_back_and_never_raised(model: str) -> None:
    with ModelServer([Status(400, "prompt is too long")]) as server:
        provider = connect(model, server.environment())
        end = drain(provider, ask(), CancelToken())
        provider.close()
    assert isinstance(end, Failed)
    assert end.overflow


def test_a_stream_without_an_end_is_a_failure() -> None:
    class Mute:
        info: ModelInfo = INFO

        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
            yield TextDelta("half")

        def close(self) -> None: ...

    assert isinstance(drain(Mute(), ask(), CancelToken()), Failed)


def _text(provider: Provider) -> str:
    end = drain(provider, ask(), CancelToken())
    assert isinstance(end, Complete)
    return end.message.text


def test_a_chat_response_that_never_ends_after_its_last_event_holds_nobody_up() -> None:
    with ModelServer([Turn((Say("Hello"),), stall=10**6), Say("Again")]) as server:
        provider = connect(MODELS[1], server.environment())
        started = time.monotonic()
        assert _text(provider) == "Hello"
        assert time.monotonic() - started < 5
        assert _text(provider) == "Again"
        provider.close()
