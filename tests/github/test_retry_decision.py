"""When a request is asked again: the decision alone, without a network."""

import pytest

from bot.github.errors import Failure
from bot.github.retry import ATTEMPTS, LONGEST_WAIT, SECONDARY_WAIT, Pace, wait_before_retry

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("failure", "attempt", "safe", "wait"),
    [
        *((Failure(status, "oops"), 1, True, 0.5) for status in (0, 500, 502, 503, 504)),
        # A write that may have arrived is not repeated.
        *((Failure(status, "oops"), 1, False, None) for status in (0, 500, 502)),
        *((Failure(status, "no"), 1, True, None) for status in (400, 401, 403, 404, 409, 410, 422)),
        (Failure(403, "slow down", retry_after=7), 1, False, 7),
        (Failure(403, "API rate limit exceeded", reset_at=NOW + 30, out_of_quota=True), 1, True, 31),
        (Failure(403, "API rate limit exceeded", reset_at=NOW + 3600, out_of_quota=True), 1, True, None),
        (Failure(403, "You have exceeded a secondary rate limit"), 1, True, SECONDARY_WAIT),
        (Failure(429, "", retry_after=LONGEST_WAIT + 1), 1, True, None),
        (Failure(502, "oops"), ATTEMPTS, True, None),
    ],
)
def test_the_wait_before_the_next_one(failure: Failure, attempt: int, safe: bool, wait: float | None):
    assert wait_before_retry(failure, attempt, NOW, safe=safe) == wait


def test_a_long_wait_is_announced_and_then_told_every_ten_seconds():
    slept: list[float] = []
    lines: list[str] = []
    Pace(sleep=slept.append, say=lines.append).wait(25)
    assert slept == [10, 10, 5]
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["15 s left", "5 s left"]
