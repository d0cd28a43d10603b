"""Inject faults: errors, delays and dropped connections for the next requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from slash_forge.faults import Fault
from slash_forge.scenario.base import Base

_DOCS = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"
_MESSAGES = {
    "secondary": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    "429": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    "primary": "API rate limit exceeded for installation.",
    "abuse": "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again.",
}


class FaultInjection(Base):
    def fail_next(
        self,
        method: str = "*",
        path: str = "",
        status: int = 500,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        times: int = 1,
    ) -> None:
        """Answer the next matching requests with this, without carrying them out.

        `path` is a regular expression, searched in the path from the root (`/api/v3/...`,
        `/owner/name.git/...`); `body` is JSON data, or text or bytes to send as they are.
        """
        self._faults.add(Fault(method, re.compile(path), status, dict(headers or {}), body), times)

    def delay_next(self, method: str = "*", path: str = "", *, seconds: float, times: int = 1) -> None:
        """Answer the next matching requests as usual, but late."""
        self._faults.add(Fault(method, re.compile(path), delay=seconds), times)

    def drop_next(
        self,
        method: str = "*",
        path: str = "",
        *,
        times: int = 1,
        after_effect: bool = False,
        seconds: float = 0.0,
    ) -> None:
        """Close the connection after `seconds` instead of answering; with `after_effect` carry the request out then."""
        fault = Fault(method, re.compile(path), delay=seconds, drop=True, after_effect=after_effect)
        self._faults.add(fault, times)

    def end_faults(self) -> None:
        """Remove the faults that have not struck."""
        self._faults.clear()

    @property
    def faults_waiting(self) -> int:
        return self._faults.waiting

    def limit_next(
        self,
        method: str = "*",
        path: str = "/api/",
        *,
        kind: Literal["secondary", "429", "primary", "abuse"] = "secondary",
        retry_after: int | None = 1,
        times: int = 1,
    ) -> None:
        """Answer the next matching requests with a rate limit error, without carrying them out.

        `primary` has the header `X-RateLimit-Reset` instead of `Retry-After`.
        """
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if kind == "primary":
            reset = self._state.epoch() + (retry_after or 0)
            headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
        body = {"message": _MESSAGES[kind], "documentation_url": f"{_DOCS}#{kind}"}
        self.fail_next(method, path, 429 if kind == "429" else 403, headers=headers, body=body, times=times)

    def kill_token(self, value: str, *, after: int) -> None:
        """Expire the token after this many more requests, git's included."""
        with self._state.lock:
            token = self._state.tokens[value]
            token.dies_after = token.used + after

    def lag_behind(self, repo: str, requests: int) -> None:
        """After the next push to `repo`, this many API requests see the state before it.

        Git itself sees the push at once, as on GitHub.
        """
        with self._state.lock:
            self._state.lags[self._repository(repo).id] = requests
