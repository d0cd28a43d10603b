"""One whole answer over real wire formats: the path of summaries."""

from __future__ import annotations

import time
from collections.abc import Iterator

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
)
from bot.providers.connect import connect
from tests.support.model_script import Say, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import INFO, MODELS, ask


def test_a_stream_without_an_end_is_a_failure() -> None:
    class Mute:
        info: ModelInfo = INFO

        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
            yield Retrying(1, 0.0, "cut")

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
