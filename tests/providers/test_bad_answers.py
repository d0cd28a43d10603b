"""Servers that refuse, fail, go silent or go away, and runs that are canceled; over all adapters."""

import json
import socket
import threading
import time
from collections.abc import Callable

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Text
from bot.contracts.model import Retrying
from bot.providers.assembly import Reader
from bot.providers.connect import apply_overrides, connect
from bot.providers.retry import RetryPolicy
from bot.providers.streaming import StreamingProvider
from tests.support.model_script import Call, Raw, Say, Status, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import (
    FRAMES,
    MODELS,
    NO_DELAY,
    ask,
    completed,
    failed,
    provider_with_timeouts,
    run,
    without_extras,
)

pytestmark = pytest.mark.parametrize("model", MODELS)


def test_401_names_the_variable_that_holds_the_refused_key(model: str):
    end, requests = run(model, [Status(401, "invalid x-api-key: test-key.")])
    end = failed(end)
    variable = "ANTHROPIC_API_KEY" if model.startswith("anthropic") else "OPENAI_API_KEY"
    assert f"refused the key in {variable} (401)" in end.message
    assert "invalid x-api-key" in end.message
    assert "test-key" not in end.message, "the key itself, which the server repeats"
    assert (end.status, len(requests)) == (401, 1)


def test_404_names_model_and_base_url(model: str):
    with ModelServer([Status(404, "no such model")]) as server:
        provider = connect(model, server.environment(), policy=NO_DELAY)
        end = failed(provider.respond(ask(), CancelToken()))
        provider.close()
    assert model.partition("/")[2] in end.message
    assert server.url in end.message
    assert (end.status, len(server.requests)) == (404, 1)


@pytest.mark.parametrize("status", [400, 402, 403, 413, 422])
def test_a_request_that_is_wrong_is_sent_once(model: str, status: int):
    end, requests = run(model, [Status(status, "prompt is too long")])
    end = failed(end)
    assert (end.status, len(requests)) == (status, 1)
    assert "prompt is too long" in end.message


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_what_may_pass_is_sent_again(model: str, status: int):
    end, requests = run(model, [Status(status), Say("Hello")])
    assert completed(end).message.text == "Hello"
    assert requests[0].body == requests[1].body


def test_an_error_without_a_body_or_with_html_is_still_one_sentence(model: str):
    end, _ = run(model, [Status(400, "")])
    assert "answered 400" in failed(end).message
    end, _ = run(model, [Raw(b"<html>hello</html>", "text/html")])
    end = failed(end)
    assert "not answer with an event stream" in end.message
    assert "_BASE_URL" in end.message


def test_a_long_error_is_shown_in_part(model: str):
    end, _ = run(model, [Status(400, body=json.dumps({"error": {"message": "long " * 1_000_000}}))])
    assert "answered 400: long long" in failed(end).message
    assert len(failed(end).message) < 1_000


CUT = {
    "dropped": Turn((Say("x" * 2000),), pieces=10, drop=2700),
    "without its end": Turn((Say("Half"), Call("bash", {"command": "ls"})), ending=False),
    "overloaded": Turn((Say("Half"),), error={"type": "overloaded_error", "message": "Overloaded"}),
    "silent": Turn((Say("x" * 500),), pieces=10, stall=1500),
}


@pytest.mark.parametrize("how", CUT)
def test_an_answer_cut_after_its_first_words_is_tried_again_and_they_are_dropped(model: str, how: str):
    with ModelServer([CUT[how], Say("Hello")]) as server:
        provider = provider_with_timeouts(model, server, idle=0.5, attempts=6)
        retries: list[Retrying] = []
        end = provider.respond(ask(), CancelToken(), retries.append)
        provider.close()
    (retry,) = retries
    assert retry.partial is not None
    assert retry.partial.text
    assert without_extras(completed(end).message) == (Text("Hello"),)
    assert server.requests[0].body == server.requests[1].body


def test_an_answer_that_is_cut_each_time_is_paid_three_times_and_no_more(model: str):
    end, requests = run(model, lambda _: CUT["without its end"])
    end = failed(end)
    assert "ended before the answer was whole (after 3 attempts)" in end.message
    assert end.partial is not None
    assert len(requests) == 3


def test_an_answer_that_is_whole_counts_although_the_connection_then_breaks(model: str):
    tails = {
        "anthropic": b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
        "openai-chat": b"data: [DONE]\n\n",
        "openai-responses": b"",  # its last event is the one that counts
    }
    tail = tails[model.partition("/")[0]]
    body = FRAMES[model](Turn((Say("Hello"),)), 0)
    assert body.endswith(tail)
    end, _ = run(model, [Turn((Say("Hello"),), drop=len(body) - len(tail))])
    assert completed(end).message.text == "Hello"


def test_what_is_not_json_in_the_stream_is_a_failure_and_not_a_crash(model: str):
    for body in (b"{broken", b"[" * 100_000, b"\xff\xfe"):
        raw = Raw(b"event: message_start\ndata: " + body + b"\n\n")
        end, _ = run(model, [raw], policy=RetryPolicy(attempts=1))
        assert "not JSON" in failed(end).message


def test_nobody_listening_is_one_sentence_with_the_url(model: str):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {"ANTHROPIC_BASE_URL": url, "OPENAI_BASE_URL": url}
    provider = connect(model, environment, policy=RetryPolicy(attempts=2, base=0.0))
    retries: list[Retrying] = []
    end = provider.respond(ask(), CancelToken(), retries.append)
    provider.close()
    assert len(retries) == 1
    assert f"the connection to {url} failed" in failed(end).message


def test_an_answer_may_take_longer_to_begin_than_to_go_on(model: str):
    with ModelServer([Turn((Say("Hello"),), delay=0.8)]) as server:
        provider = provider_with_timeouts(model, server, patience=30, idle=0.5)
        assert completed(provider.respond(ask(), CancelToken())).message.text == "Hello"
        provider.close()


def test_a_request_that_may_still_be_answered_is_not_sent_again(model: str):
    """Who answers it then bills it, too."""
    with ModelServer([Turn((Say("Hello"),), delay=30.0)] * 3) as server:
        provider = connect(model, server.environment(), policy=RetryPolicy(attempts=3, base=0.0))
        assert provider.info.timeout == 900, "if the policy says nothing"
        provider = apply_overrides(provider, {model: {"timeout": 1}})
        end = provider.respond(ask(), CancelToken())
        provider.close()
        assert len(server.requests) == 1
    assert f"models: {{{model}: {{timeout: SECONDS}}}}" in failed(end).message


@pytest.mark.parametrize("stall", [0, 1500])
def test_canceling_a_stalled_stream_ends_it_at_once(model: str, stall: int):
    """The server is silent for as long as it lives, and the adapter would wait for minutes."""
    cancel = CancelToken()
    with ModelServer([Turn((Say("x" * 500),), pieces=10, stall=stall)]) as server:
        provider = connect(model, server.environment())
        assert isinstance(provider, StreamingProvider)
        begun: list[Reader] = []
        make = provider.reader
        provider.reader = lambda *of: begun.append(make(*of)) or begun[-1]  # type: ignore[misc, assignment, func-returns-value]
        fire_once(
            lambda: bool(begun and begun[0].partial is not None) if stall else bool(server.requests), cancel
        )
        end = failed(provider.respond(ask(), cancel))
        provider.close()
    assert end.canceled
    assert (end.partial is not None) == (stall > 0)


def fire_once(condition: Callable[[], bool], cancel: CancelToken) -> None:
    """From another thread, and a moment after `condition` holds, so that whoever is canceled waits for bytes."""

    def watch() -> None:
        while not condition():
            time.sleep(0.01)
        time.sleep(0.1)
        cancel.fire("signal")

    threading.Thread(target=watch, daemon=True).start()


def test_canceling_the_wait_before_a_retry_ends_it_at_once(model: str):
    cancel = CancelToken()
    timer = threading.Timer(0.1, cancel.fire, ["signal"])
    began = time.monotonic()
    wait = [Status(429, headers={"Retry-After": "60"})]
    end, requests = run(model, wait, cancel=cancel, retrying=lambda event: timer.start())
    timer.join()
    assert time.monotonic() - began < 30
    assert (failed(end).canceled, len(requests)) == (True, 1)


def test_a_token_that_fired_before_sends_nothing(model: str):
    cancel = CancelToken()
    cancel.fire("time")
    end, requests = run(model, [Say("Hello")], cancel=cancel)
    assert failed(end).canceled
    assert requests == []


def test_the_connection_is_kept_from_turn_to_turn(model: str):
    with ModelServer(lambda _: Call("bash", {"command": "ls"})) as server:
        provider = connect(model, server.environment())
        for _ in range(5):
            completed(provider.respond(ask(), CancelToken()))
        provider.close()
        assert server.connections == 1
        assert json.loads(server.requests[4].body)["stream"] is True


def test_a_chat_response_that_never_ends_after_its_last_event_holds_nobody_up(model: str):
    if not model.startswith("openai-chat"):
        pytest.skip("the other formats have no last event that ends the stream")
    with ModelServer([Turn((Say("Hello"),), stall=10**6), Say("Again")]) as server:
        provider = connect(model, server.environment())
        started = time.monotonic()
        assert completed(provider.respond(ask(), CancelToken())).message.text == "Hello"
        assert time.monotonic() - started < 5
        assert completed(provider.respond(ask(), CancelToken())).message.text == "Again"
        provider.close()
