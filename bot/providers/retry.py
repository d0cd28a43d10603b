"""Decide whether a failed request is sent again, and after how long. The caller waits.

`Retry-After` follows RFC 9110, section 10.2.3; `retry-after-ms`, `x-should-retry` and the `x-ratelimit-reset*`
family are the vendors' own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_RETRYABLE = frozenset({408, 409, 425, 429, 529})


class RetryPolicy(NamedTuple):
    """`attempts` counts the first one. Times are in seconds; `cap` limits our delay and the server's request,
    `deadline` all attempts of one request including the response."""

    attempts: int = 6
    base: float = 1.0
    cap: float = 60.0
    deadline: float = 1800.0


DEFAULT_POLICY = RetryPolicy()

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# A plain number is seconds to go up to here (2001 as a moment), and milliseconds of a moment from there on.
_MIN_TIMESTAMP = 1e9
_MIN_MILLISECONDS = 1e11


class FailedAttempt(NamedTuple):
    """Why one attempt failed. `wait` is the delay in seconds that the server requested, if any. `overflow`: the
    conversation is too long, which no retry fixes. `server_message` is the server's own text. `unanswered`: the
    request was accepted and no response came in time. `no_funds`: the account has none left."""

    message: str
    status: int | None = None
    retryable: bool = False
    wait: float | None = None
    overflow: bool = False
    server_message: str = ""
    unanswered: bool = False
    no_funds: bool = False

    @property
    def is_unavailable(self) -> bool:
        """Whether the server is down or over a limit, so that another one may answer."""
        over_limit = self.status == 429 or self.no_funds
        return not self.overflow and (self.retryable or self.unanswered or over_limit)


class GiveUp(NamedTuple):
    """No further attempt. `reason` continues the failure's message; empty if that is complete."""

    reason: str = ""


def is_retryable(status: int) -> bool:
    """Whether an HTTP status may be temporary. An invalid request stays invalid."""
    return status in _RETRYABLE or 500 <= status < 600


def requested_wait(headers: Mapping[str, str], now: datetime, *, is_rate_limit: bool = False) -> float | None:
    """Return the delay in seconds that a server requests, from `retry-after-ms` or `Retry-After` (seconds or an
    HTTP date), and with `is_rate_limit` from the reset time of exhausted limits.

    `None` if there is no valid value. `headers` has lower-case names or ignores case.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    moment = _http_date(value)
    if moment is not None:
        return max(0.0, (moment - now).total_seconds())
    return _reset_wait(headers, now) if is_rate_limit else None


def _http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _reset_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the longest wait of the exhausted limits, or of all if none reports its remainder."""
    waits: dict[str, float] = {}
    exhausted: list[str] = []
    for name in list(headers):
        prefix, separator, kind = name.lower().partition("ratelimit-")
        limit = kind.replace("reset", "*")
        if not separator or "reset" not in kind:
            continue
        wait = _reset(headers[name], now)
        if wait is None:
            continue
        waits[limit] = wait
        if _number(headers.get(f"{prefix}ratelimit-{kind.replace('reset', 'remaining')}", "")) == 0:
            exhausted.append(limit)
    return max((waits[limit] for limit in exhausted or waits), default=None)


def _reset(value: str, now: datetime) -> float | None:
    """Return the seconds until a reset, given as `6m0s`, as seconds, as a timestamp in seconds or milliseconds,
    or as a date."""
    number = _number(value)
    if number is not None:
        if number < _MIN_TIMESTAMP:
            return number
        return max(0.0, (number / 1000 if number > _MIN_MILLISECONDS else number) - now.timestamp())
    spans = _SPAN.findall(value)
    if spans and _SPAN.sub("", value).strip() == "":
        return sum(float(size) * _SECONDS[unit] for size, unit in spans)
    try:
        until = datetime.fromisoformat(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


def next_wait(
    failure: FailedAttempt,
    attempt: int,
    policy: RetryPolicy,
    random_fraction: Callable[[], float],
    seconds_left: float = float("inf"),
) -> float | GiveUp:
    """Return the seconds before attempt `attempt + 1`, or `GiveUp`.

    `attempt` counts from 1; `random_fraction` returns a number in [0, 1); `seconds_left` is the time until the
    deadline. Full jitter: any delay up to the doubling bound, so that runs which failed together do not retry
    together.
    """
    if not failure.retryable:
        return GiveUp()
    if attempt >= policy.attempts:
        return GiveUp(f"after {attempt} attempts" if attempt > 1 else "")
    if failure.wait is not None and failure.wait > policy.cap:
        return GiveUp(f"the server asks to wait {failure.wait:.0f} s, over the limit of {policy.cap:.0f} s")
    wait = failure.wait
    if wait is None:
        wait = random_fraction() * min(policy.cap, policy.base * 2.0 ** (attempt - 1))
    if wait > seconds_left:
        return GiveUp(f"after {attempt} attempts and {policy.deadline:.0f} s, the limit of one request")
    return wait


def _number(value: str) -> float | None:
    """Parse a plain non-negative decimal; no sign, exponent, infinity or NaN."""
    text = value.strip()
    if not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    return float(text)
