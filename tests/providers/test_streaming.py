"""What all adapters share beyond one request: pauses, one deadline, silent overflow, what usage is kept."""

import itertools

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Retrying
from bot.providers.connect import connect
from bot.providers.retry import RetryPolicy
from bot.providers.streaming import StreamingProvider
from tests.support.model_script import Hangup, Say, Status, Turn
from tests.support.model_server import ModelServer
from tests.support.provider_runs import MODELS, NO_DELAY, ask, completed, failed, run, sse

MESSAGES, CHAT, _ = MODELS


@pytest.mark.parametrize(
    ("model", "word", "finish"),
    [
        (MESSAGES, "end_turn", FinishReason.END_TURN),
        (MESSAGES, "stop_sequence", FinishReason.END_TURN),
        (MESSAGES, "max_tokens", FinishReason.MAX_TOKENS),
        (MESSAGES, "model_context_window_exceeded", FinishReason.MAX_TOKENS),
        (CHAT, "stop", FinishReason.END_TURN),
        (CHAT, "length", FinishReason.MAX_TOKENS),
    ],
)
def test_each_word_of_a_vendor_for_the_end_is_one_of_ours(model: str, word: str, finish: FinishReason):
    end = completed(run(model, [Turn((Say("Hm."),), stop=word)])[0])
    assert (end.finish, end.raw_reason) == (finish, word)


def test_usage_that_a_later_event_leaves_out_stays_for_messages():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 7,
        "output_tokens": 1,
    }
    stop = {"stop_reason": "end_turn"}
    start = {"type": "message_start", "message": {"usage": usage}}
    for last, output in (
        ({"output_tokens": 20}, 20),
        ({"output_tokens": 20, "input_tokens": None, "cache_read_input_tokens": None}, 20),
        ({}, 1),
        (None, 1),
    ):
        delta = {"type": "message_delta", "delta": stop, "usage": last}
        end, _ = run(MESSAGES, [sse(start, delta)])
        assert completed(end).usage == Usage(10, 900, 7, output)
    zero = {
        "type": "message_delta",
        "delta": stop,
        "usage": {"output_tokens": 20, "cache_read_input_tokens": 0},
    }
    assert completed(run(MESSAGES, [sse(start, zero)])[0]).usage == Usage(10, 0, 7, 20)


def test_what_an_answer_that_broke_off_had_used_is_counted():
    """It was paid for all the same."""
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 900}},
    }
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half"}}
    end = failed(run(MESSAGES, [sse(start, block, delta)], policy=RetryPolicy(attempts=1))[0])
    assert end.partial is not None
    assert (end.partial.text, end.usage) == ("Half", Usage(10, 900))


def test_usage_that_a_later_chunk_leaves_out_stays_for_chat():
    details = {"cached_tokens": 900, "cache_write_tokens": 50}
    whole = {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    choice = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    for last in (
        {"choices": [], "usage": {"prompt_tokens": None}},
        {"choices": [], "usage": None},
        {"choices": []},
    ):
        end, _ = run(CHAT, [sse({**choice, "usage": whole}, last)])
        assert completed(end).usage == Usage(50, 900, 50, 20, 15)


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_that_never_ends_is_given_up_at_the_deadline(model: str):
    ticks = itertools.count(0, 10)
    with ModelServer([Turn((Say("x" * 500),), pieces=2)]) as server:
        provider = connect(model, server.environment(), policy=RetryPolicy(deadline=300))
        assert isinstance(provider, StreamingProvider)
        provider.clock = lambda: float(next(ticks))
        end = provider.respond(ask(), CancelToken())
        provider.close()
    end = failed(end)
    assert "still answering after 300 s" in end.message
    assert end.partial is not None


@pytest.mark.parametrize("model", MODELS)
def test_no_attempt_begins_that_the_deadline_would_not_let_end(model: str):
    ticks = itertools.count(0, 200)
    with ModelServer(lambda _: Status(500)) as server:
        policy = RetryPolicy(attempts=50, base=0.0, deadline=1000)
        provider = connect(model, server.environment(), policy=policy)
        assert isinstance(provider, StreamingProvider)
        provider.clock = lambda: float(next(ticks))
        retries: list[Retrying] = []
        end = provider.respond(ask(), CancelToken(), retries.append)
        provider.close()
    assert "1000 s, the limit of one request" in failed(end).message
    assert 1 <= len(retries) < 9


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", [Status(500), Status(429), Hangup()])
def test_the_packages_own_retries_are_off(model: str, step: Status | Hangup):
    _, requests = run(model, lambda _: step, policy=NO_DELAY._replace(attempts=1))
    assert len(requests) == 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("headers", "delay"),
    [({"retry-after-ms": "250", "retry-after": "7"}, 0.25), ({"retry-after": "0.3"}, 0.3)],
)
def test_a_limit_is_waited_for_as_long_as_its_headers_say(model: str, headers: dict[str, str], delay: float):
    retries: list[Retrying] = []
    end, _ = run(model, [Status(429, headers=headers), Say("Hello")], retrying=retries.append)
    assert [event.delay for event in retries] == [delay]
    assert completed(end).message.text == "Hello"
