"""The scripted model server itself, as tests and benches use it."""

from __future__ import annotations

import urllib.request

import pytest

from bot.contracts.messages import Message, ToolCall, ToolResult
from tests.support.model_script import Say, ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, ask, completed, failed, run, user
from tests.support.workspaces import eventually


def test_a_request_beyond_the_script_is_refused_for_good() -> None:
    events, requests = run(MODELS[0], [])
    assert "the script has 0 steps and this is request 1" in failed(events).message
    assert len(requests) == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_script_may_be_a_function_of_the_request(model: str) -> None:
    def script(asked: ScriptRequest) -> Step:
        return Say(f"{asked.number} {sorted(asked.tools)} {asked.results}")

    called = Message("assistant", (ToolCall("a", "bash", "{}"),))
    history = ask(user("q"), called, Message("tool", (ToolResult("a", "bash", "hi"),)))
    events, _ = run(model, script, history)
    assert completed(events).message.text == "0 ['bash'] ['hi']"


def test_a_script_that_raises_is_an_answer_and_not_a_hang() -> None:
    events, _ = run(MODELS[0], lambda _: 1 / 0)  # type: ignore[arg-type,return-value]  # what a broken script does
    assert "ZeroDivisionError" in failed(events).message


def test_requests_are_recorded_word_for_word_with_their_times() -> None:
    with ModelServer([Say("ok"), Say("ok")]) as server:
        for _ in range(2):
            request = urllib.request.Request(
                f"{server.url}/v1/messages", b'{"a":1}', {"X-Test": "é".encode().hex()}
            )
            urllib.request.urlopen(request).read()
        first, second = server.requests
        # The client has its last byte a moment before the server has noted that it is sent.
        assert eventually(lambda: first.answered_ns > 0 and second.answered_ns > 0)
    assert first.raw.startswith(b"POST /v1/messages HTTP/1.1\r\n")
    assert first.raw.endswith(b'\r\n\r\n{"a":1}')
    assert first.json == {"a": 1}
    assert first.arrived_ns < second.arrived_ns
    assert all(one.arrived_ns < one.answered_ns for one in (first, second))
