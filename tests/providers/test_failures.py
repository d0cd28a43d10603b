"""What each vendor says when a conversation is too long, and what only sounds like it."""

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.providers.failures import is_overflow
from bot.providers.retry import (
    DEFAULT_POLICY,
    FailedAttempt,
    RetryPolicy,
    is_retryable,
    next_wait,
    requested_wait,
)
from tests.support.model_script import Say, Status, Turn
from tests.support.provider_runs import MODELS, failed, run

TOO_LONG = [
    (400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
    (413, "request_too_large", "Request exceeds the maximum allowed number of bytes"),
    (413, "", ""),
    (400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    (400, "invalid_request_error",
     "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens."),
    (400, "ValidationException", "Input is too long for requested model."),
    (400, "INVALID_ARGUMENT",
     "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
    (400, "invalid-argument", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, "invalid_request_error", "Please reduce the length of the messages or completion. Current length is 9000"),
    (413, "tokens_limit_reached", "Request body too large for gpt-4o model. Max size: 8000 tokens."),
    (400, "exceed_context_size_error", "the request exceeds the available context size, try increasing it"),
    (400, "", "The number of tokens to keep from the prompt is greater than the context length"),
    (400, "", "prompt too long; exceeded max context length by 4 tokens"),
    (500, "", "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    (400, "", "Prompt contains 140000 tokens ... too large for model with 131072 maximum context length"),
    (400, "", "context window exceeds limit (2013)"),
    (400, "", "Invalid request: Your request exceeded model token limit: 131072"),
    (400, "", "`inputs` tokens + `max_new_tokens` must be <= 4097"),
    (None, "context_length_exceeded", ""),
]  # fmt: skip
OTHERWISE = [
    (429, "rate_limit_exceeded", "Request too large for gpt-4o on tokens per min (TPM): Limit 30000"),
    (429, "", "maximum context length"),
    (400, "invalid_request_error", "messages: text content blocks must be non-empty"),
    (400, "invalid_request_error", "max_tokens: 200000 > 64000, which is the maximum allowed"),
    (401, "authentication_error", "invalid x-api-key"),
    (500, "api_error", "Internal server error"),
    (400, "", ""),
    (None, "server_error", "the model fell over"),
]


@pytest.mark.parametrize(("status", "kind", "said"), TOO_LONG)
def test_a_conversation_that_is_too_long_is_known_by_each_vendors_words(
    status: int | None, kind: str, said: str
):
    assert is_overflow(status, kind, said)


@pytest.mark.parametrize(("status", "kind", "said"), OTHERWISE)
def test_what_is_wrong_otherwise_is_no_overflow(status: int | None, kind: str, said: str):
    assert not is_overflow(status, kind, said)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_an_overflow_is_a_failure_of_its_own_and_not_sent_again(model: str, status: int):
    end, requests = run(model, [Status(status, "prompt is too long: 9 > 8"), Say("never")])
    end = failed(end)
    assert (end.overflow, len(requests)) == (True, 1)


@pytest.mark.parametrize("model", MODELS)
def test_an_overflow_inside_the_stream_is_one_too(model: str):
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}
    end, requests = run(model, [Turn((), error=error), Say("never")])
    assert (failed(end).overflow, len(requests)) == (True, 1)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (403, {"error": {"message": "Country, region, or territory not supported"}}, "does not allow .* territory"),
        (403, {"error": {"message": "Project has no access to model `m`", "code": "model_not_found"}}, "no access to"),
        (403, "<html><head><title>Access denied</title></head></html>", "a page in place of .*'Access denied'"),
        (403, {"error": {"type": "permission_error"}}, "does not allow .* permission_error"),
        (402, {"error": {"message": "Insufficient credits"}}, "no funds left .* Insufficient credits"),
        (429, {"error": {"code": "insufficient_quota", "message": "Your quota is used"}}, "no funds left .* quota"),
        (413, {"error": {"message": "Request body too large. Max size: 8000"}}, "too large .* Max size: 8000"),
    ],
)  # fmt: skip
def test_a_refusal_has_the_servers_words_and_blames_no_key(status: int, body: object, words: str):
    text = body if isinstance(body, str) else json.dumps(body)
    message = failed(run(MODELS[0], [Status(status, body=text)])[0]).message
    assert re.search(words, message), message
    assert "refused the key" not in message


# Waiting between attempts


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "status", [301, 400, 401, 402, 403, 404, 405, 408, 409, 413, 422, 425, 429, 500, 502, 529]
)
def test_statuses_that_may_pass_are_retried(status: int):
    assert is_retryable(status) is (status in (408, 409, 425, 429) or status >= 500)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "tomorrow"}, None),
    ],
)
def test_the_wait_a_server_asks_for(headers: dict[str, str], seconds: float | None):
    assert requested_wait(headers, NOW) == seconds


@given(st.text(max_size=20))
def test_any_header_value_is_read_or_passed_over(value: str):
    seconds = requested_wait({"retry-after": value}, NOW)
    assert seconds is None or seconds >= 0


@given(st.integers(1, 5), st.floats(0, 1, exclude_max=True))
def test_the_wait_is_anything_up_to_the_doubling_bound(attempt: int, drawn: float):
    wait = next_wait(FailedAttempt("x", 500, True), attempt, DEFAULT_POLICY, lambda: drawn, math.inf)
    assert wait == drawn * 2 ** (attempt - 1)


SERVER_ERROR = FailedAttempt("x", 500, True)
WISH = FailedAttempt("x", 429, True, 17.0)


@pytest.mark.parametrize(
    ("failure", "attempt", "seconds_left", "expected"),
    [
        (SERVER_ERROR, 5, 1800.0, 8.0),
        (SERVER_ERROR, 6, 1800.0, "after 6 attempts"),
        (WISH, 1, 1800.0, 17.0),  # the server's wish goes before our own
        (WISH, 1, 17.0, 17.0),
        (WISH, 1, 16.0, "after 1 attempts and 1800 s, the limit of one request"),
        (replace(WISH, wait=3600.0), 1, 1800.0, "the server asks to wait 3600 s, over the limit of 60 s"),
    ],
)
def test_the_wait_or_why_there_is_no_further_attempt(
    failure: FailedAttempt, attempt: int, seconds_left: float, expected: float | str
):
    wait = next_wait(failure, attempt, DEFAULT_POLICY, lambda: 0.5, seconds_left)
    assert wait == (expected)


def test_the_doubling_stops_at_the_cap():
    assert next_wait(SERVER_ERROR, 20, RetryPolicy(attempts=100), lambda: 1.0, math.inf) == 60.0
