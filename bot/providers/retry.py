"""When a failed request is sent again, and after how long. Decisions only; the caller does the waiting.

`Retry-After` follows RFC 9110, section 10.2.3; `retry-after-ms` and `x-should-retry` are the vendors' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RETRYABLE = frozenset({408, 409, 425, 429, 529})


@dataclass(frozen=True, slots=True)
class Policy:
    """`attempts` counts the first one. Times are in seconds; `cap` bounds our wait and the server's wish."""

    attempts: int = 6
    base: float = 1.0
    cap: float = 60.0


DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one attempt failed. `wait` is what the server asked for in seconds, where it did. `overflow`: the
    conversation is too long, which no waiting helps."""

    message: str
    status: int | None = None
    retryable: bool = False
    wait: float | None = None
    overflow: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt. `reason` continues the failure's message; empty where that says it all."""

    reason: str = ""


def is_retryable(status: int) -> bool:
    """Whether an HTTP status may go away by itself. A request that is wrong stays wrong."""
    return status in _RETRYABLE or 500 <= status < 600


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds a server asks to wait, from `retry-after-ms` or `Retry-After` (seconds or an HTTP date).

    `None` where it asks for nothing that can be read. `headers` has lower-case names or ignores case.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def next_wait(failure: Failure, attempt: int, policy: Policy, draw: Callable[[], float]) -> float | GiveUp:
    """Seconds before attempt `attempt + 1`, or that there is none.

    `attempt` counts from 1; `draw` gives a number in [0, 1). Full jitter: any time up to the doubling bound,
    so that many runs that failed together do not come back together.
    """
    if not failure.retryable:
        return GiveUp()
    if attempt >= policy.attempts:
        return GiveUp(f"after {attempt} attempts" if attempt > 1 else "")
    if failure.wait is None:
        return draw() * min(policy.cap, policy.base * 2.0 ** (attempt - 1))
    if failure.wait > policy.cap:
        return GiveUp(f"the server asks to wait {failure.wait:.0f} s, over the limit of {policy.cap:.0f} s")
    return failure.wait


def _number(value: str) -> float | None:
    """A plain non-negative decimal; no sign, exponent, infinity or NaN."""
    text = value.strip()
    if not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    return float(text)
