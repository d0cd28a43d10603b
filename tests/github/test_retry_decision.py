"""When a request is asked again: the decision alone, without a network."""

from __future__ import annotations

import pytest

from bot.github.errors import Failure
from bot.github.retry import ATTEMPTS, LONGEST_WAIT, SECONDARY_WAIT, Pace, wait_before_retry

NOW = 1_000_000.0


@pytest.mark.parametrize("status", [0, 500, 502, 503, 504])
def test_a_read_that_failed_in_passing_is_repeated_soon(status: int) -> None:
    wait = wait_before_retry(Failure(status, "oops"), 1, NOW, safe=True)
    assert wait is not None and wait <= 1


@pytest.mark.parametrize("status", [0, 500, 502])
def test_a_write_that_may_have_arrived_is_not_repeated(status: int) -> None:
    assert wait_before_retry(Failure(status, "oops"), 1, NOW, safe=False) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_a_plain_refusal_is_final(status: int) -> None:
    assert wait_before_retry(Failure(status, "no"), 1, NOW, safe=True) is None


def test_retry_after_is_obeyed_also_for_writes() -> None:
    assert wait_before_retry(Failure(403, "slow down", retry_after=7), 1, NOW, safe=False) == 7


def test_the_primary_limit_is_waited_out_until_its_reset() -> None:
    failure = Failure(403, "API rate limit exceeded", reset_at=NOW + 30, out_of_quota=True)
    assert wait_before_retry(failure, 1, NOW, safe=True) == 31


def test_a_secondary_limit_without_a_time_waits_a_minute() -> None:
    failure = Failure(403, "You have exceeded a secondary rate limit")
    assert wait_before_retry(failure, 1, NOW, safe=True) == SECONDARY_WAIT


def test_an_hour_until_the_reset_is_not_waited() -> None:
    failure = Failure(403, "API rate limit exceeded", reset_at=NOW + 3600, out_of_quota=True)
    assert wait_before_retry(failure, 1, NOW, safe=True) is None


def test_a_retry_after_over_the_cap_is_not_waited() -> None:
    assert wait_before_retry(Failure(429, "", retry_after=LONGEST_WAIT + 1), 1, NOW, safe=True) is None


def test_attempts_end() -> None:
    assert wait_before_retry(Failure(502, "oops"), ATTEMPTS, NOW, safe=True) is None


def test_writes_are_spaced() -> None:
    slept: list[float] = []
    clock = [100.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    pace = Pace(between_writes=1.0, sleep=sleep, now=lambda: clock[0])
    pace.before_write()
    clock[0] += 0.25
    pace.before_write()
    clock[0] += 5
    pace.before_write()
    assert slept == [0.75]


def test_a_long_wait_is_announced_and_then_told_every_ten_seconds() -> None:
    slept: list[float] = []
    lines: list[str] = []
    Pace(sleep=slept.append, say=lines.append).wait(25)
    assert slept == [10, 10, 5]
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["15 s left", "5 s left"]
