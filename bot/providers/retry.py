"""Decide whether a failed request is sent again, and after how long. The caller waits.

`Retry-After` follows RFC 9110, section 10.2.3; `retry-after-ms` and `x-should-retry` are the vendors' own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_RETRYABLE = frozenset({408, 409, 425, 429, 529})
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+", re.ASCII)


class RetryPolicy(NamedTuple):
    """`attempts` counts the first one. Times are in seconds; `cap` limits our delay and the server's request,
    `deadline` all attempts of one request including the response."""

    attempts: int = 6
    base: float = 1.0
    cap: float = 60.0
    deadline: float = 1800.0


DEFAULT_POLICY = RetryPolicy()


@dataclass(eq=False)
class FailedAttempt(Exception):
    """Why one attempt failed. `wait` is the delay in seconds that the server requested, if any. `overflow`: the
    conversation is too long, which no retry fixes. `unanswered`: the request was accepted and no response came in time.
    `no_funds`: the account has none left."""

    message: str
    status: int | None = None
    retryable: bool = False
    wait: float | None = None
    overflow: bool = False
    unanswered: bool = False
    no_funds: bool = False

    @property
    def is_unavailable(self) -> bool:
        """Whether the server is down or over a limit, so that another one may answer."""
        over_limit = self.status == 429 or self.no_funds
        return not self.overflow and (self.retryable or self.unanswered or over_limit)


def is_retryable(status: int) -> bool:
    """Whether an HTTP status may be temporary. An invalid request stays invalid."""
    return status in _RETRYABLE or 500 <= status < 600


def requested_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the delay in seconds that a server requests, from `retry-after-ms` or `Retry-After` (seconds or an
    HTTP date); `None` if there is no valid value. `headers` has lower-case names or ignores case."""
    for name, in_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        if _NUMBER.fullmatch(value := headers.get(name, "").strip()):
            return float(value) / in_a_second
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())


def next_wait(
    failure: FailedAttempt,
    attempt: int,
    policy: RetryPolicy,
    random_fraction: Callable[[], float],
    seconds_left: float,
) -> float | str:
    """Return the seconds before attempt `attempt + 1`, or why there is none: a clause that continues the failure's
    message, empty if that is complete.

    `attempt` counts from 1; `random_fraction` returns a number in [0, 1); `seconds_left` is the time until the
    deadline. Full jitter: any delay up to the doubling bound, so that runs which failed together do not retry
    together.
    """
    if not failure.retryable:
        return ""
    if attempt >= policy.attempts:
        return f"after {attempt} attempts" if attempt > 1 else ""
    if failure.wait is not None and failure.wait > policy.cap:
        return f"the server asks to wait {failure.wait:.0f} s, over the limit of {policy.cap:.0f} s"
    wait = failure.wait
    if wait is None:
        wait = random_fraction() * min(policy.cap, policy.base * 2.0 ** (attempt - 1))
    if wait > seconds_left:
        return f"after {attempt} attempts and {policy.deadline:.0f} s, the limit of one request"
    return wait
