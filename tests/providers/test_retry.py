"""The decisions of `bot/providers/retry.py`."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.providers.retry import (
    DEFAULT_POLICY,
    FailedAttempt,
    RetryPolicy,
    is_retryable,
    next_wait,
    requested_wait,
)

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
    wait = next_wait(FailedAttempt("x", 500, True), attempt, DEFAULT_POLICY, lambda: drawn)
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
    assert next_wait(SERVER_ERROR, 20, RetryPolicy(attempts=100), lambda: 1.0) == 60.0
