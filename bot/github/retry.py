"""Decide whether to retry a request to GitHub, and how long to wait first.

PyGithub's own retry is off: it repeats a POST after a 502 (a second comment, when the first did arrive) and
waits as long as a `Retry-After` says. Here an unsafe request is repeated only if GitHub reported that it was not
executed, and waits are capped.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from bot.contracts.idle import FIRST
from bot.github.errors import Failure, GitHubError, sentence

T = TypeVar("T")

ATTEMPTS = 5
# Seconds. A job that sleeps longer is cut by its own time limit; the bundle is kept, so failing is cheap.
LONGEST_WAIT = 120.0
# GitHub asks for "at least one minute" where a secondary limit comes without `Retry-After`.
SECONDARY_WAIT = 60.0


def wait_before_retry(failure: Failure, attempt: int, now: float, *, safe: bool) -> float | None:
    """Return the seconds to wait before the next attempt, or `None` to give up. `safe`: it is idempotent."""
    if attempt >= ATTEMPTS:
        return None
    if failure.rate_limited:
        wait = _rate_limit_wait(failure, attempt, now)
    elif failure.transient and safe:
        wait = max(failure.retry_after or 0.0, 0.5 * 2 ** (attempt - 1))
    else:
        return None
    return wait if wait <= LONGEST_WAIT else None


def _rate_limit_wait(failure: Failure, attempt: int, now: float) -> float:
    if failure.retry_after is not None:
        return failure.retry_after
    if failure.out_of_quota and failure.reset_at is not None:
        # One more second, since the reset may come at any time within that second.
        return max(failure.reset_at - now, 0.0) + 1.0
    return SECONDARY_WAIT * attempt


def _log(line: str) -> None:
    with suppress(OSError):  # closed
        os.write(2, f"slash-agent: {line}\n".encode())


@dataclass
class Pace:
    """The client's clock and delays: `between_writes` seconds pass from one write to the next."""

    between_writes: float = 1.0
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = _log
    now: Callable[[], float] = time.time
    _last_write: float = 0.0

    def wait(self, seconds: float) -> None:
        """Sleep before the next attempt. A long wait is reported every ten seconds."""
        if seconds >= FIRST:
            self.say(f"GitHub asks to be left alone for {seconds:.0f} s; waiting, then trying again")
        while seconds > FIRST:
            self.sleep(FIRST)
            seconds -= FIRST
            self.say(f"waiting for GitHub's rate limit: {seconds:.0f} s left")
        self.sleep(seconds)

    def before_write(self) -> None:
        wait = self._last_write + self.between_writes - self.now()
        if wait > 0:
            self.sleep(min(wait, self.between_writes))
        self._last_write = self.now()


def with_retries(attempt: Callable[[], T | Failure], pace: Pace, action: str, *, safe: bool) -> T:
    """Return what `attempt` returns, repeated after failures. Raises `GitHubError` for the last one."""
    for number in count(1):
        result = attempt()
        if not isinstance(result, Failure):
            return result
        wait = wait_before_retry(result, number, pace.now(), safe=safe)
        if wait is None:
            raise GitHubError(sentence(result, action), result)
        pace.wait(wait)
    raise AssertionError("unreachable")
