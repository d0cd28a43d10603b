"""When a failed request is sent again, and after how long. Decisions only; the caller does the waiting.

`Retry-After` follows RFC 9110, section 10.2.3; `retry-after-ms`, `x-should-retry` and the `x-ratelimit-reset*`
family are the vendors' own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RETRYABLE = frozenset({408, 409, 425, 429, 529})


@dataclass(frozen=True, slots=True)
class Policy:
    """`attempts` counts the first one. Times are in seconds; `cap` bounds our wait and the server's wish,
    `deadline` all attempts of one request together with the answer."""

    attempts: int = 6
    base: float = 1.0
    cap: float = 60.0
    deadline: float = 1800.0


DEFAULT_POLICY = Policy()

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# A plain number is seconds to go up to here (2001 as a moment), and milliseconds of a moment from there on.
_A_MOMENT = 1e9
_IN_MILLISECONDS = 1e11


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one attempt failed. `wait` is what the server asked for in seconds, where it did. `overflow`: the
    conversation is too long, which no waiting helps. `said` is the server's own word, if it had one. `unanswered`: the
    request was taken and no answer came in time."""

    message: str
    status: int | None = None
    retryable: bool = False
    wait: float | None = None
    overflow: bool = False
    said: str = ""
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt. `reason` continues the failure's message; empty where that says it all."""

    reason: str = ""


def is_retryable(status: int) -> bool:
    """Whether an HTTP status may go away by itself. A request that is wrong stays wrong."""
    return status in _RETRYABLE or 500 <= status < 600


def asked_wait(headers: Mapping[str, str], now: datetime, *, is_rate_limit: bool = False) -> float | None:
    """The seconds a server asks to wait, from `retry-after-ms` or `Retry-After` (seconds or an HTTP date), and where
    `is_rate_limit` from when the limits that are used up begin anew.

    `None` where it asks for nothing that can be read. `headers` has lower-case names or ignores case.
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
    """The longest wait of the limits that are used up; of all of them where none says how much is left."""
    waits: dict[str, float] = {}
    spent: list[str] = []
    for name in list(headers):
        prefix, found, kind = name.lower().partition("ratelimit-")
        limit = kind.replace("reset", "*")
        if not found or "reset" not in kind:
            continue
        wait = _reset(headers[name], now)
        if wait is None:
            continue
        waits[limit] = wait
        if _number(headers.get(f"{prefix}ratelimit-{kind.replace('reset', 'remaining')}", "")) == 0:
            spent.append(limit)
    return max((waits[limit] for limit in spent or waits), default=None)


def _reset(value: str, now: datetime) -> float | None:
    """Seconds until a reset, given as `6m0s`, as seconds, as a moment in seconds or milliseconds, or as a date."""
    number = _number(value)
    if number is not None:
        if number < _A_MOMENT:
            return number
        return max(0.0, (number / 1000 if number > _IN_MILLISECONDS else number) - now.timestamp())
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
    failure: Failure,
    attempt: int,
    policy: Policy,
    draw: Callable[[], float],
    left: float = float("inf"),
) -> float | GiveUp:
    """Seconds before attempt `attempt + 1`, or that there is none.

    `attempt` counts from 1; `draw` gives a number in [0, 1); `left` are the seconds until the deadline. Full
    jitter: any time up to the doubling bound, so that many runs that failed together do not come back together.
    """
    if not failure.retryable:
        return GiveUp()
    if attempt >= policy.attempts:
        return GiveUp(f"after {attempt} attempts" if attempt > 1 else "")
    if failure.wait is not None and failure.wait > policy.cap:
        return GiveUp(f"the server asks to wait {failure.wait:.0f} s, over the limit of {policy.cap:.0f} s")
    wait = failure.wait
    if wait is None:
        wait = draw() * min(policy.cap, policy.base * 2.0 ** (attempt - 1))
    if wait > left:
        return GiveUp(f"after {attempt} attempts and {policy.deadline:.0f} s, the limit of one request")
    return wait


def _number(value: str) -> float | None:
    """A plain non-negative decimal; no sign, exponent, infinity or NaN."""
    text = value.strip()
    if not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    return float(text)
